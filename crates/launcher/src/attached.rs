//! Mapped views for kernels that want them attached.
//!
//! An overlay is made of views that are attached nowhere, since Linux 6.15. Before, the kernel only takes what is attached in
//! our own mount namespace. So we get one of our own, in which the host's mounts come and go as they do outside, stack
//! the views upon its root for as long as making the overlay takes, and nobody ever sees them.

use std::{
    cell::Cell,
    os::fd::{AsRawFd as _, OwnedFd},
};

use launcher::plan::Failure;
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount},
    thread::UnshareFlags,
};

use crate::{attach::attach, failure::Step as _, syscalls};

/// Views that are attached one upon the other until this goes.
#[derive(Debug, Default)]
pub(crate) struct Stack(Vec<OwnedFd>);

impl Stack {
    /// Attaches a view, on top.
    pub(crate) fn add(&mut self, view: OwnedFd) -> Result<(), Failure> {
        let step = "attach a layer";
        move_out().step("make a mount namespace for layers")?;
        let root = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(step)?;
        attach(&view, &root).step(step)?;
        self.0.push(view);
        Ok(())
    }

    /// The views, the first that was added first.
    pub(crate) fn views(&self) -> &[OwnedFd] {
        &self.0
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // From the top: whatever is taken away takes along what lies upon it.
        while let Some(view) = self.0.pop() {
            let path = format!("/proc/self/fd/{}", view.as_raw_fd());
            // It goes with this process at the latest.
            let _ = unmount(path, UnmountFlags::DETACH);
        }
    }
}

/// Into a mount namespace of our own, once. What is mounted outside later arrives here; what we mount stays.
fn move_out() -> rustix::io::Result<()> {
    thread_local!(static IS_OUT: Cell<bool> = const { Cell::new(false) });
    if IS_OUT.get() {
        return Ok(());
    }
    syscalls::unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    IS_OUT.set(true);
    Ok(())
}
