//! What a scripted task will go through, written as the text of its request.
//!
//! `question; red 2; faults 1; busy 3` asks one question, fails its checks for the first two changes,
//! gets one round of faults from the reviewer, and finds the forge busy three times. Words that it
//! does not know are what a person wrote, and mean nothing to it.

#[expect(clippy::struct_excessive_bools, reason = "each is a word of the script")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Script {
    pub question: bool,
    /// Changes whose checks fail.
    pub red: u32,
    /// Review rounds that find something.
    pub faults: u32,
    /// Calls of the forge that are answered with "busy".
    pub busy: u32,
    /// The agent stops during research.
    pub broken: bool,
    /// The agent never finishes research by itself.
    pub endless: bool,
    /// The agent never finishes its change by itself.
    pub lingers: bool,
    /// The agent stops during its change, because a host is not allowed, until somebody says something.
    pub blocked: bool,
    /// The agent tells of a command during its change, until somebody says something.
    pub tells: bool,
    /// What the agent answers to its change cannot be read, until somebody says something.
    pub unusable: bool,
    /// The reviewer asks a question.
    pub puzzled: bool,
    /// The agent's plan has no files.
    pub empty_plan: bool,
    /// Later changes change nothing.
    pub same: bool,
    /// The change touches `secret/`.
    pub strays: bool,
}

impl Script {
    pub fn parse(text: &str) -> Self {
        let mut script = Self::default();
        for part in text.split(';').map(str::trim) {
            let (word, number) = part.split_once(' ').unwrap_or((part, "1"));
            let number = number.parse().unwrap_or(1);
            match word {
                "question" => script.question = true,
                "red" => script.red = number,
                "faults" => script.faults = number,
                "busy" => script.busy = number,
                "broken" => script.broken = true,
                "endless" => script.endless = true,
                "lingers" => script.lingers = true,
                "blocked" => script.blocked = true,
                "tells" => script.tells = true,
                "unusable" => script.unusable = true,
                "puzzled" => script.puzzled = true,
                "empty-plan" => script.empty_plan = true,
                "same" => script.same = true,
                "strays" => script.strays = true,
                _prose => {}
            }
        }
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_from_a_request() {
        let script = Script::parse("fix the login; question; red 2");
        assert_eq!(script, Script { question: true, red: 2, ..Script::default() });
        assert_eq!(Script::parse("please fix it"), Script::default());
    }
}
