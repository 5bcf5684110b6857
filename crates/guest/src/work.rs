//! What all jobs have in common: something to read from, something to write to.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use guest::{
    protocol::{CHUNK, ChannelId, Ending, Stream, Usage},
    switchboard::Switchboard,
};
use rustix::{
    io::{Errno, ioctl_fionread, read, write},
    net::{Shutdown, shutdown},
    termios::{LocalModes, SpecialCodeIndex, tcgetattr},
};

use crate::{file_job::FileJob, forward::Forward, running::Running};

/// How often a source that gives whole chunks is read before others get their turn.
const READS: usize = 4;

/// How long a terminal may be silent before its last output counts as read.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    pub(crate) input: Option<OwnedFd>,
    /// The last byte that was written to the input.
    last_input: u8,
    pub(crate) out: Option<Source>,
    pub(crate) error: Option<Source>,
    /// How it ended, when only the last output is still to be read.
    pub(crate) ended: Option<(Ending, Usage)>,
    /// When to stop reading the last output of a terminal, which does not say how much there is.
    pub(crate) patience: Option<Instant>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Program(Running),
    File(FileJob),
    Forward(Forward),
}

/// Something to read from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) fd: OwnedFd,
    /// How much is still to be read; `None`: until its end.
    left: Option<u64>,
}

/// Whether a source has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Open,
    Closed { error: Option<Errno> },
}

impl Work {
    pub(crate) fn new(
        kind: Kind,
        input: Option<OwnedFd>,
        out: Option<OwnedFd>,
        error: Option<OwnedFd>,
    ) -> Self {
        let source = |fd| Source { fd, left: None };
        let (out, error) = (out.map(source), error.map(source));
        Self { kind, input, last_input: b'\n', out, error, ended: None, patience: None }
    }

    /// A connection stands; it is read and written.
    pub(crate) fn connect(&mut self, input: OwnedFd, out: OwnedFd) {
        self.input = Some(input);
        self.out = Some(Source { fd: out, left: None });
    }

    pub(crate) fn source(&mut self, stream: Stream) -> &mut Option<Source> {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        }
    }

    /// Waits a little longer for the last output of a terminal.
    pub(crate) fn be_patient(&mut self) {
        self.patience = Instant::now().checked_add(PATIENCE);
    }

    /// Only what was already written is read now.
    pub(crate) fn read_only_what_is_there(&mut self) {
        for stream in [Stream::Out, Stream::Error] {
            let source = self.source(stream);
            let Some(known) = source else { continue };
            known.left = ioctl_fionread(&known.fd).ok();
            if known.left == Some(0) {
                *source = None;
            }
        }
    }

    /// Reads as much as the channel has room for.
    pub(crate) fn read(
        &mut self,
        id: ChannelId,
        stream: Stream,
        board: &mut Switchboard,
        scratch: &mut Vec<u8>,
    ) -> Flow {
        for _turn in 0..READS {
            let Some(source) = self.source(stream) else { return Flow::Open };
            let most = source.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK));
            let most = most.min(board.room(id));
            if most == 0 {
                return Flow::Open;
            }
            scratch.clear();
            let Some(spare) = scratch.spare_capacity_mut().get_mut(..most) else {
                return Flow::Open;
            };
            let end = match read(&source.fd, spare) {
                Ok((bytes, _)) if !bytes.is_empty() => {
                    let length = bytes.len();
                    board.output(id, stream, bytes);
                    if let Some(left) = &mut source.left {
                        *left = left.saturating_sub(length as u64);
                    }
                    if source.left == Some(0) {
                        Some(None)
                    } else if length < most {
                        return Flow::Open;
                    } else {
                        None
                    }
                }
                Ok(_) => Some(None),
                Err(Errno::AGAIN | Errno::INTR) => return Flow::Open,
                Err(errno) => Some(Some(errno)),
            };
            if let Some(error) = end {
                *self.source(stream) = None;
                return Flow::Closed { error };
            }
        }
        Flow::Open
    }

    /// Writes what waits for the job, and ends its input when all was written and no more will come.
    pub(crate) fn feed(&mut self, id: ChannelId, board: &mut Switchboard) {
        if !self.takes_input() {
            return;
        }
        let (Some(fd), Some(inflow)) = (&self.input, board.input(id)) else { return };
        while let [_, ..] = inflow.waiting() {
            match write(fd, inflow.waiting()) {
                Ok(length) => {
                    let last = length.checked_sub(1).and_then(|at| inflow.waiting().get(at));
                    self.last_input = last.copied().unwrap_or(self.last_input);
                    inflow.written(length);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_nobody_reads) => {
                    inflow.deafen();
                    self.input = None;
                    return;
                }
            }
        }
        if inflow.is_finished() {
            self.end_input();
        }
    }

    pub(crate) fn has_terminal(&self) -> bool {
        match &self.kind {
            Kind::Program(running) => running.has_terminal(),
            Kind::File(_) | Kind::Forward(_) => false,
        }
    }

    /// When something is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.ended.is_some() {
            return self.patience;
        }
        match &self.kind {
            Kind::Program(running) => running.deadline(),
            Kind::File(job) => job.deadline(),
            Kind::Forward(forward) => forward.deadline(),
        }
    }

    /// Whether there is somebody to write to already.
    pub(crate) fn takes_input(&self) -> bool {
        match &self.kind {
            Kind::Program(_) | Kind::File(_) => true,
            Kind::Forward(forward) => forward.is_connected(),
        }
    }

    fn end_input(&mut self) {
        let Some(fd) = self.input.take() else { return };
        match &self.kind {
            Kind::Program(_) if self.has_terminal() => end_terminal(&fd, self.last_input),
            Kind::Program(_) | Kind::File(_) => {}
            Kind::Forward(_) => {
                // The other side may have closed already.
                let _closed = shutdown(&fd, Shutdown::Write);
            }
        }
    }
}

/// A terminal cannot be closed from this side while its output is wanted. As a person would, we type the character
/// that means the end; twice when a line was begun, since the first then only hands the line over. A program that
/// reads single keys would take it for a key, so it gets none.
fn end_terminal(terminal: &OwnedFd, last: u8) {
    let Ok(settings) = tcgetattr(terminal) else { return };
    if !settings.local_modes.contains(LocalModes::ICANON) {
        return;
    }
    let end = settings.special_codes[SpecialCodeIndex::VEOF];
    let times = if last == b'\n' { 1 } else { 2 };
    // If the terminal is full, whoever reads it sees no end, and the host can still kill it.
    let _full = write(terminal, [end, end].get(..times).unwrap_or_default());
}
