//! Which repository is meant: the canonical name of a URL or of a folder's own repository.
//!
//! A folder is named by the URL of its remote `origin`, so that every clone has one name; one without such a URL by its
//! first commit. Nothing of a repository is run, no configuration but its own is read, and both are bounded.

use std::path::Path;

use gix::bstr::ByteSlice as _;

use super::codebase::canonical_identity;

/// Bytes of a repository's configuration.
const CONFIG_BYTES: u64 = 1 << 20;
/// Bytes of one commit.
const COMMIT_BYTES: u64 = 1 << 20;
/// Commits that are walked back to the first.
const COMMITS: usize = 5_000_000;
/// Bytes of a URL.
const URL_BYTES: usize = 4096;

/// The canonical identity of the repository that a URL names or a folder is in.
///
/// # Errors
/// A sentence where it is neither, or the repository has neither a URL nor a first commit that can be read.
pub fn repository_identity(repository: &str) -> Result<String, String> {
    if repository.contains("://") {
        return of_url(repository);
    }
    let folder = Path::new(repository);
    if folder.is_dir() {
        return of_folder(folder).map_err(|e| format!("{repository}: {e}"));
    }
    if is_scp(repository) {
        return of_url(repository);
    }
    let repository = without_credentials(repository);
    Err(format!(
        "{repository:?} is neither a folder that is there nor a URL such as https://example.com/owner/name"
    ))
}

fn of_url(url: &str) -> Result<String, String> {
    let identity = canonical_identity(url);
    let named = identity.contains('/') && !identity.chars().any(char::is_control);
    if url.len() > URL_BYTES || !named {
        return Err(format!(
            "expected the URL of a repository such as https://example.com/owner/name, found {:?}",
            crate::model::shorten(&without_credentials(url))
        ));
    }
    Ok(identity)
}

/// A URL as it may be shown: what stands before the last `@` may be a password.
fn without_credentials(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => url.to_owned(),
    }
}

/// `host:path`, with or without a user: a colon before any slash, and no drive letter.
fn is_scp(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, path)| host.len() > 1 && !host.contains('/') && !path.is_empty())
}

fn of_folder(folder: &Path) -> Result<String, String> {
    let repository = open(folder)?;
    let origin = repository.config_snapshot().string("remote.origin.url");
    let origin = origin.map(|url| url.to_str_lossy().trim().to_owned());
    // A relative path names other repositories elsewhere, so it is no name.
    match origin.filter(|o| o.contains("://") || is_scp(o) || o.starts_with('/')) {
        Some(url) => of_url(&url),
        None => first_commit(&repository).map(|id| format!("commit:{id}")),
    }
}

fn open(folder: &Path) -> Result<gix::Repository, String> {
    // Nothing of it is run or written, so who owns it does not matter.
    let options = gix::discover::upwards::Options {
        trust: gix::discover::upwards::TrustPolicy::Assume(gix::sec::Trust::Full),
        ..Default::default()
    };
    let (path, _) = gix::discover::upwards_opts(folder, options)
        .map_err(|_| "is in no git repository; name its URL".to_owned())?;
    let (git, _) = path.into_repository_and_work_tree_directories();
    // A linked work tree has its configuration where the file `commondir` says.
    let common = crate::disk::read(&git.join("commondir"), 4096).ok();
    let common = common.and_then(|bytes| Some(git.join(bytes.trim().to_path().ok()?)));
    let config = common.as_deref().unwrap_or(&git).join("config");
    // A link may stand there, but a pipe would be waited for.
    if let Ok(found) = config.metadata()
        && (!found.is_file() || found.len() > CONFIG_BYTES)
    {
        return Err(format!(
            "expected a git configuration of at most {CONFIG_BYTES} bytes, found one of {} or no file",
            found.len()
        ));
    }
    gix::open::Options::isolated()
        .with(gix::sec::Trust::Full)
        .open_path_as_is(true)
        .open(git)
        .map(|repository| repository.to_thread_local())
        .map_err(|e| format!("its repository cannot be opened: {e}"))
}

/// The first commit, by first parents from HEAD: of several roots the one that the history began with.
fn first_commit(repository: &gix::Repository) -> Result<String, String> {
    let mut id = repository
        .head_id()
        .map_err(|_| "its repository has neither a remote `origin` nor a commit".to_owned())?
        .detach();
    for _ in 0..COMMITS {
        let unread = |e: String| {
            format!(
                "commit {id} cannot be read ({e}): where the history is shallow, fetch the whole of it, or name the \
                 repository's URL"
            )
        };
        let size = repository
            .find_header(id)
            .map_err(|e| unread(e.to_string()))?
            .size();
        if size > COMMIT_BYTES {
            return Err(unread(format!("it has {size} bytes")));
        }
        let commit = repository
            .find_commit(id)
            .map_err(|e| unread(e.to_string()))?;
        match commit.parent_ids().next() {
            Some(parent) => id = parent.detach(),
            None => return Ok(id.to_string()),
        }
    }
    Err(format!(
        "its history has more than {COMMITS} commits; name its URL"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for url in [
            "https://github.com/Acme/Shop.git",
            "http://user:pass@github.com:80/acme/shop/",
            "ssh://git@github.com:22/acme/shop.git/",
            "git://github.com:9418/acme/shop",
            "git@github.com:acme/shop.git",
            "github.com:/acme/shop",
        ] {
            assert_eq!(
                repository_identity(url).as_deref(),
                Ok("github.com/acme/shop"),
                "{url}"
            );
        }
        for (url, identity) in [
            ("https://example.com:8443/a/b", "example.com:8443/a/b"),
            ("ssh://git@example.com:443/a/b", "example.com:443/a/b"),
            ("https://[::1]:443/a/b.git", "[::1]/a/b"),
            ("git@[::1]:a/b", "[::1]/a/b"),
            ("https://u@v:p@example.com/a", "example.com/a"),
            ("file:///srv/Shop.git", "/srv/shop"),
        ] {
            assert_eq!(repository_identity(url).as_deref(), Ok(identity), "{url}");
        }
        for bad in [
            "",
            "https://",
            "https://example.com",
            "no-such-folder",
            "no/such/folder",
            "C:\\shop",
            &format!("https://h/{}", "a".repeat(URL_BYTES)),
        ] {
            assert!(repository_identity(bad).is_err(), "{bad}");
        }
        for bad in [
            "https://u:hunter2@",
            "https://u:hunter2@/",
            "u:hunter2@host:",
        ] {
            let message = repository_identity(bad).err().unwrap_or_default();
            assert!(
                !message.is_empty() && !message.contains("hunter2"),
                "{message}"
            );
        }
    }
}
