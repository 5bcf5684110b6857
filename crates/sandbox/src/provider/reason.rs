//! Why a setup failed, in one line of what it said.
//!
//! Programs say most in the beginning and least at the end: "A complete log of this run can be found in …". So the first line that tells of
//! an error is the reason, and the last line only where no line does.

/// How a line of an error begins, or what is in it.
const SIGNS: [&str; 12] = [
    "error",
    "fatal",
    "not found",
    "no such file",
    "cannot ",
    "could not",
    "permission denied",
    "failed",
    "no module named",
    "no matching",
    "unable to",
    "refused",
];

/// What stands among errors and says nothing.
const EMPTY: [&str; 12] = [
    "a complete log of this run",
    "npm error code ",
    "npm err! code ",
    "npm error errno",
    "npm error path ",
    "npm error command ",
    "subprocess-exited-with-error",
    "this error originates from",
    "note: ",
    "hint: ",
    "warning",
    "npm warn",
];

/// Characters of it.
const LONGEST: usize = 300;

/// The line that says most, without colours. None, where nothing was said.
pub(super) fn first(log: &str) -> Option<String> {
    let lines: Vec<String> = log.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let says = |line: &&String| {
        let low = line.to_lowercase();
        let is_empty = EMPTY.iter().any(|it| low.contains(it))
            || matches!(low.as_str(), "npm error" | "npm err!" | "error:" | "errors:");
        !is_empty && SIGNS.iter().any(|sign| low.contains(sign))
    };
    let found = lines.iter().find(says).or_else(|| lines.last())?;
    Some(found.chars().take(LONGEST).collect())
}

/// A line without control characters and the sequences that begin with them.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            if rest.next() == Some('[') {
                rest.by_ref().find(char::is_ascii_alphabetic);
            }
        } else if !c.is_control() {
            plain.push(c);
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_error_and_not_where_a_log_was() {
        let rows = [
            (
                "npm error code E404\nnpm error 404 Not Found - GET left-pad\nnpm error 404\nnpm error A complete log of this run can be found in: /home/lamp/.npm/x.log\n",
                "npm error 404 Not Found - GET left-pad",
            ),
            (
                "Collecting x\nerror: externally-managed-environment\n\nnote: If you believe this is a mistake\nhint: See PEP 668 for the detailed specification.\n",
                "error: externally-managed-environment",
            ),
            (
                "   Compiling a\n\u{1b}[1m\u{1b}[31merror[E0425]\u{1b}[0m: cannot find value `x`\nwarning: build failed, waiting for other jobs to finish...\n",
                "error[E0425]: cannot find value `x`",
            ),
            ("/bin/sh: 1: cargo: not found\n", "/bin/sh: 1: cargo: not found"),
            (
                "  error: subprocess-exited-with-error\n  ModuleNotFoundError: No module named 'wheel'\n",
                "ModuleNotFoundError: No module named 'wheel'",
            ),
            ("one\ntwo\n", "two"),
        ];
        for (log, expected) in rows {
            assert_eq!(first(log).as_deref(), Some(expected));
        }
        assert_eq!(first("\n \n"), None);
    }
}
