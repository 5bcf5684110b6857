//! A person at the terminal, asked one thing at a time.
//!
//! **Invariant:** only what is typed after a question is an answer to it. A key that was pressed before must not approve a plan that
//! nobody has seen, so what waits in the terminal is thrown away before each question, and nothing is read ahead.

use std::io::{self, Write};

use anyhow::Context as _;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

pub(crate) struct Keyboard {
    hands: Hands,
}

enum Hands {
    Terminal {
        wanted: mpsc::Sender<()>,
        lines: mpsc::Receiver<Option<String>>,
        interrupt: Signal,
    },
    #[cfg(test)]
    Script(std::collections::VecDeque<&'static str>),
}

impl Keyboard {
    /// Our terminal. The thread that reads it ends with the program: nobody can take back a read from a terminal.
    pub(crate) fn open() -> anyhow::Result<Self> {
        let interrupt = signal(SignalKind::interrupt()).context("cannot listen to signals")?;
        let (wanted, mut wishes) = mpsc::channel::<()>(1);
        let (say, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            while wishes.blocking_recv().is_some() {
                let mut line = String::new();
                let read = io::stdin().read_line(&mut line);
                let said = read.is_ok_and(|bytes| bytes > 0).then_some(line);
                if say.blocking_send(said).is_err() {
                    return;
                }
            }
        });
        Ok(Self { hands: Hands::Terminal { wanted, lines, interrupt } })
    }

    #[cfg(test)]
    pub(crate) fn typing(lines: &[&'static str]) -> Self {
        Self { hands: Hands::Script(lines.iter().copied().collect()) }
    }

    /// What is typed; nothing when the person leaves, with Ctrl-C or Ctrl-D.
    pub(crate) async fn ask(
        &mut self,
        question: &str,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<String>> {
        match &mut self.hands {
            Hands::Terminal { wanted, lines, interrupt } => {
                // A terminal that cannot be emptied is none, and then nothing waits in it.
                let _none = rustix::termios::tcflush(
                    rustix::stdio::stdin(),
                    rustix::termios::QueueSelector::IFlush,
                );
                write!(out, "{question} ")?;
                out.flush()?;
                if wanted.send(()).await.is_err() {
                    return Ok(None);
                }
                let said = tokio::select! {
                    said = lines.recv() => said.flatten(),
                    _ = interrupt.recv() => None,
                };
                if said.is_none() {
                    writeln!(out)?;
                }
                Ok(said.map(|line| line.trim().to_owned()))
            }
            #[cfg(test)]
            Hands::Script(lines) => {
                writeln!(out, "{question}")?;
                Ok(lines.pop_front().map(str::to_owned))
            }
        }
    }
}
