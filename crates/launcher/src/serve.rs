//! Takes orders one after the other, and answers them in the same order.
//!
//! Sandboxes that are being made do not hold up the next order: the launcher's part and the first process's part
//! overlap. Between orders, standbys are made. When the server closes its end, what has begun is finished, and the
//! launcher ends; sandboxes live on.

use std::{
    collections::VecDeque,
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use launcher::{
    frame,
    plan::{Answer, Order},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::launch::{Launcher, Pending, Progress};

/// A sandbox that was just made has its first command to run, and needs the CPU more than the next one does.
const BREATH: Timespec = Timespec { tv_sec: 0, tv_nsec: 8_000_000 };

/// How many sandboxes are in the making at once.
const AT_ONCE: usize = 32;

/// Serves until the server has gone.
pub(crate) fn serve(mut server: UnixStream, launcher: Launcher) -> io::Result<()> {
    let mut desk = Desk { launcher, answers: VecDeque::new(), spare: Spare::Possible };
    loop {
        let readable = desk.wait(server.as_fd())?;
        desk.hear();
        desk.answer(&mut server)?;
        match readable {
            Server::Quiet => desk.prepare(),
            Server::Speaks => match frame::read(&mut server)? {
                Some(order) => desk.take(order),
                None => break,
            },
        }
        desk.answer(&mut server)?;
    }
    while !desk.answers.is_empty() {
        desk.wait_for_pending()?;
        desk.hear();
        // The server has gone, and with it whoever wanted the answers.
        desk.drop_settled();
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Quiet,
    Speaks,
}

/// Whether it makes sense to make standbys ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spare {
    Possible,
    /// The last attempt has failed; the next order tries again, and tells.
    Failed,
}

#[derive(Debug)]
struct Desk {
    launcher: Launcher,
    /// In the order of the orders.
    answers: VecDeque<Progress>,
    spare: Spare,
}

impl Desk {
    /// Waits for an order or for news of a sandbox; not for long when a standby is wanted.
    fn wait(&self, server: BorrowedFd<'_>) -> io::Result<Server> {
        let mut polled = Vec::with_capacity(self.answers.len() + 1);
        if self.answers.len() < AT_ONCE {
            polled.push(PollFd::from_borrowed_fd(server, PollFlags::IN));
        }
        polled
            .extend(self.pending().map(|one| PollFd::from_borrowed_fd(one.line(), PollFlags::IN)));
        let idle = self.answers.is_empty();
        let timeout = if idle && self.wants_standby() {
            Some(if self.launcher.is_short_of_standbys() { Timespec::default() } else { BREATH })
        } else {
            let patience = self.pending().map(Pending::patience).min();
            patience.and_then(|patience| Timespec::try_from(patience).ok())
        };
        poll_once(&mut polled, timeout.as_ref())?;
        let speaks = self.answers.len() < AT_ONCE
            && polled.first().is_some_and(|server| !server.revents().is_empty());
        Ok(if speaks { Server::Speaks } else { Server::Quiet })
    }

    fn wait_for_pending(&self) -> io::Result<()> {
        let mut polled: Vec<_> =
            self.pending().map(|one| PollFd::from_borrowed_fd(one.line(), PollFlags::IN)).collect();
        let patience = self.pending().map(Pending::patience).min();
        let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
        poll_once(&mut polled, timeout.as_ref())
    }

    fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.answers.iter().filter_map(|progress| match progress {
            Progress::Pending(pending) => Some(pending),
            Progress::Settled(_) => None,
        })
    }

    fn take(&mut self, order: Order) {
        let progress = match order {
            Order::Launch(launch) => {
                self.spare = Spare::Possible;
                match self.launcher.begin(&launch) {
                    Ok(pending) => Progress::Pending(pending),
                    Err(failure) => Progress::Settled(Answer::Failed(failure)),
                }
            }
            Order::Release { layer } => {
                self.launcher.release(&layer);
                Progress::Settled(Answer::Done)
            }
            Order::Ping => Progress::Settled(Answer::Done),
        };
        self.answers.push_back(progress);
    }

    /// Hears every first process that has something to say.
    fn hear(&mut self) {
        let waiting = std::mem::take(&mut self.answers);
        self.answers = waiting
            .into_iter()
            .map(|mut progress| {
                loop {
                    match progress {
                        Progress::Settled(answer) => break Progress::Settled(answer),
                        Progress::Pending(pending) if has_news(pending.line()) => {
                            progress = pending.hear();
                        }
                        Progress::Pending(pending) if pending.patience().is_zero() => {
                            break Progress::Settled(pending.give_up());
                        }
                        Progress::Pending(pending) => break Progress::Pending(pending),
                    }
                }
            })
            .collect();
    }

    fn answer(&mut self, server: &mut UnixStream) -> io::Result<()> {
        while let Some(Progress::Settled(_)) = self.answers.front() {
            if let Some(Progress::Settled(answer)) = self.answers.pop_front() {
                frame::write(server, &answer)?;
            }
        }
        Ok(())
    }

    fn drop_settled(&mut self) {
        self.answers.retain(|progress| matches!(progress, Progress::Pending(_)));
    }

    fn wants_standby(&self) -> bool {
        self.spare == Spare::Possible && self.launcher.wants_standby()
    }

    /// Uses a quiet moment.
    fn prepare(&mut self) {
        if self.answers.is_empty() && self.wants_standby() && self.launcher.add_standby().is_err() {
            self.spare = Spare::Failed;
        }
    }
}

fn has_news(line: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(line, PollFlags::IN)];
    poll_once(&mut polled, Some(&Timespec::default())).is_ok()
        && polled.iter().any(|one| !one.revents().is_empty())
}

fn poll_once(polled: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> io::Result<()> {
    match poll(polled, timeout) {
        Ok(_ready) => Ok(()),
        // A signal. The caller looks again.
        Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
