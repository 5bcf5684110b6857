//! What a check could not find, by what was printed: the program or the module that a setup would have to bring.
//!
//! The words are hostile as all output is. A name is taken only where it looks like one, and nothing but advice follows from it.

/// Lines at the end that are looked at: who cannot begin says so last.
const LINES: usize = 60;
/// Longer names are none.
const NAME_BYTES: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    Program(String),
    /// A module of Python.
    Module(String),
}

/// The last thing of which it is said that it is not there.
pub fn missing(log: &str) -> Option<Missing> {
    log.lines().rev().take(LINES).find_map(in_line)
}

fn in_line(line: &str) -> Option<Missing> {
    let line = line.trim_end();
    // `sh: 1: tox: not found`, `bash: line 1: tox: command not found`
    let before =
        line.strip_suffix(": not found").or_else(|| line.strip_suffix(": command not found"));
    if let Some(before) = before {
        let (_, program) = before.rsplit_once(": ")?;
        return name(program).map(Missing::Program);
    }
    // `env: 'tox': No such file or directory`, of `env` and `make`
    if let Some(before) = line.strip_suffix(": No such file or directory") {
        let (who, program) = before.split_once(": ")?;
        let who = who.rsplit('/').next().unwrap_or(who);
        return matches!(who, "env" | "make").then(|| name(program).map(Missing::Program))?;
    }
    // `/usr/bin/python3: No module named pytest`, and what an import says
    let (before, module) = line.split_once("No module named ")?;
    let is_said = before.ends_with(": ") || before.is_empty();
    is_said.then(|| name(module).map(Missing::Module))?
}

fn name(text: &str) -> Option<String> {
    let quote = |c: char| matches!(c, '\'' | '"' | '`' | '‘' | '’' | '.' | ';');
    let text = text.trim().trim_end_matches(quote).trim_start_matches(['\'', '"', '`', '‘']);
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '/' | '@');
    let is_name = !text.is_empty() && text.len() <= NAME_BYTES && text.chars().all(is_plain);
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_known_by_what_shells_and_python_say() {
        let program = |name: &str| Some(Missing::Program(name.to_owned()));
        let module = |name: &str| Some(Missing::Module(name.to_owned()));
        for (log, expected) in [
            ("sh: 1: tox: not found\n", program("tox")),
            ("/bin/sh: 1: cargo: not found", program("cargo")),
            ("bash: line 1: ruff: command not found", program("ruff")),
            ("> npm test\nsh: line 1: tap: command not found\n", program("tap")),
            ("env: ‘pytest’: No such file or directory", program("pytest")),
            (
                "make: eslint: No such file or directory\nmake: *** [Makefile:2: lint] Error 127",
                program("eslint"),
            ),
            ("/usr/bin/python3: No module named pytest", module("pytest")),
            ("E   ModuleNotFoundError: No module named 'requests.api'", module("requests.api")),
            ("cat: notes.txt: No such file or directory", None),
            ("sh: 1: $(reboot): not found", None),
            ("sh: 1: \u{1b}[2J: not found", None),
            ("404: not found", None),
            ("I have no module named after me", None),
            ("", None),
        ] {
            assert_eq!(missing(log), expected, "{log}");
        }
        assert_eq!(missing(&format!("sh: 1: {}: not found", "x".repeat(100))), None);
    }
}
