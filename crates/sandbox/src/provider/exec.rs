//! Runs commands.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contracts::sandbox::{
    CommandName, Cut, Ended, Exec, Finished, HOME, SandboxError, State, Streams, User,
};
use domain::{cost::Cost, id::SandboxId};
use guest::protocol::{Ending, Job, Program, Refusal, Size, Who};

use super::{
    Inner, Sandbox,
    path::{self, PATH},
};
use crate::{
    body::Body,
    link::{self, Channel, LinkError, pump},
};

/// How long after its limit a command may take to be ended before its guest counts as lost.
const GRACE: Duration = Duration::from_secs(10);

const SIGKILL: i32 = 9;

impl Inner {
    pub(super) async fn exec(
        self: &Arc<Self>,
        id: SandboxId,
        name: &CommandName,
        command: &Exec,
        streams: Streams,
    ) -> Result<Finished, SandboxError> {
        let sandbox = self.get(id)?;
        let _turn = sandbox.commands.take(name.clone()).await;
        if let Some(answer) = sandbox.lock().answers.get(name) {
            return Ok(answer.clone());
        }
        // First: what is busy is not put to sleep any more.
        let _busy = Busy::new(&sandbox, self);
        let body = self.awake(&sandbox).await?;
        let kills = body.memory_kills();
        let mut channel = match begin(&sandbox, &body, name, command).await {
            Ok(channel) => channel,
            Err(error) => return Err(self.broken(&sandbox, &body, error, command).await),
        };
        let pumped = tokio::select! {
            pumped = pump(&mut channel, streams) => Some(pumped),
            () = overdue(&sandbox, command.limit.saturating_add(GRACE)) => None,
        };
        let ended = match pumped {
            Some(Ok(ended)) => ended,
            Some(Err(error)) => return Err(self.broken(&sandbox, &body, error, command).await),
            None => {
                let _ = body.kill();
                let reason = "the guest did not end a command that ran out of time".to_owned();
                return Err(SandboxError::Lost { reason });
            }
        };
        let finished = finished(&body, kills, &ended);
        body.ended(channel.id());
        sandbox.lock().answers.add(name.clone(), finished.clone());
        Ok(finished)
    }

    /// What a broken conversation means.
    pub(super) async fn broken(
        &self,
        sandbox: &Arc<Sandbox>,
        body: &Body,
        error: LinkError,
        command: &Exec,
    ) -> SandboxError {
        match error {
            LinkError::Refused(Refusal::Program { name, errno }) => match errno {
                ENOENT => SandboxError::ProgramMissing { program: name },
                _other => SandboxError::Unsupported {
                    reason: LinkError::Refused(Refusal::Program { name, errno }).to_string(),
                },
            },
            LinkError::Refused(Refusal::Directory { path, errno }) => SandboxError::Directory {
                directory: path,
                reason: std::io::Error::from_raw_os_error(errno).to_string(),
            },
            LinkError::Refused(refusal) => {
                let reason = LinkError::Refused(refusal).to_string();
                SandboxError::Unsupported { reason: format!("{reason} ({})", shown(command)) }
            }
            // A guest that lies is not spoken with again, and nor is what it may have let in.
            LinkError::Broken(reason) => {
                let _ = body.kill();
                SandboxError::Lost { reason }
            }
            // We hung up: the server is being stopped, and the next one finds the command by its name.
            LinkError::Closed(_) if self.stop.is_cancelled() && sandbox.body().is_ok() => {
                SandboxError::Busy {
                    reason: "the server is being stopped; the command goes on".to_owned(),
                }
            }
            LinkError::Closed(reason) => {
                // The first process has ended, or ends now; why is known when it has.
                let died = tokio::time::timeout(GRACE, noted_death(sandbox, body)).await;
                let told = sandbox.lock().record.died.clone();
                let reason = match (died, told) {
                    (Ok(()), Some(told)) => told,
                    (Ok(()), None) => "its first process has ended".to_owned(),
                    (Err(_), _) => reason,
                };
                SandboxError::Lost { reason }
            }
        }
    }
}

/// Starts the command, or goes on with it where a server before this one started it.
async fn begin(
    sandbox: &Sandbox,
    body: &Body,
    name: &CommandName,
    command: &Exec,
) -> Result<Channel, LinkError> {
    let mine = {
        let mut left_over = body.left_over.lock().await;
        let at = left_over.iter().position(|one| one.tag == name.as_str());
        at.map(|at| left_over.swap_remove(at))
    };
    if let Some(known) = &mine {
        return body.link.attach(known);
    }
    let (image, is_told) = {
        let entry = sandbox.lock();
        let mut image = entry.record.stack.environment.clone();
        image.extend(entry.road.clone());
        let is_told = [&entry.road, &command.environment].iter().any(|it| it.contains_key("PATH"));
        (image, is_told)
    };
    let mut environment = environment(&image, command.user, &command.environment);
    if command.user == User::Agent && !is_told {
        path::extend(&mut environment, &command.directory);
    }
    if !command.path.is_empty() {
        let path = environment.get("PATH").map(String::as_str);
        let all: Vec<&str> = command.path.iter().map(String::as_str).chain(path).collect();
        environment.insert("PATH".to_owned(), all.join(":"));
    }
    let program = Program {
        argv: command.argv.clone(),
        environment: environment.into_iter().collect(),
        directory: command.directory.clone(),
        who: who(command.user),
        terminal: command.terminal.map(|size| Size { columns: size.columns, rows: size.rows }),
        wall_millis: u64::try_from(command.limit.as_millis()).unwrap_or(u64::MAX),
        output_limit: command.output_limit,
        sweeps: command.sweeps,
    };
    body.link.open(name.as_str(), Job::Program(program))
}
/// Returns when the first process has ended, and whoever watches it has written down why.
async fn noted_death(sandbox: &Sandbox, body: &Body) {
    body.death().await;
    let mut again = tokio::time::interval(Duration::from_millis(5));
    let is_current = || {
        let entry = sandbox.lock();
        entry.body.as_ref().is_some_and(|current| current.record.name == body.record.name)
    };
    while is_current() {
        again.tick().await;
    }
}

/// Returns when a command should have ended. A frozen sandbox cannot end anything, and is given the time again.
async fn overdue(sandbox: &Sandbox, patience: Duration) {
    let never = std::future::pending::<()>;
    while tokio::time::timeout(patience, never()).await.is_ok()
        || sandbox.lock().record.state == State::Frozen
    {}
}

const ENOENT: i32 = 2;

fn shown(command: &Exec) -> String {
    command.argv.first().cloned().unwrap_or_default()
}

pub(super) const fn who(user: User) -> Who {
    match user {
        User::Agent => Who::Agent,
        User::Root => Who::Root,
    }
}

/// The defaults, then what the image says, then what the caller says.
pub(super) fn environment(
    image: &BTreeMap<String, String>,
    user: User,
    asked: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let (home, user) = match user {
        User::Agent => (HOME, "lamp"),
        User::Root => ("/root", "root"),
    };
    let defaults = [
        ("PATH", PATH),
        ("HOME", home),
        ("USER", user),
        ("LANG", "C.UTF-8"),
        // Asking git for the state changes nothing: it would copy the checkout's directory up, find it changed by that, and
        // write its index anew. Agents also ask while another of their commands holds the index.
        ("GIT_OPTIONAL_LOCKS", "0"),
    ];
    let mut environment: BTreeMap<String, String> =
        defaults.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    environment.extend(image.clone());
    environment.extend(asked.clone());
    environment
}

/// How a command ended: what the guest says, checked against what the kernel says. `kills` is how often the memory had run out when it
/// began.
fn finished(body: &Body, kills: u64, ended: &link::Ended) -> Finished {
    const MIB: u64 = 1 << 20;
    let out_of_memory = || {
        let peak = body.out_of_memory()?;
        Some(Ended::OutOfMemory { peak_mib: u32::try_from(peak / MIB).unwrap_or(u32::MAX) })
    };
    let ending = match &ended.ending {
        // A program whose child was killed says so in its own way: `make` ends with 2.
        Ending::Exited(code)
            if *code == 128 + SIGKILL || (*code != 0 && body.memory_kills() > kills) =>
        {
            out_of_memory().unwrap_or(Ended::Exited(*code))
        }
        Ending::Exited(code) => Ended::Exited(*code),
        Ending::Signaled(SIGKILL) => out_of_memory().unwrap_or(Ended::Killed { signal: SIGKILL }),
        Ending::Signaled(signal) => Ended::Killed { signal: *signal },
        Ending::TimedOut => Ended::TimedOut,
        Ending::Killed | Ending::Failed { .. } => Ended::Killed { signal: SIGKILL },
    };
    let micros = ended.usage.user_micros.saturating_add(ended.usage.system_micros);
    Finished {
        ending,
        cut: if ended.dropped > 0 { Cut::Cut } else { Cut::Whole },
        // As the guest tells it. What is paid for is read from the control groups.
        cost: Cost { cpu_millis: micros / 1000, ..Cost::ZERO },
    }
}

/// Keeps a sandbox from being idle.
pub(super) struct Busy<'a> {
    sandbox: &'a Sandbox,
    inner: &'a Inner,
}

impl<'a> Busy<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, inner: &'a Inner) -> Self {
        sandbox.lock().busy += 1;
        Self { sandbox, inner }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut entry = self.sandbox.lock();
        entry.busy = entry.busy.saturating_sub(1);
        entry.record.used_at = self.inner.now();
    }
}
