//! The life of programs: started, signalled, timed out, killed, reaped.
//!
//! ```text
//!   start ──▶ starting ──▶ running ──▶ ended ──▶ (its last output is read)
//!                 │           │ kill, or its time is over
//!                 ▼           ▼
//!              refused     swept: all below its supervisor are killed ──▶ the supervisor ends
//! ```

use std::{
    collections::BTreeSet,
    rc::Rc,
    time::{Duration, Instant},
};

use guest::{
    protocol::{ChannelId, Ending, Program, Refusal, Size, Usage},
    switchboard::Unsent,
};
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitStatus, getpid, kill_process, kill_process_group},
};

use crate::{
    ground::Orphans,
    guest::Guest,
    program,
    running::{Killing, Running},
    supervisor::{self, Report, Slot, Step},
    sweep::{Progress, Sweep},
    work::{Kind, Work},
};

/// Signals that came before the program ran. More are not kept.
const EARLY: usize = 8;

impl Guest {
    pub(crate) fn start_program(
        &mut self,
        id: ChannelId,
        program: &Program,
    ) -> Result<(), Refusal> {
        let identity = self.identities.of(program.who)?;
        let failed = |what: &str| {
            let what = what.to_owned();
            move |errno: Errno| Refusal::System { what, errno: errno.raw_os_error() }
        };
        let (ends, program_ends) = match program.terminal {
            None => program::pipes(&identity).map_err(failed("pipe"))?,
            Some(size) => program::terminal(size, &identity).map_err(failed("terminal"))?,
        };
        let image = program::image(program, identity, &program_ends)?;
        let (supervisor, slot) =
            supervisor::launch(image, &self.wake, program.sweeps).map_err(failed("fork"))?;
        self.supervisors.insert(supervisor.as_raw_nonzero().get(), Rc::clone(&slot));
        let limit = (program.wall_millis > 0).then(|| Duration::from_millis(program.wall_millis));
        let running = Running {
            slot,
            supervisor,
            ends: Some(program_ends),
            program: None,
            early: Vec::new(),
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            killing: None,
            terminal: program.terminal.is_some(),
            sweeps: program.sweeps,
        };
        let work = Work::new(Kind::Program(running), Some(ends.input), Some(ends.out), ends.error);
        self.work.insert(id, work);
        Ok(())
    }

    /// Looks at what the supervisors have to say.
    pub(crate) fn advance_programs(&mut self) {
        let ids: Vec<ChannelId> = self.work.keys().copied().collect();
        for id in ids {
            self.advance_program(id);
        }
    }

    fn advance_program(&mut self, id: ChannelId) {
        let Some(work) = self.work.get_mut(&id) else { return };
        let Kind::Program(running) = &mut work.kind else { return };
        let report = running.slot.report();
        match report {
            Report::Starting => return,
            Report::Refused { step, errno } => {
                let refusal = running.slot.refusal(step, errno);
                return self.forget_work(id, refusal);
            }
            Report::Running { .. } | Report::Ended { .. } => {}
        }
        if running.ends.take().is_some() {
            self.board.started(id);
        }
        match report {
            Report::Running { program } if running.program.is_none() => {
                running.program = Some(program);
                for signal in std::mem::take(&mut running.early) {
                    self.signal(id, signal);
                }
            }
            Report::Ended { status, usage }
                if running.killing.is_none() && work.ended.is_none() =>
            {
                running.program = None;
                if running.sweeps {
                    // Its supervisor waits until nobody is left, and its end is told then.
                    let sweep = Sweep::below(running.supervisor);
                    running.killing = Some(Killing { why: ending(status), sweep });
                    return self.sweep_program(id);
                }
                self.drain(id, ending(status), usage);
            }
            Report::Starting
            | Report::Refused { .. }
            | Report::Running { .. }
            | Report::Ended { .. } => {}
        }
    }

    pub(crate) fn signal(&mut self, id: ChannelId, number: i32) {
        let Some(Work { kind: Kind::Program(running), .. }) = self.work.get_mut(&id) else {
            return;
        };
        let Some(signal) = Signal::from_named_raw(number) else { return };
        match running.program {
            Some(program) => {
                // If it has ended meanwhile, that will be told.
                let _gone = kill_process_group(program, signal);
            }
            None if running.ends.is_some() && running.early.len() < EARLY => {
                running.early.push(number);
            }
            None => {}
        }
    }

    pub(crate) fn resize(&mut self, id: ChannelId, size: Size) {
        let Some(work) = self.work.get_mut(&id) else { return };
        if let (true, Some(source)) = (work.has_terminal(), &work.out) {
            let _closed = program::resize(&source.fd, size);
        }
    }

    pub(crate) fn program_is_due(&mut self, id: ChannelId) {
        let Some(Work { kind: Kind::Program(running), .. }) = self.work.get_mut(&id) else {
            return;
        };
        if running.killing.is_none() {
            return self.kill_program(id, Ending::TimedOut);
        }
        self.sweep_program(id);
    }

    pub(crate) fn kill_program(&mut self, id: ChannelId, why: Ending) {
        let Some(Work { kind: Kind::Program(running), .. }) = self.work.get_mut(&id) else {
            return;
        };
        if let Some(killing) = &mut running.killing {
            // The host does not wait for the output of a program that it kills, however its end began.
            killing.why = why;
        } else {
            running.slot.linger();
            let sweep = Sweep::below(running.supervisor);
            running.killing = Some(Killing { why, sweep });
        }
        self.sweep_program(id);
    }

    fn sweep_program(&mut self, id: ChannelId) {
        let Some(Work { kind: Kind::Program(running), .. }) = self.work.get_mut(&id) else {
            return;
        };
        let Some(killing) = &mut running.killing else { return };
        killing.sweep.go_on(&BTreeSet::new());
        // Whoever shares its user can have stopped it.
        let _gone = kill_process(running.supervisor, Signal::CONT);
    }

    pub(crate) fn supervisor_ended(
        &mut self,
        supervisor: Pid,
        slot: &Rc<Slot>,
        status: WaitStatus,
    ) {
        self.advance_programs();
        let report = slot.report();
        let lost = status.terminating_signal().is_some();
        if lost && report == Report::Starting {
            // Its program may still run on the memory of the slot.
            std::mem::forget(Rc::clone(slot));
        }
        if lost || (slot.lingers() && self.orphans == Orphans::ComeToTheGuest) {
            self.strays.get_or_insert_with(|| Sweep::below(getpid()));
        }
        let of_this = |work: &Work| matches!(&work.kind, Kind::Program(running) if running.supervisor == supervisor);
        let Some((id, work)) = self.work.iter_mut().find(|(_, work)| of_this(work)) else { return };
        if work.ended.is_some() {
            return;
        }
        let id = *id;
        let Kind::Program(running) = &mut work.kind else { return };
        let usage = match report {
            Report::Ended { usage, .. } => usage,
            Report::Starting | Report::Refused { .. } | Report::Running { .. } => Usage::default(),
        };
        match running.killing.take() {
            Some(Killing { why: Ending::Killed, .. }) => {
                self.finish(id, Ending::Killed, usage, Unsent::Discard);
            }
            Some(Killing { why, .. }) => self.drain(id, why, usage),
            None => self.drain(id, Ending::Signaled(libc::SIGKILL), usage),
        }
    }

    /// Kills what has no supervisor, or got away from one. It cannot be told from the children that others left
    /// behind, so these go, too.
    pub(crate) fn sweep_strays(&mut self) {
        if self.strays.is_none() {
            return;
        }
        let spared = self.supervisors.keys().copied().chain(self.file_children()).collect();
        if let Some(sweep) = &mut self.strays
            && sweep.due() <= Instant::now()
            && sweep.go_on(&spared) == Progress::Done
        {
            self.strays = None;
        }
    }
}

impl Slot {
    fn refusal(&self, step: Step, errno: i32) -> Refusal {
        let lossy = |text: Option<&std::ffi::CString>| {
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        match step {
            Step::Program => Refusal::Program { name: lossy(self.image().argv.first()), errno },
            Step::Directory => {
                Refusal::Directory { path: lossy(Some(&self.image().directory)), errno }
            }
            Step::Fork => Refusal::System { what: "fork".to_owned(), errno },
            Step::Prepare => Refusal::System { what: "prepare the process".to_owned(), errno },
            Step::Become => Refusal::System { what: "become the user".to_owned(), errno },
        }
    }
}

fn ending(status: i32) -> Ending {
    if libc::WIFSIGNALED(status) {
        return Ending::Signaled(libc::WTERMSIG(status));
    }
    Ending::Exited(libc::WEXITSTATUS(status))
}
