//! A sandbox whose walls another program builds: an OCI runtime.
//!
//! ```text
//!   server ──plan──▶ this process ──ids, mounts──▶ carrier (first process) ──▶ runtime ──▶ guest
//!     │                                               │  relay  ◀──pipes──────────────────┘
//!     └──────────control socket───────────────────────┘
//! ```
//!
//! The runtime itself runs in a box: a user, mount, pid, network, ipc and uts namespace with the ids of the sandbox, so
//! that not even a broken runtime is root on the host. What it writes down about the sandbox lies in memory, in that
//! box. The first process of the box keeps the line to the server; when it dies, everything dies with it, and the host
//! is left as after any other sandbox.
//!
//! | module | what it does |
//! |---|---|
//! | [`home`] | what the box shows of the host: programs and libraries, a few devices |
//! | [`carrier`] | the first process: moves into the box, starts the runtime |
//! | [`relay`] | carries frames between the server and the guest |
//! | [`frames`] | finds whole frames in a stream |

mod carrier;
mod frames;
mod home;
mod relay;

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use launcher::{
    frame,
    plan::{Answer, Failure, Hosted, IDS, Launch, Users},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Signal, Uid, pidfd_send_signal},
    thread::set_thread_res_uid,
};

use crate::{
    control::Control,
    failure::{Step, refused},
    idmap::Maps,
    launch,
    line::{self, Word},
    mounts::{
        binds::{self, Nothing},
        root,
    },
    seccomp::Filters,
    standby::{self, OWNERS, Power},
    syscalls::{self, Side},
    users,
};

use self::{carrier::Newcomer, home::Home};

const NAMESPACES: [i32; 5] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
];

/// Runtimes are slow, and slower on a busy host.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// How long a killed process may take to go.
const FAREWELL: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Takes one plan, answers it, and is done.
pub(crate) fn serve(mut server: UnixStream, guest: OwnedFd) -> io::Result<()> {
    let Some(hosted) = frame::read::<Hosted>(&mut server)? else { return Ok(()) };
    match make(&hosted, guest) {
        Err(failure) => frame::write(&mut server, &Answer::Failed(failure)),
        Ok((answer, carrier)) => {
            let told = frame::write(&mut server, &answer);
            if told.is_err() {
                // Whoever wanted it has gone, and nobody else knows of it.
                end(&carrier);
            }
            told
        }
    }
}

/// Gives the answer, and a handle to the first process.
fn make(hosted: &Hosted, guest: OwnedFd) -> Result<(Answer, OwnedFd), Failure> {
    let plan = &hosted.launch;
    launch::check(plan, Power::of_this_process())?;
    let Users::Range { base } = plan.users else {
        return Err(refused("read the plan", "a runtime needs a range of ids, and so root"));
    };
    let (control, listener) = Control::listen(&plan.control)?;
    let mut maps = Maps::default();
    let root = root::mapped(plan, base, &mut maps)?;
    let nothing = Nothing::make(maps.wants)?;
    let shown = plan.binds.iter().map(|bind| binds::shallow(bind, &nothing));
    let binds = shown.collect::<Result<Vec<_>, _>>()?;
    let home = Home::of_this_host(base)?;
    let (ours, theirs) = line::open().step("make a line")?;
    let filters = Filters::compile();
    let (pid, handle) = match clone(base)? {
        Side::Parent { pid, handle } => (pid, handle),
        Side::Child => {
            let newcomer = Newcomer { hosted, guest, listener, home, root, binds, filters };
            carrier::live(&theirs, newcomer)
        }
    };
    drop((theirs, listener, home, root, binds, nothing));
    let made = (|| {
        let started = standby::started(pid)?;
        prepare(pid, base, plan)?;
        line::nod(&ours).step("start the runtime")?;
        hear(&ours)?;
        Ok(Answer::Launched { pid: pid.as_raw_nonzero().get().cast_unsigned(), started })
    })();
    match made {
        Ok(answer) => {
            control.keep();
            Ok((answer, handle))
        }
        Err(failure) => {
            // What it said last is the cause of what we saw.
            let failure = line::last_word(&ours).unwrap_or(failure);
            end(&handle);
            Err(failure)
        }
    }
}

/// As with other sandboxes, the owner of the user namespace is an id of its own.
fn clone(base: u32) -> Result<Side, Failure> {
    let step = "make the namespaces";
    let owner = Uid::from_raw(OWNERS + base / IDS % IDS);
    set_thread_res_uid(None, owner, None).step(step)?;
    let flags = NAMESPACES.iter().fold(0, |all, &one| all | u64::try_from(one).unwrap_or_default());
    let side = syscalls::clone_into(flags);
    if !matches!(side, Ok(Side::Child)) {
        set_thread_res_uid(None, Uid::ROOT, None).step(step)?;
    }
    side.step(step)
}

fn prepare(pid: rustix::process::Pid, base: u32, plan: &Launch) -> Result<(), Failure> {
    users::give_range(pid, base)?;
    users::write(pid, "oom_score_adj", "500")?;
    launch::join(pid, &plan.control_groups)
}

/// Waits until the guest is up.
fn hear(line: &OwnedFd) -> Result<(), Failure> {
    let step = "start the runtime";
    let mut polled = [PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)];
    if poll(&mut polled, Some(&PATIENCE)).step(step)? == 0 {
        return Err(refused(step, format!("not done after {} seconds", PATIENCE.tv_sec)));
    }
    match line::hear(line).step(step)? {
        Some(Word::Ready) => Ok(()),
        Some(Word::Failed(failure)) => Err(failure),
        None => Err(refused(step, "the first process has ended")),
    }
}

fn end(carrier: &OwnedFd) {
    let _gone_already = pidfd_send_signal(carrier, Signal::KILL);
    let mut polled = [PollFd::from_borrowed_fd(carrier.as_fd(), PollFlags::IN)];
    let _late = poll(&mut polled, Some(&FAREWELL));
}
