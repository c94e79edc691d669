//! Commands for people to copy.

/// A text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"./_-+@,:".contains(&b);
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
