//! The loop: waits for whatever happens next, and lets everyone have a turn.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    time::Instant,
};

use guest::{
    protocol::{Ask, ChannelId, Ending, FrameError, Job, Refusal, Stream, Tell, Usage, VERSION},
    switchboard::{Act, Switchboard, Unsent, Violation},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
    net::{SocketFlags, accept_with},
    process::{Pid, WaitOptions, WaitStatus, wait},
};

use crate::{
    arguments::Arguments,
    connection::{Closed, Connection},
    ground::{self, Ground, Orphans},
    identity::Identities,
    supervisor::Slot,
    sweep::Sweep,
    work::{Flow, Kind, Work},
};

/// For everything that is read.
const SCRATCH: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) identities: Identities,
    pub(crate) board: Switchboard,
    pub(crate) work: BTreeMap<ChannelId, Work>,
    /// Every supervisor that was not reaped yet, with the memory that it uses.
    pub(crate) supervisors: BTreeMap<i32, Rc<Slot>>,
    /// Whose supervisor was lost: to be killed.
    pub(crate) strays: Option<Sweep>,
    pub(crate) orphans: Orphans,
    pub(crate) wake: OwnedFd,
    signals: OwnedFd,
    listener: Option<OwnedFd>,
    connection: Option<Connection>,
    scratch: Vec<u8>,
    end: Option<Instant>,
}

/// What can become ready.
#[derive(Debug, Clone, Copy)]
enum Event {
    Signals,
    Wake,
    Listener,
    Host,
    Input(ChannelId),
    Output(ChannelId, Stream),
    Connect(ChannelId),
}

/// Whether the guest has anything left to live for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    GoesOn,
    IsOver,
}

impl Guest {
    pub(crate) fn new(arguments: &Arguments, ground: Ground) -> Self {
        let (listener, connection) = match ground.line {
            ground::Source::Listener(listener) => (Some(listener), None),
            ground::Source::Stdio { input, output } => {
                (None, Some(Connection::pair(input, output)))
            }
        };
        Self {
            identities: Identities::of_this_process(arguments.users),
            board: Switchboard::default(),
            work: BTreeMap::new(),
            supervisors: BTreeMap::new(),
            strays: None,
            orphans: ground.orphans,
            wake: ground.wake,
            signals: ground.signals,
            listener,
            connection,
            scratch: Vec::with_capacity(SCRATCH),
            end: arguments.lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime)),
        }
    }

    pub(crate) fn run(mut self) -> Result<(), Errno> {
        loop {
            self.keep_time();
            self.tell();
            let now = Instant::now();
            if self.end.is_some_and(|end| end <= now) {
                return Ok(());
            }
            for event in self.wait(now)? {
                self.attend(event);
            }
            if self.hear() == Life::IsOver {
                return Ok(());
            }
        }
    }

    fn wait(&self, now: Instant) -> Result<Vec<Event>, Errno> {
        let mut events = vec![Event::Signals, Event::Wake];
        let mut fds =
            vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        if let Some(listener) = &self.listener {
            events.push(Event::Listener);
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        if let Some(connection) = &self.connection {
            if connection.wants_to_read() {
                events.push(Event::Host);
                fds.push(PollFd::from_borrowed_fd(connection.input(), PollFlags::IN));
            }
            if connection.wants_to_write() {
                events.push(Event::Host);
                fds.push(PollFd::from_borrowed_fd(connection.output(), PollFlags::OUT));
            }
        }
        for (id, work) in &self.work {
            if let Kind::Forward(forward) = &work.kind
                && let Some(socket) = forward.connecting()
            {
                events.push(Event::Connect(*id));
                fds.push(PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT));
                continue;
            }
            if let Some(fd) = &work.input
                && self.board.input_waits(*id)
            {
                events.push(Event::Input(*id));
                fds.push(PollFd::new(fd, PollFlags::OUT));
            }
            if self.board.room(*id) == 0 {
                continue;
            }
            for (stream, source) in [(Stream::Out, &work.out), (Stream::Error, &work.error)] {
                if let Some(source) = source {
                    events.push(Event::Output(*id, stream));
                    fds.push(PollFd::new(&source.fd, PollFlags::IN));
                }
            }
        }
        let timeout = self.next_deadline().map(|deadline| deadline.saturating_duration_since(now));
        match poll(&mut fds, timeout.and_then(|timeout| Timespec::try_from(timeout).ok()).as_ref())
        {
            // Without memory for the question, it is asked again.
            Ok(_) | Err(Errno::INTR | Errno::NOMEM) => {}
            Err(errno) => return Err(errno),
        }
        let ready = events.into_iter().zip(fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(event, _)| event).collect())
    }

    fn attend(&mut self, event: Event) {
        match event {
            Event::Signals => self.reap(),
            Event::Wake => {
                let _empty = read(&self.wake, &mut [0_u8; 8]);
                self.advance_programs();
            }
            Event::Listener => self.accept(),
            Event::Host => self.receive(),
            Event::Input(id) => {
                if let Some(work) = self.work.get_mut(&id) {
                    work.feed(id, &mut self.board);
                }
            }
            Event::Output(id, stream) => self.read_output(id, stream),
            Event::Connect(id) => self.advance_forward(id),
        }
    }

    /// The newest connection is the one that counts.
    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        while let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            self.board.hang_up();
            self.connection = Some(Connection::socket(socket));
        }
    }

    fn receive(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let received = connection.send().and_then(|()| {
            if connection.wants_to_read() { connection.receive(&mut self.scratch) } else { Ok(()) }
        });
        if let Err(Closed) = received {
            self.hang_up();
        }
    }

    /// Does what the host asked, until nothing more has arrived or the host should listen first.
    fn hear(&mut self) -> Life {
        while let Some(connection) = &mut self.connection {
            if !connection.wants_to_read() {
                break;
            }
            match connection.next_ask() {
                Ok(None) => break,
                Ok(Some(ask)) => self.answer(ask),
                Err(FrameError::Malformed { .. }) if self.listener.is_none() => {
                    self.board.hang_up();
                }
                Err(FrameError::Malformed { .. } | FrameError::TooLong { .. }) => self.hang_up(),
            }
        }
        // Without a listener nobody can ever connect again.
        if self.connection.is_none() && self.listener.is_none() {
            Life::IsOver
        } else {
            Life::GoesOn
        }
    }

    fn answer(&mut self, ask: Ask) {
        match self.board.ask(ask) {
            Ok(act) => self.act(act),
            Err(Violation::Version { .. }) => {
                if let Some(connection) = &mut self.connection {
                    connection.tell(&Tell::Hello { version: VERSION });
                    let _closed = connection.send();
                }
                self.drop_offender();
            }
            Err(Violation::NoHello | Violation::Gap(_)) => self.drop_offender(),
        }
        if let Some(connection) = &mut self.connection {
            while let Some(tell) = self.board.next_answer() {
                connection.tell(&tell);
            }
        }
    }

    /// Behind standard input and output is a relay that will bring another host; only a socket is closed.
    fn drop_offender(&mut self) {
        if self.listener.is_some() {
            self.hang_up();
        } else {
            self.board.hang_up();
        }
    }

    fn hang_up(&mut self) {
        self.connection = None;
        self.board.hang_up();
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Nothing => {}
            Act::Start { channel, job } => {
                let started = match job {
                    Job::Program(program) => self.start_program(channel, &program),
                    Job::File { who, job } => self.start_file_job(channel, who, &job),
                    Job::Forward { port } => self.start_forward(channel, port),
                };
                if let Err(refusal) = started {
                    self.board.refused(channel, refusal);
                }
            }
            Act::Feed { channel } => {
                if let Some(work) = self.work.get_mut(&channel) {
                    work.feed(channel, &mut self.board);
                }
            }
            Act::Signal { channel, signal } => self.signal(channel, signal),
            Act::Resize { channel, size } => self.resize(channel, size),
            Act::Kill { channel } => self.kill(channel),
        }
    }

    fn kill(&mut self, id: ChannelId) {
        let Some(work) = self.work.get_mut(&id) else { return };
        if let Some((ending, usage)) = work.ended.clone() {
            return self.finish(id, ending, usage, Unsent::Discard);
        }
        match &mut work.kind {
            Kind::Program(_) => self.kill_program(id, Ending::Killed),
            Kind::File(job) => job.kill(),
            Kind::Forward(_) => self.finish(id, Ending::Killed, Usage::default(), Unsent::Discard),
        }
    }

    fn read_output(&mut self, id: ChannelId, stream: Stream) {
        let Some(work) = self.work.get_mut(&id) else { return };
        let flow = work.read(id, stream, &mut self.board, &mut self.scratch);
        if let (Flow::Closed { error }, Kind::Forward(_)) = (flow, &work.kind) {
            let ending = match error {
                None => Ending::Exited(0),
                Some(errno) => Ending::Failed {
                    what: "the connection broke".to_owned(),
                    errno: errno.raw_os_error(),
                },
            };
            return self.finish(id, ending, Usage::default(), Unsent::Keep);
        }
        self.finish_if_read(id);
    }

    /// The job has ended. What it wrote before is read to the end.
    pub(crate) fn drain(&mut self, id: ChannelId, ending: Ending, usage: Usage) {
        let Some(work) = self.work.get_mut(&id) else { return };
        work.input = None;
        work.ended = Some((ending, usage));
        if work.has_terminal() {
            work.be_patient();
        } else {
            work.read_only_what_is_there();
        }
        self.finish_if_read(id);
    }

    fn finish_if_read(&mut self, id: ChannelId) {
        let Some(work) = self.work.get_mut(&id) else { return };
        if work.out.is_none()
            && work.error.is_none()
            && let Some((ending, usage)) = work.ended.take()
        {
            self.finish(id, ending, usage, Unsent::Keep);
        }
    }

    pub(crate) fn finish(&mut self, id: ChannelId, ending: Ending, usage: Usage, unsent: Unsent) {
        self.work.remove(&id);
        self.board.ended(id, ending, usage, unsent);
    }

    fn reap(&mut self) {
        let mut ignored = [0_u8; 128 * 8];
        let _empty = read(&self.signals, &mut ignored);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.reaped(pid, status);
        }
    }

    fn reaped(&mut self, pid: Pid, status: WaitStatus) {
        let number = pid.as_raw_nonzero().get();
        if let Some(slot) = self.supervisors.remove(&number) {
            return self.supervisor_ended(pid, &slot, status);
        }
        self.file_child_ended(pid, status);
    }

    /// Does what is due, and nothing else.
    fn keep_time(&mut self) {
        let now = Instant::now();
        let due: Vec<ChannelId> = self
            .work
            .iter()
            .filter(|(_, work)| work.deadline().is_some_and(|at| at <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let Some(work) = self.work.get_mut(&id) else { continue };
            if work.ended.is_some() {
                if self.board.room(id) == 0 {
                    work.be_patient();
                    continue;
                }
                work.out = None;
                work.error = None;
                self.finish_if_read(id);
                continue;
            }
            match &mut work.kind {
                Kind::Program(_) => self.program_is_due(id),
                Kind::File(job) => job.kill_hard(),
                Kind::Forward(_) => {
                    let errno = libc::ETIMEDOUT;
                    self.forget_work(id, Refusal::System { what: "connect".to_owned(), errno });
                }
            }
        }
        self.sweep_strays();
    }

    /// The job never began.
    pub(crate) fn forget_work(&mut self, id: ChannelId, refusal: Refusal) {
        self.work.remove(&id);
        self.board.refused(id, refusal);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let strays = self.strays.as_ref().map(Sweep::due);
        self.work.values().filter_map(Work::deadline).chain(self.end).chain(strays).min()
    }

    /// Sends what there is to tell, as far as the host takes it.
    fn tell(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        loop {
            let mut told = false;
            while connection.has_room()
                && let Some(tell) = self.board.next_tell()
            {
                connection.tell(&tell);
                told = true;
            }
            if let Err(Closed) = connection.send() {
                return self.hang_up();
            }
            if !told || connection.wants_to_write() {
                return;
            }
        }
    }
}
