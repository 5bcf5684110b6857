//! How watching ended: a number that scripts can rely on, and the last words for people.

use terminal::exit::Exit;
use wire::task::{
    checks::Conclusion,
    shown::{Standing, Task},
};

use super::{headline, next_steps, put::put_line, story, words};

/// Told in the help of `lamp run` and `lamp log`, and in the reference.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 it is done, its pull request is open, or (with `--plan-only`) its plan is ready; 1 it failed, or something went \
wrong; 2 wrong usage; 3 it waits for a person: an answer or an approval; 4 it is paused; 5 it was cancelled; 6 its pull request \
is open, and nothing was proven; 130 you left with `q` or Ctrl-C, and it goes on.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Done, or a pull request is open, or the plan that was wanted is there.
    Well,
    /// A pull request is open, of which nothing was proven.
    Unproven,
    Failed,
    WaitsForPerson,
    Paused,
    Cancelled,
    /// Somebody stopped watching while it worked.
    Left,
}

impl Ending {
    /// Where it stands, if it stands still.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        match task.standing {
            Standing::Queued | Standing::Works => None,
            Standing::Over => Some(match task.state.as_str() {
                "done" => Self::Well,
                "cancelled" => Self::Cancelled,
                _failed => Self::Failed,
            }),
            Standing::WaitsForPerson => Some(match task.state.as_str() {
                "paused" => Self::Paused,
                _another if task.plan_waiting.is_some() || task.question.is_some() => {
                    Self::WaitsForPerson
                }
                "pull request open" if is_unproven(task) => Self::Unproven,
                "pull request open" => Self::Well,
                _another => Self::WaitsForPerson,
            }),
        }
    }

    pub(crate) const fn exit(self) -> Exit {
        match self {
            Self::Well => Exit::Done,
            Self::Unproven => headline::UNPROVEN,
            Self::Failed => Exit::Failed,
            Self::WaitsForPerson => Exit::Command(3),
            Self::Paused => Exit::Command(4),
            Self::Cancelled => Exit::Command(5),
            Self::Left => Exit::Command(130),
        }
    }
}

fn is_unproven(task: &Task) -> bool {
    task.headline.as_ref().is_some_and(|it| it.conclusion == Conclusion::Unproven)
}

/// How it ended, and what to type next.
pub(crate) fn last_words(ending: Ending, task: &Task) -> String {
    let next = next_steps(task);
    match ending {
        Ending::Left => format!("\nYou left; task {} goes on by itself.\n{next}", task.short),
        Ending::Well
        | Ending::Unproven
        | Ending::Failed
        | Ending::WaitsForPerson
        | Ending::Paused
        | Ending::Cancelled => {
            let mut text = format!("\nTask {}: {}.\n", task.short, words::line(&task.state, 60));
            if let (Some(number), Some(branch)) = (task.pull_request, &task.branch) {
                put_line!(text, "Pull request #{number}, branch {}.", words::line(branch, 200));
            }
            // The last that is read: that a pull request is open says nothing of what it is worth.
            if let Some(told) = &task.headline {
                put_line!(text, "Checks: {}.", words::line(&told.sentence, 300));
                text.push_str(&headline::advice(told, "  ! "));
            }
            put_line!(text, "Spent so far: {}.", story::spent(&task.spent));
            text + &next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn every_way_to_stand_still_has_its_number() {
        let with = |state: &str, standing| Task {
            state: state.to_owned(),
            standing,
            ..samples::pull_request_open()
        };
        let unproven = || Task {
            headline: Some(samples::headline(Conclusion::Unproven)),
            ..samples::pull_request_open()
        };
        let table = [
            (samples::waiting_for_approval(), Some(Ending::WaitsForPerson)),
            (samples::waiting_for_answer(), Some(Ending::WaitsForPerson)),
            (samples::pull_request_open(), Some(Ending::Well)),
            (unproven(), Some(Ending::Unproven)),
            (with("paused", Standing::WaitsForPerson), Some(Ending::Paused)),
            (with("done", Standing::Over), Some(Ending::Well)),
            (with("failed", Standing::Over), Some(Ending::Failed)),
            (with("cancelled", Standing::Over), Some(Ending::Cancelled)),
            (with("implementing", Standing::Works), None),
            (with("queued", Standing::Queued), None),
        ];
        for (task, ending) in table {
            assert_eq!(Ending::of(&task), ending, "{}", task.state);
        }
        let endings = [
            Ending::Well,
            Ending::Unproven,
            Ending::Failed,
            Ending::WaitsForPerson,
            Ending::Paused,
            Ending::Cancelled,
            Ending::Left,
        ];
        for (ending, code) in endings.into_iter().zip([0, 6, 1, 3, 4, 5, 130]) {
            assert_eq!(
                std::process::ExitCode::from(ending.exit()),
                std::process::ExitCode::from(code)
            );
        }
    }

    #[test]
    fn the_last_words_say_how_it_ended_and_what_to_type() {
        let told = [
            last_words(Ending::Well, &samples::pull_request_open()),
            last_words(Ending::WaitsForPerson, &samples::waiting_for_approval()),
            last_words(Ending::Paused, &samples::paused()),
            last_words(Ending::Left, &samples::pull_request_open()),
        ];
        insta::assert_snapshot!(told.join("---"));
    }
}
