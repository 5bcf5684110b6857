//! Where a symbolic link leads.
//!
//! A link may go up as far as the top of the repository, and then only down. Ups after a down are refused even where the sum
//! stays inside: the down may be another link, and then the up starts somewhere else.

use super::names;

/// Whether the link at `path` stays inside the repository, and outside git's own directory.
pub fn stays_inside(path: &str, target: &[u8]) -> bool {
    const LONGEST: usize = 4_096;
    let Ok(target) = std::str::from_utf8(target) else { return false };
    if target.is_empty() || target.len() > LONGEST || target.starts_with('/') {
        return false;
    }
    if target.chars().any(crate::shown::deceives) || target.contains(['\\', ':']) {
        return false;
    }
    let mut above = path.split('/').count().saturating_sub(1);
    let mut has_gone_down = false;
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if has_gone_down || above == 0 => return false,
            ".." => above -= 1,
            part if names::is_dot_git(part) => return false,
            _ => has_gone_down = true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_stay_inside() {
        for (path, target) in
            [("a", "b"), ("a/b", "../c"), ("a/b/c", "../../d/e"), ("a", "./b/"), ("a/b", ".")]
        {
            assert!(stays_inside(path, target.as_bytes()), "{path} -> {target}");
        }
        for (path, target) in [
            ("a", ".."),
            ("a", "/etc/passwd"),
            ("a/b", "../../c"),
            ("a", "b/../../c"),
            ("a/b", "x/.."),
            ("a", ".git/config"),
            ("a/b", "../.GIT/hooks"),
            ("a", ""),
            ("a", "b\0c"),
            ("a", "..\\..\\x"),
            ("a", "C:x"),
        ] {
            assert!(!stays_inside(path, target.as_bytes()), "{path} -> {target}");
        }
        assert!(!stays_inside("a", &[b'a'; 5_000]));
        assert!(!stays_inside("a", b"\xff"));
    }

    proptest! {
        /// Also when every directory on the way is itself a link to the top.
        #[test]
        fn an_accepted_link_never_gets_above_the_top(
            depth in 0_usize..4,
            target in "(\\.\\./|a/|\\./|b){0,6}",
        ) {
            let path = format!("{}x", "d/".repeat(depth));
            if stays_inside(&path, target.as_bytes()) {
                let (mut at, mut down) = (depth, false);
                for part in target.split('/') {
                    match part {
                        ".." => { prop_assert!(at > 0 && !down); at -= 1; }
                        "" | "." => {}
                        _ => { at = 0; down = true; }
                    }
                }
            }
        }
    }
}
