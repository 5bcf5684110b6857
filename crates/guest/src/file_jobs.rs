//! The life of file operations: each is a child of its own that has become the user.

use std::os::fd::{AsRawFd, OwnedFd};

use guest::{
    protocol::{self, ChannelId, Ending, Refusal, Usage, Who},
    switchboard::Unsent,
};
use rustix::{
    io::{Errno, read},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Resource, Rlimit, WaitStatus, setrlimit},
};

use crate::{
    file_job::FileJob,
    files::{self, Failure},
    guest::Guest,
    identity::Identity,
    program::{leave_some, unblock},
    raw,
    work::{Kind, Work},
};

/// A child needs little; an archive that makes it want more is a hostile one.
const MEMORY: u64 = 256 * 1024 * 1024;

impl Guest {
    pub(crate) fn start_file_job(
        &mut self,
        id: ChannelId,
        who: Who,
        job: &protocol::FileJob,
    ) -> Result<(), Refusal> {
        let identity = self.identities.of(who)?;
        let work = fork(&identity, job).map_err(|errno| Refusal::System {
            what: "fork".to_owned(),
            errno: errno.raw_os_error(),
        })?;
        self.work.insert(id, work);
        self.board.started(id);
        Ok(())
    }

    pub(crate) fn file_children(&self) -> impl Iterator<Item = i32> {
        self.work.values().filter_map(|work| match &work.kind {
            Kind::File(job) => Some(job.child.as_raw_nonzero().get()),
            Kind::Program(_) | Kind::Forward(_) => None,
        })
    }

    /// A child died that is no supervisor: a file job's, or an orphan that only had to be reaped.
    pub(crate) fn file_child_ended(&mut self, child: Pid, status: WaitStatus) {
        let found = self.work.iter().find_map(|(id, work)| match &work.kind {
            Kind::File(job) if job.child == child => Some((*id, job)),
            Kind::File(_) | Kind::Program(_) | Kind::Forward(_) => None,
        });
        let Some((id, job)) = found else { return };
        if job.deadline.is_some() {
            return self.finish(id, Ending::Killed, Usage::default(), Unsent::Discard);
        }
        let ending = match (status.exit_status(), status.terminating_signal()) {
            (Some(0), _) => Ending::Exited(0),
            (_, Some(signal)) => Ending::Signaled(signal),
            (code, None) => why(&job.failure, code.unwrap_or(1)),
        };
        self.drain(id, ending, Usage::default());
    }
}

fn why(failure: &OwnedFd, code: i32) -> Ending {
    let mut said = Vec::with_capacity(files::LONGEST_FAILURE);
    let told = read(failure, rustix::buffer::spare_capacity(&mut said));
    let failure = told.ok().and_then(|_length| Failure::from_bytes(&said));
    failure.map_or(Ending::Exited(code), |Failure { what, errno }| Ending::Failed { what, errno })
}

#[expect(unsafe_code, reason = "fork")]
fn fork(identity: &Identity, job: &protocol::FileJob) -> Result<Work, Errno> {
    let (child_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
    let (out, child_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (failure, child_failure) = pipe_with(PipeFlags::CLOEXEC)?;
    leave_some(&child_failure)?;
    for end in [&input, &out, &failure] {
        unblock(end)?;
    }
    // SAFETY: this process has one thread, so that the child finds every lock free; it never returns from here.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let stdio = [child_input.as_raw_fd(), child_out.as_raw_fd(), child_failure.as_raw_fd()];
        be_the_child(stdio, identity, job);
    }
    let child = Pid::from_raw(child).filter(|_| child > 0).ok_or_else(|| {
        Errno::from_raw_os_error(
            std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN),
        )
    })?;
    let kind = Kind::File(FileJob { child, failure, deadline: None });
    Ok(Work::new(kind, Some(input), Some(out), None))
}

fn be_the_child(stdio: [i32; 3], identity: &Identity, job: &protocol::FileJob) -> ! {
    let outcome = take_place(stdio, identity)
        .map_err(|errno| Failure {
            what: "become the user".to_owned(),
            errno: errno.raw_os_error(),
        })
        .and_then(|()| files::run(job));
    let Err(failure) = outcome else { raw::exit(0) };
    let _nobody_listens = rustix::io::write(rustix::stdio::stderr(), &failure.to_bytes());
    raw::exit(1)
}

#[expect(unsafe_code, reason = "descriptors by number")]
fn take_place(stdio: [i32; 3], identity: &Identity) -> Result<(), Errno> {
    for (target, source) in (0..).zip(stdio) {
        // SAFETY: no pointers; this process owns its copies of all descriptors and never returns to the guest's code.
        unsafe {
            raw::call(libc::SYS_dup3, [usize::try_from(source).unwrap_or(usize::MAX), target, 0, 0])
        }?;
    }
    raw::close_from(3)?;
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) })?;
    identity.assume()?;
    raw::unblock_signals()
}
