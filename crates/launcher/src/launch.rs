//! The launcher's part in making a sandbox.
//!
//! It makes what only the host's root can make, gives the first process its ids and its control groups, and sends it
//! the plan. From then on the first process works alone, and the launcher may begin the next sandbox.

use std::{
    collections::VecDeque,
    fs,
    io::{self, ErrorKind},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use launcher::{
    descriptors,
    plan::{Answer, Failure, IDS, Launch, STORED_IDS, Users},
};
use rustix::{io::Errno, process::Pid};

use crate::{
    control::Control,
    failure::{Step, refused},
    idmap::Maps,
    line::{self, Word},
    mounts::{
        binds::{self, Nothing},
        furniture, root,
    },
    standby::{Nursery, OWNERS, Power, Standby},
    users,
};

/// A first process that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many first processes wait for a plan.
pub(crate) const STANDBYS: usize = 4;

/// Makes sandboxes.
#[derive(Debug)]
pub(crate) struct Launcher {
    nursery: Nursery,
    standbys: VecDeque<Standby>,
    maps: Maps,
    nothing: Option<Nothing>,
}

/// A sandbox whose first process is at work. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Pending {
    standby: Standby,
    control: Control,
    ready: Readiness,
    deadline: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Building,
    AboutToBecomeGuest,
}

/// How a pending sandbox stands.
#[derive(Debug)]
pub(crate) enum Progress {
    Pending(Pending),
    Settled(Answer),
}

impl Launcher {
    pub(crate) fn new(nursery: Nursery) -> Self {
        Self { nursery, standbys: VecDeque::new(), maps: Maps::default(), nothing: None }
    }

    /// Whether another standby is wanted.
    pub(crate) fn wants_standby(&self) -> bool {
        self.standbys.len() < STANDBYS
    }

    /// Whether it is wanted at once.
    pub(crate) fn is_short_of_standbys(&self) -> bool {
        self.standbys.len() < STANDBYS / 2
    }

    /// Makes a standby ahead of need. A failure shows when one is needed.
    pub(crate) fn add_standby(&mut self) -> Result<(), Failure> {
        self.standbys.push_back(self.nursery.bear()?);
        Ok(())
    }

    /// Lets go of a layer.
    pub(crate) fn release(&mut self, layer: &str) {
        self.maps.release(layer);
    }

    /// Begins to make a sandbox.
    pub(crate) fn begin(&mut self, launch: &Launch) -> Result<Pending, Failure> {
        check(launch, self.nursery.power)?;
        let standby = self.take_standby()?;
        match self.serve(launch, &standby) {
            Ok(control) => {
                let deadline = Instant::now() + PATIENCE;
                Ok(Pending { standby, control, ready: Readiness::Building, deadline })
            }
            // When the first process has failed, what we could not do for it is only a consequence.
            Err(failure) => Err(line::last_word(&standby.line).unwrap_or(failure)),
        }
    }

    fn take_standby(&mut self) -> Result<Standby, Failure> {
        // The oldest has had the most time to get ready. One may have died in waiting: they are the first that a host
        // without memory kills.
        while let Some(standby) = self.standbys.pop_front() {
            if standby.is_alive() {
                return Ok(standby);
            }
        }
        self.nursery.bear()
    }

    /// Gives a first process all that it cannot get itself.
    fn serve(&mut self, launch: &Launch, standby: &Standby) -> Result<Control, Failure> {
        if let Users::Range { base } = launch.users {
            users::give_range(standby.pid, base)?;
        }
        hand_over(line::send_plan(&standby.line, launch))?;
        let (control, listener) = Control::listen(&launch.control)?;
        let mut trees = vec![listener];
        if let Users::Range { base } = launch.users {
            trees.push(root::mapped(launch, base, &mut self.maps)?);
            let nothing = match self.nothing.take() {
                Some(nothing) => nothing,
                None => Nothing::make(self.maps.wants)?,
            };
            for bind in &launch.binds {
                trees.push(binds::shallow(bind, &nothing)?);
            }
            self.nothing = matches!(nothing, Nothing::Detached(_)).then_some(nothing);
        }
        let descriptors: Vec<BorrowedFd<'_>> = trees.iter().map(AsFd::as_fd).collect();
        hand_over(descriptors::send(&standby.line, &descriptors))?;
        // Slow when the host is busy, and the first process has enough to do until it needs this.
        join(standby.pid, &launch.control_groups)?;
        hand_over(line::nod(&standby.line))?;
        // Nobody can look before we have answered.
        if let (Users::Range { base }, Some(furniture)) = (launch.users, &standby.furniture) {
            furniture::give_to(furniture, base)?;
        }
        Ok(control)
    }
}

/// A first process that cannot take what it is handed has failed, and its last word says why.
fn hand_over(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
        {
            Ok(())
        }
        other => other.step("send the plan"),
    }
}

impl Pending {
    pub(crate) fn line(&self) -> BorrowedFd<'_> {
        self.standby.line.as_fd()
    }

    /// How long it may still take.
    pub(crate) fn patience(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Hears what the first process says next.
    pub(crate) fn hear(mut self) -> Progress {
        let step = "start the guest";
        let failure = match (line::hear(self.line()), self.ready) {
            (Ok(Some(Word::Ready)), _) => {
                self.ready = Readiness::AboutToBecomeGuest;
                return Progress::Pending(self);
            }
            (Ok(None), Readiness::AboutToBecomeGuest) => return Progress::Settled(self.launched()),
            (Ok(Some(Word::Failed(failure))), _) => failure,
            (Ok(None), Readiness::Building) => refused(step, "the first process has ended"),
            (Err(error), _) => match Err::<(), _>(error).step(step) {
                Err(failure) => failure,
                Ok(()) => refused(step, "the first process cannot be heard"),
            },
        };
        Progress::Settled(Answer::Failed(failure))
    }

    /// It has taken too long. It is killed, and its socket removed.
    pub(crate) fn give_up(self) -> Answer {
        drop(self);
        Answer::Failed(Failure {
            step: "start the guest".to_owned(),
            errno: Errno::TIMEDOUT.raw_os_error(),
            reason: format!("not done after {} seconds", PATIENCE.as_secs()),
        })
    }

    fn launched(self) -> Answer {
        let Self { standby, control, ready: _, deadline: _ } = self;
        let pid = standby.pid.as_raw_nonzero().get().cast_unsigned();
        let started = standby.started;
        control.keep();
        standby.let_go();
        Answer::Launched { pid, started }
    }
}

pub(crate) fn check(launch: &Launch, power: Power) -> Result<(), Failure> {
    let step = "read the plan";
    match (launch.users, power) {
        (Users::Range { .. }, Power::Ordinary) => {
            return Err(refused(step, "a range of ids needs root"));
        }
        (Users::Single, Power::Root) => {
            return Err(refused(step, "root itself is never given to a sandbox; it has ranges"));
        }
        (Users::Range { base }, Power::Root) if !is_free(base) => {
            return Err(refused(step, "the range holds ids of the host, or of stored files"));
        }
        (Users::Range { .. }, Power::Root) | (Users::Single, Power::Ordinary) => {}
    }
    if launch.layers.is_empty() {
        return Err(refused(step, "no layers"));
    }
    // The socket and the root are beside them.
    if launch.binds.len() + 2 > descriptors::MOST {
        return Err(refused(step, "too many binds"));
    }
    Ok(())
}

/// Whether a range of ids touches neither those of the host's users, nor those that files are stored with, nor those that
/// own user namespaces.
fn is_free(base: u32) -> bool {
    let Some(end) = base.checked_add(IDS) else { return false };
    let is_low = base < IDS;
    let is_ours = base <= OWNERS + IDS && end > STORED_IDS;
    !is_low && !is_ours
}

pub(crate) fn join(pid: Pid, groups: &[String]) -> Result<(), Failure> {
    for group in groups {
        let path = format!("{group}/cgroup.procs");
        fs::write(&path, pid.as_raw_nonzero().to_string())
            .step_on("join the control groups", &path)?;
    }
    Ok(())
}
