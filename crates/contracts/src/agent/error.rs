//! Why a run gave no answer.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Try again: the model, the host or the network is not there now.
    #[error("the model cannot be reached now: {reason}")]
    Busy { reason: String },
    /// Trying again would not help.
    #[error("the model refused: {reason}")]
    ModelRefused { reason: String, last_lines: String },
    #[error("the agent stopped: {reason}")]
    Stopped { reason: String, last_lines: String },
    #[error("the agent's answer could not be understood: {reason}")]
    Unusable { reason: String, last_lines: String },
    /// It took longer than the phase may take.
    #[error("the agent was ended after {}", minutes(*.after))]
    TimeLimit { after: Duration, last_lines: String },
    /// It said nothing for so long that it is taken for hung.
    #[error("the agent said nothing for {}", minutes(*.after))]
    Silent { after: Duration, last_lines: String },
    /// The image has no such program.
    #[error("`{program}` is not in this image: {remedy}")]
    ProgramMissing { program: String, remedy: String },
    #[error("the budget does not reach: {reason}")]
    OverBudget { reason: String, last_lines: String },
    #[error("the sandbox ran out of memory at {peak_mib} MiB")]
    OutOfMemory { peak_mib: u32, last_lines: String },
    #[error("the sandbox was lost: {reason}")]
    SandboxLost { reason: String },
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}
