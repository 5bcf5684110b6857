//! Which programs an image has, and at which version.

use std::time::Duration;

pub use contracts::agent::Presence;
use contracts::sandbox::{CommandName, Ended, Exec, HOME, SandboxError, Sandboxes, User};
use domain::id::SandboxId;

use crate::{inside, program::Program};

/// Starting one that has to unpack itself first takes a while.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks the program in a sandbox for its version.
pub async fn look<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    program: &Program,
    name: &CommandName,
) -> Result<Presence, SandboxError> {
    let Some(package) = program.packages.first() else { return Ok(Presence::NotAsked) };
    let command = Exec {
        argv: program.version.iter().map(|&word| word.to_owned()).collect(),
        environment: inside::environment(),
        path: program.path(),
        sweeps: false,
        directory: HOME.to_owned(),
        user: User::Agent,
        terminal: None,
        limit: PATIENCE,
        output_limit: 64 * 1024,
    };
    match inside::exec(sandboxes, sandbox, name, &command).await {
        Err(SandboxError::ProgramMissing { .. }) => Ok(Presence::Missing),
        Err(error) => Err(error),
        Ok((finished, said)) => Ok(match (finished.ending, version_in(&said)) {
            (Ended::Exited(0), Some(version)) if version == package.version => {
                Presence::Here { version }
            }
            (Ended::Exited(0), Some(version)) => {
                Presence::Other { version, wanted: package.version.to_owned() }
            }
            (ending, _) => {
                let last = said.lines().last().unwrap_or("it says nothing");
                let last: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
                Presence::Broken { reason: format!("{ending:?}: {last}") }
            }
        }),
    }
}

/// The first word that is a version.
fn version_in(said: &str) -> Option<String> {
    let words = said.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    let plain = words.map(|word| word.trim_start_matches('v'));
    let is_version = |word: &&str| {
        let mut parts = word.split(['.', '-', '+']);
        word.len() <= 64
            && word.contains('.')
            && parts.next().is_some_and(|first| first.parse::<u32>().is_ok())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c))
    };
    plain.filter(is_version).map(str::to_owned).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        let found = |said| version_in(said);
        assert_eq!(found("2.1.325 (Claude Code)\n").as_deref(), Some("2.1.325"));
        assert_eq!(found("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
        assert_eq!(found("v0.87.1").as_deref(), Some("0.87.1"));
        assert_eq!(found("command not found"), None);
        assert_eq!(found(&format!("1.{}", "9".repeat(100))), None);
    }
}
