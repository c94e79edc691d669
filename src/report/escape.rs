//! Foreign text made harmless, for each place that it is shown in.

use std::fmt::Write as _;

/// Whether a character moves the cursor, ends a line, or reorders or hides text.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Makes a foreign text harmless on a terminal and in a job's log: control characters, line ends, and characters that
/// reorder or hide text become `\u{…}`, and so does the bracket of `##[`, which a log takes for a command wherever it
/// stands.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) || (c == '[' && out.ends_with("##")) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The text as Markdown that renders as this text: on one line, hidden characters shown, all punctuation escaped.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text.trim()).chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The text as a cell of code in a Markdown table. Within code a code host makes no links and names nobody; the
/// references keep Markdown and HTML from seeing any punctuation.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::from("<code>");
    for c in escape(text).chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '/' | '-') {
            let _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.push_str("</code>");
    out
}

/// The text as character data or a quoted attribute of XML 1.0.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // The last two of each plane are no characters of XML's.
            c if u32::from(c) & 0xfffe == 0xfffe => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{cell, escape, markdown, xml};

    #[test]
    fn foreign_text_is_harmless() {
        for (text, shown) in [
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\r\nb", "a\\u{d}\\u{a}b"),
            ("\u{202e}x", "\\u{202e}x"),
            ("\u{200b}\u{feff}\u{9b}", "\\u{200b}\\u{feff}\\u{9b}"),
            (
                "##[error]x ###[debug] #[a]",
                "##\\u{5b}error]x ###\\u{5b}debug] #[a]",
            ),
            ("plain é 日本 🦀", "plain é 日本 🦀"),
        ] {
            assert_eq!(escape(text), shown);
        }
        assert_eq!(markdown(" [a](b)\n@c "), r"\[a\]\(b\)\\u\{a\}\@c");
        assert_eq!(
            cell("a|b <i>`@x"),
            "<code>a&#124;b &#60;i&#62;&#96;&#64;x</code>"
        );
        assert_eq!(
            xml("<a b=\"&\">\u{1fffe}\0"),
            "&lt;a b=&quot;&amp;&quot;&gt;\\u{1fffe}\\u{0}"
        );
    }
}
