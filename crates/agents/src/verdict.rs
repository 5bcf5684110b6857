//! What a run came to, by everything that is known: how the process ended, what the meter saw, and last what the program said.
//!
//! Programs say `end_turn`, exit with 0 and print nothing when their model refused them. So an answer only counts if a model
//! was asked and its last word was not a refusal.

use contracts::{
    agent::{AgentError, Exchanges},
    sandbox::{Ended, Finished, SandboxError},
};

use domain::transcript::shortened;

use crate::{driver::Fault, program::Program};

/// All that is known when a process is over.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    /// `None`: it was ended by us, because it had answered and did not go.
    pub(crate) finished: Option<Result<Finished, SandboxError>>,
    pub(crate) before: &'a Exchanges,
    pub(crate) after: &'a Exchanges,
    pub(crate) last_lines: String,
    pub(crate) limit: std::time::Duration,
}

/// Why the program gave no answer that counts. `said` is what its driver came to.
pub(crate) fn verdict<T>(facts: &Facts<'_>, said: Result<T, Fault>) -> Result<T, AgentError> {
    facts.process()?;
    if facts.is_over_budget(said.is_err()) {
        let last_lines = facts.last_lines.clone();
        return Err(AgentError::OverBudget { reason: facts.shortage(), last_lines });
    }
    match said {
        Ok(said) => facts.models().map(|()| said),
        Err(fault) => Err(facts.because(fault)),
    }
}

/// Whether the meter has seen what the program's words imply. A program hears its model's answer a moment before the meter does.
pub(crate) fn is_told<T>(
    program: &Program,
    before: &Exchanges,
    seen: &Exchanges,
    said: &Result<T, Fault>,
) -> bool {
    if !program.asks_a_model() {
        return true;
    }
    let has_failed = seen.failed > before.failed;
    match said {
        Ok(_) | Err(Fault::Refused | Fault::CutShort(_) | Fault::Unusable(_)) => {
            has_failed || seen.answered > before.answered
        }
        Err(Fault::Failed { status: Some(_), .. }) => has_failed,
        Err(
            Fault::Failed { status: None, .. }
            | Fault::Unheard(_)
            | Fault::Silent(_)
            | Fault::Ended
            | Fault::Protocol(_),
        ) => true,
    }
}

impl Facts<'_> {
    /// What the end of the process alone says.
    fn process(&self) -> Result<(), AgentError> {
        match &self.finished {
            None => Ok(()),
            Some(Err(error)) => Err(self.sandbox(error)),
            Some(Ok(finished)) => match finished.ending {
                Ended::OutOfMemory { peak_mib } => {
                    let last_lines = self.last_lines.clone();
                    Err(AgentError::OutOfMemory { peak_mib, last_lines })
                }
                Ended::TimedOut => Err(AgentError::TimeLimit {
                    after: self.limit,
                    last_lines: self.last_lines.clone(),
                }),
                Ended::Exited(_) | Ended::Killed { .. } => Ok(()),
            },
        }
    }

    fn sandbox(&self, error: &SandboxError) -> AgentError {
        match error {
            SandboxError::ProgramMissing { program } => missing(self.program, program),
            SandboxError::NotFound { .. }
            | SandboxError::Destroyed { .. }
            | SandboxError::Resting { .. }
            | SandboxError::Lost { .. } => AgentError::SandboxLost { reason: error.to_string() },
            SandboxError::Busy { .. } | SandboxError::NoRoom { .. } => {
                AgentError::Busy { reason: error.to_string() }
            }
            SandboxError::NameTaken { .. }
            | SandboxError::TierMissing { .. }
            | SandboxError::Limit { .. }
            | SandboxError::Image { .. }
            | SandboxError::Setup { .. }
            | SandboxError::Source { .. }
            | SandboxError::Hook { .. }
            | SandboxError::Directory { .. }
            | SandboxError::Unsupported { .. } => self.stopped(error.to_string()),
        }
    }

    /// How the last request of this run failed, if it did. An earlier run's failure is not this one's.
    fn failure(&self) -> Option<&(Option<u16>, String)> {
        let is_ours = self.after.failed > self.before.failed;
        self.after.last_failure.as_ref().filter(|_| is_ours)
    }

    /// Whether money is why it did not go on.
    fn is_over_budget(&self, has_failed: bool) -> bool {
        let refused = self.after.over_budget > self.before.over_budget;
        refused && (has_failed || self.failure().is_some())
    }

    /// What the gateway said about the money.
    fn shortage(&self) -> String {
        let said = self.failure().map(|(_, reason)| reason.clone());
        said.unwrap_or_else(|| "it is used up".to_owned())
    }

    /// Whether the models said what an answer needs.
    fn models(&self) -> Result<(), AgentError> {
        if !self.program.asks_a_model() {
            return match &self.finished {
                Some(Ok(Finished { ending: Ended::Exited(0), .. })) | None => Ok(()),
                Some(_) => Err(self.stopped(self.end())),
            };
        }
        if let Some((Some(status), reason)) = self.failure() {
            return Err(self.model(Some(*status), reason.clone()));
        }
        if self.after.answered > self.before.answered {
            return Ok(());
        }
        match self.failure() {
            Some((status, reason)) => Err(self.model(*status, reason.clone())),
            None => Err(self.stopped("it never asked its model".to_owned())),
        }
    }

    fn because(&self, fault: Fault) -> AgentError {
        match fault {
            Fault::Unheard(unheard) => self.stopped(unheard.to_string()),
            // One that waits for a model which refuses it again and again says nothing meanwhile.
            Fault::Silent(after) => match self.failure() {
                Some((Some(status), reason)) => self.model(Some(*status), reason.clone()),
                Some((None, _)) | None => {
                    AgentError::Silent { after, last_lines: self.last_lines.clone() }
                }
            },
            Fault::Protocol(reason) | Fault::CutShort(reason) => self.stopped(reason),
            Fault::Refused => AgentError::ModelRefused {
                reason: "it does not want to do this".to_owned(),
                last_lines: self.last_lines.clone(),
            },
            // A program whose model refused it may end its turn without a word.
            Fault::Unusable(faults) => {
                self.models().err().unwrap_or_else(|| AgentError::Unusable {
                    reason: faults.to_string(),
                    last_lines: self.last_lines.clone(),
                })
            }
            Fault::Failed { status, reason } => {
                // The gateway knows better than a sentence.
                let seen = self.failure().and_then(|(status, _)| *status);
                match seen.or(status) {
                    Some(status) => self.model(Some(status), reason),
                    None => self.stopped(reason),
                }
            }
            Fault::Ended => match self.failure() {
                Some((Some(status), reason)) => self.model(Some(*status), reason.clone()),
                Some((None, _)) | None => self.stopped(self.end()),
            },
        }
    }

    /// Why a model did not answer: worth another try, or not.
    fn model(&self, status: Option<u16>, reason: String) -> AgentError {
        match status {
            Some(408 | 409 | 425 | 429 | 500..) | None => {
                AgentError::Busy { reason: sentence(reason) }
            }
            Some(_) => AgentError::ModelRefused {
                reason: sentence(reason),
                last_lines: self.last_lines.clone(),
            },
        }
    }

    fn stopped(&self, reason: String) -> AgentError {
        AgentError::Stopped { reason: sentence(reason), last_lines: self.last_lines.clone() }
    }

    fn end(&self) -> String {
        let how = match &self.finished {
            Some(Ok(Finished { ending: Ended::Exited(code), .. })) => format!("with code {code}"),
            Some(Ok(Finished { ending: Ended::Killed { signal }, .. })) => {
                format!("by signal {signal}")
            }
            Some(_) | None => "without a word".to_owned(),
        };
        format!("{} ended {how} before it had answered", self.program.title)
    }
}

/// Bytes of a reason that a program gives.
const REASON: usize = 2_000;

/// What a program gives as a reason goes to people's terminals and into records, so it is short and has nothing but text.
fn sentence(reason: String) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    shortened(reason, REASON).chars().map(plain).collect()
}

/// The program is not in the image.
pub(crate) fn missing(program: &Program, name: &str) -> AgentError {
    let remedy = if program.packages.is_empty() {
        "install it in the image's setup".to_owned()
    } else {
        format!("`lamp agent check {}` builds an image that has it", program.name)
    };
    AgentError::ProgramMissing { program: name.to_owned(), remedy }
}

#[cfg(test)]
mod tests {
    use contracts::{
        agent::{Answer, Mode},
        sandbox::Cut,
    };
    use domain::cost::Cost;

    use super::*;

    fn exchanges(answered: u64, last_failure: Option<(Option<u16>, &str)>) -> Exchanges {
        let last_failure = last_failure.map(|(status, why)| (status, why.to_owned()));
        let failed = u64::from(last_failure.is_some());
        Exchanges { answered, failed, last_failure, ..Exchanges::default() }
    }

    fn judged(
        name: &str,
        ending: Ended,
        after: &Exchanges,
        said: Result<Answer, Fault>,
    ) -> Result<Answer, AgentError> {
        let facts = Facts {
            program: Program::named(name).unwrap(),
            finished: Some(Ok(Finished { ending, cut: Cut::Whole, cost: Cost::ZERO })),
            before: &Exchanges::default(),
            after,
            last_lines: "the last line".to_owned(),
            limit: std::time::Duration::from_mins(1),
        };
        verdict(&facts, said)
    }

    #[test]
    fn success_is_not_believed_when_the_last_answer_of_the_model_was_a_refusal() {
        let refused = exchanges(3, Some((Some(401), "no such key")));
        let error = judged("pi", Ended::Exited(0), &refused, Ok(Answer::Change)).unwrap_err();
        assert_eq!(error.to_string(), "the model refused: no such key");
        let busy = exchanges(3, Some((Some(529), "overloaded")));
        let error = judged("pi", Ended::Exited(0), &busy, Ok(Answer::Change)).unwrap_err();
        assert!(matches!(error, AgentError::Busy { .. }), "{error}");
    }

    #[test]
    fn silence_after_a_refusal_is_the_refusal() {
        let refused = exchanges(0, Some((Some(403), "not allowed")));
        let silent = Err(Fault::Unusable(crate::answer::read(Mode::Plan, "").unwrap_err()));
        let error = judged("pi", Ended::Exited(0), &refused, silent).unwrap_err();
        assert_eq!(error.to_string(), "the model refused: not allowed");
    }

    #[test]
    fn an_agent_that_asked_no_model_did_nothing() {
        let error =
            judged("codex", Ended::Exited(0), &exchanges(0, None), Ok(Answer::Change)).unwrap_err();
        assert_eq!(error.to_string(), "the agent stopped: it never asked its model");
        let done = judged("codex", Ended::Exited(0), &exchanges(1, None), Ok(Answer::Change));
        assert_eq!(done, Ok(Answer::Change));
    }

    #[test]
    fn a_request_that_the_program_itself_broke_off_is_no_failure() {
        let broken = exchanges(2, Some((None, "the program hung up")));
        assert_eq!(
            judged("opencode", Ended::Exited(0), &broken, Ok(Answer::Change)),
            Ok(Answer::Change)
        );
    }

    #[test]
    fn what_an_earlier_run_was_refused_is_not_this_ones_fault() {
        let earlier = exchanges(1, Some((Some(429), "too many")));
        let facts = Facts {
            program: Program::named("pi").unwrap(),
            finished: None,
            before: &earlier,
            after: &earlier,
            last_lines: String::new(),
            limit: std::time::Duration::from_mins(1),
        };
        let error = verdict::<Answer>(&facts, Err(Fault::Ended)).unwrap_err();
        assert!(matches!(error, AgentError::Stopped { .. }), "{error}");
        let error = verdict(&facts, Ok(Answer::Change)).unwrap_err();
        assert_eq!(error.to_string(), "the agent stopped: it never asked its model");
    }

    #[test]
    fn silence_while_the_model_refuses_is_the_models_and_other_silence_is_the_programs() {
        let after = std::time::Duration::from_mins(20);
        let silent = || Err(Fault::Silent(after));
        let busy = exchanges(0, Some((Some(529), "overloaded")));
        let error = judged("pi", Ended::Exited(0), &busy, silent()).unwrap_err();
        assert!(matches!(error, AgentError::Busy { .. }), "{error}");
        let broken = exchanges(3, Some((None, "the program hung up")));
        let error = judged("pi", Ended::Exited(0), &broken, silent()).unwrap_err();
        assert!(matches!(error, AgentError::Silent { .. }), "{error}");
    }

    #[test]
    fn the_meter_is_waited_for_where_words_imply_that_it_has_something_to_tell() {
        let program = Program::named("builtin").unwrap();
        let none = exchanges(0, None);
        let poor = exchanges(0, Some((Some(402), "no money")));
        let told = |seen: &Exchanges, said| is_told(program, &none, seen, &said);
        let failed = |status| Err(Fault::Failed { status, reason: String::new() });
        assert!(!told(&none, failed(Some(402))) && told(&poor, failed(Some(402))));
        assert!(!told(&exchanges(1, None), failed(Some(402))), "an earlier answer is not it");
        assert!(!told(&none, Ok(Answer::Change)) && told(&exchanges(1, None), Ok(Answer::Change)));
        assert!(told(&none, Err(Fault::Ended)) && told(&none, failed(None)));
        let command = Program::named("command").unwrap();
        assert!(is_told(command, &none, &none, &Ok(Answer::Change)));
    }

    #[test]
    fn a_reason_that_a_program_gives_is_short_and_plain() {
        let reason = format!("\x1b[2J\0{}", "x".repeat(8_000_000));
        let fault = Fault::Failed { status: None, reason };
        let error = judged("codex", Ended::Exited(0), &exchanges(1, None), Err(fault)).unwrap_err();
        let told = error.to_string();
        assert!(told.len() < 3_000 && !told.contains(['\x1b', '\0']), "{told}");
    }

    #[test]
    fn a_command_is_judged_by_its_exit_code() {
        let none = Exchanges::default();
        assert_eq!(
            judged("command", Ended::Exited(0), &none, Ok(Answer::Change)),
            Ok(Answer::Change)
        );
        let error = judged("command", Ended::Exited(3), &none, Ok(Answer::Change)).unwrap_err();
        assert!(error.to_string().contains("ended with code 3"), "{error}");
    }

    #[test]
    fn money_memory_and_time_are_named() {
        let last = || "the last line".to_owned();
        let poor = Exchanges { over_budget: 1, ..exchanges(1, Some((Some(402), "no money"))) };
        let error = judged("codex", Ended::Exited(1), &poor, Err(Fault::Ended)).unwrap_err();
        assert_eq!(
            error,
            AgentError::OverBudget { reason: "no money".to_owned(), last_lines: last() }
        );
        let full = Ended::OutOfMemory { peak_mib: 512 };
        let error = judged("codex", full, &exchanges(1, None), Err(Fault::Ended)).unwrap_err();
        assert_eq!(error, AgentError::OutOfMemory { peak_mib: 512, last_lines: last() });
        let error =
            judged("codex", Ended::TimedOut, &exchanges(1, None), Err(Fault::Ended)).unwrap_err();
        assert!(matches!(error, AgentError::TimeLimit { .. }), "{error}");
    }
}
