//! A command in a sandbox, joined to this terminal or to pipes.
//!
//! ```text
//!  our stdin ── a thread ──▶ input ─────┐                     ┌──▶ our stdout, cleaned if it is a terminal
//!  Ctrl-C, window size ──▶ signals ─────┴──▶ the command ─────┴──▶ our stderr, the same
//! ```

mod raw_mode;

use std::{
    io::{self, Read as _, Write},
    pin::pin,
};

use anyhow::Context as _;
use terminal::{
    clean::Cleaner,
    colors::Stream,
    exit::Exit,
    refusal::{Explained as _, explain},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};
use wire::{
    client::{Client, ClientError, ExecEvent, ExecTalking},
    error::Code,
    exec::{Finished, Size, StartExec},
};

use self::raw_mode::RawMode;

/// Whether the command gets a terminal of its own, as large as ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminal {
    None,
    Ours,
}

/// A program that is not there ends a shell with 127, and so it ends us.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct MissingProgram(String);

/// An error of a command that could not be begun.
pub(crate) fn not_begun(error: ClientError) -> anyhow::Error {
    match error.problem() {
        Some(problem) if problem.code == Code::ProgramMissing => {
            let help = problem.help.as_deref().map(|help| format!("\nhint: {help}"));
            MissingProgram(format!("{}{}", problem.message, help.unwrap_or_default())).into()
        }
        Some(_) | None => explain(error),
    }
}

/// Runs a command to its end, and passes everything on.
pub(crate) async fn hold(
    client: &Client,
    sandbox: &str,
    mut start: StartExec,
    terminal: Terminal,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<Finished> {
    let _raw = match terminal {
        Terminal::None => None,
        Terminal::Ours => {
            start.terminal = Some(window_size());
            RawMode::enter()?
        }
    };
    // A command with a terminal of its own draws on ours, as it would without a sandbox. Any other only says things.
    let is_own = terminal == Terminal::Ours;
    let mut out_cleaner =
        if is_own { Cleaner::Off } else { Cleaner::of(Stream::of(&io::stdout())) };
    let mut err_cleaner =
        if is_own { Cleaner::Off } else { Cleaner::of(Stream::of(&io::stderr())) };

    let (talking, mut hearing) = client.exec(sandbox, &start).await.explained()?;
    let mut pumping = pin!(pump(talking.clone(), read_stdin()));
    let mut is_pumping = true;
    let mut ways = Ways::new()?;
    let mut asked_to_end = 0u32;
    loop {
        tokio::select! {
            event = hearing.next() => match event.map_err(not_begun)? {
                ExecEvent::Out(bytes) => {
                    out.write_all(&out_cleaner.clean(&bytes))?;
                    out.flush()?;
                }
                ExecEvent::Error(bytes) => {
                    err.write_all(&err_cleaner.clean(&bytes))?;
                    err.flush()?;
                }
                ExecEvent::Finished(finished) => {
                    out.write_all(&out_cleaner.end())?;
                    err.write_all(&err_cleaner.end())?;
                    out.flush()?;
                    return Ok(finished);
                }
            },
            // Input that cannot be sent is noticed by the hearing side too.
            _ended = &mut pumping, if is_pumping => is_pumping = false,
            signal = ways.next() => match signal {
                Way::Window if is_own => drop(talking.resize(window_size()).await),
                Way::Window => {}
                Way::Signal(number) => {
                    asked_to_end += 1;
                    if asked_to_end > 1 {
                        // It was asked once. Closing ends it with all that it started.
                        talking.close().await;
                        return Ok(killed(number));
                    }
                    drop(talking.signal(number).await);
                }
            },
        }
    }
}

const fn killed(signal: i32) -> Finished {
    let ending = wire::exec::Ending::Killed { signal };
    Finished { ending, cut: false, cpu_millis: 0, memory_mib_seconds: 0 }
}

/// How we end when a command ended so: as it did, as a shell would tell it.
pub(crate) fn exit(finished: &Finished) -> Exit {
    use wire::exec::Ending;
    let code = match finished.ending {
        Ending::Exited { code } => code & 0xff,
        Ending::Killed { signal } => 128 + (signal & 0x7f),
        Ending::TimedOut {} => 124,
        Ending::OutOfMemory { .. } => 137,
    };
    Exit::Command(u8::try_from(code).unwrap_or(1))
}

/// Sends what is read, and then its end.
async fn pump(talking: ExecTalking, mut read: mpsc::Receiver<Vec<u8>>) {
    while let Some(chunk) = read.recv().await {
        if talking.input(&chunk).await.is_err() {
            return;
        }
    }
    drop(talking.end_input().await);
}

/// Reads our stdin in a thread of its own, which a read that never returns may keep until the program ends.
fn read_stdin() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut chunk = vec![0; 32 * 1024];
        loop {
            let length = match stdin.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_closed) => return,
            };
            let bytes = chunk.get(..length).unwrap_or_default().to_vec();
            if sender.blocking_send(bytes).is_err() {
                return;
            }
        }
    });
    receiver
}

fn window_size() -> Size {
    let told = rustix::termios::tcgetwinsize(rustix::stdio::stdout());
    match told {
        Ok(size) if size.ws_col > 0 => Size { columns: size.ws_col, rows: size.ws_row },
        Ok(_) | Err(_) => Size { columns: 80, rows: 24 },
    }
}

/// What the system tells us while a command runs.
struct Ways {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    window: Signal,
}

enum Way {
    Signal(i32),
    Window,
}

impl Ways {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            window: listen(SignalKind::window_change())?,
        })
    }

    async fn next(&mut self) -> Way {
        tokio::select! {
            _ = self.interrupt.recv() => Way::Signal(SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => Way::Signal(SignalKind::terminate().as_raw_value()),
            _ = self.hang_up.recv() => Way::Signal(SignalKind::hangup().as_raw_value()),
            _ = self.window.recv() => Way::Window,
        }
    }
}
