//! Which paths an answer may name.

/// What is wrong with `path`, if anything is: it must lead to a place inside a repository, and not into its `.git`.
pub(super) fn fault(path: &str) -> Option<&'static str> {
    if path.contains('\\') {
        return Some("has a backslash: write `/` between directories");
    }
    if path.starts_with('/') {
        return Some("is absolute: write it relative to the root of its repository");
    }
    let mut parts = path.split('/');
    if parts.clone().any(|part| matches!(part, "" | "." | "..")) {
        return Some(
            "has an empty part, `.` or `..`: write it relative to the root of its repository",
        );
    }
    parts.any(|part| part.eq_ignore_ascii_case(".git")).then_some("leads into `.git`")
}
