//! What all checks of a change say together: its line, what to do about it, and its exit code. Every command that tells of checks asks here.

use terminal::{colors::Colors, exit::Exit};
use wire::task::checks::{Conclusion, Headline};

use super::{put::put_line, words};

/// Nothing was proven. Neither good nor bad, so that a script can tell it from both.
pub(crate) const UNPROVEN: Exit = Exit::Command(6);

/// Characters of a line, so that it can be read where it is told.
const WIDTH: usize = 300;

/// `Nothing got worse: 2 checks fail as before`
pub(crate) fn sentence(headline: &Headline) -> String {
    let line = words::line(&headline.sentence, WIDTH);
    let mut letters = line.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// The same in the colour that it has.
pub(crate) fn coloured(headline: &Headline, colors: Colors) -> String {
    let sentence = sentence(headline);
    match headline.conclusion {
        Conclusion::Passes => colors.good(sentence).to_string(),
        Conclusion::NothingWorse | Conclusion::Unproven => colors.warning(sentence).to_string(),
        Conclusion::Fails => colors.bad(sentence).to_string(),
    }
}

/// What to take care of and what to write, a line each.
pub(crate) fn advice(headline: &Headline, indent: &str) -> String {
    let mut text = String::new();
    for line in headline.warning.iter().chain(&headline.next) {
        put_line!(text, "{indent}{}", words::line(line, WIDTH));
    }
    text
}

pub(crate) const fn exit(conclusion: Conclusion) -> Exit {
    match conclusion {
        Conclusion::Passes | Conclusion::NothingWorse => Exit::Done,
        Conclusion::Unproven => UNPROVEN,
        Conclusion::Fails => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::*;

    #[test]
    fn what_is_unproven_has_a_number_of_its_own() {
        let table = [
            (Conclusion::Passes, 0),
            (Conclusion::NothingWorse, 0),
            (Conclusion::Fails, 1),
            (Conclusion::Unproven, 6),
        ];
        for (conclusion, code) in table {
            assert_eq!(ExitCode::from(exit(conclusion)), ExitCode::from(code), "{conclusion:?}");
        }
    }
}
