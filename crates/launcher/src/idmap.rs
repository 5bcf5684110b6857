//! Shows files to a sandbox with its own ids, whatever ids they are stored with.
//!
//! A mount takes its mapping from a user namespace. The namespaces and the mapped layers of a range of ids are kept
//! open, because ranges are used again and again; the least recently used go first.

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    rc::Rc,
};

use launcher::plan::{Failure, IDS, MOUNTER, STORED_IDS};
use rustix::{
    mount::{OpenTreeFlags, open_tree},
    process::{Signal, pidfd_send_signal},
};

use crate::{
    failure::Step,
    line,
    syscalls::{self, MountAttributes, Side},
    users,
};

/// How many ranges of ids are remembered.
const RANGES: usize = 256;

/// How many descriptors of layers are kept open over all ranges. Far below the usual limit of open files.
const OPEN_LAYERS: usize = 4_096;

/// What is kept open.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    ranges: HashMap<u32, Range>,
    /// The most recently used is last.
    used: VecDeque<u32>,
    open_layers: usize,
    pub(crate) wants: Views,
}

/// What this kernel makes overlays of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Views {
    /// Those that are attached nowhere, and can be kept; until it says otherwise.
    #[default]
    Detached,
    /// See [`crate::attached`].
    Attached,
}

/// What is kept open for one range of ids.
#[derive(Debug)]
struct Range {
    /// For files that are stored with ids from [`STORED_IDS`] on.
    stored: Rc<OwnedFd>,
    layers: HashMap<String, Rc<OwnedFd>>,
}

impl Maps {
    /// The mapping of stored files.
    pub(crate) fn stored(&mut self, base: u32) -> Result<Rc<OwnedFd>, Failure> {
        Ok(Rc::clone(&self.range(base)?.stored))
    }

    /// A layer, as a range of ids sees it.
    pub(crate) fn layer(&mut self, base: u32, layer: &str) -> Result<Rc<OwnedFd>, Failure> {
        let range = self.range(base)?;
        if let Some(tree) = range.layers.get(layer) {
            return Ok(Rc::clone(tree));
        }
        let tree = Rc::new(mapped(layer, &range.stored, "map a layer")?);
        range.layers.insert(layer.to_owned(), Rc::clone(&tree));
        self.open_layers += 1;
        self.forget_down_to(RANGES, OPEN_LAYERS);
        Ok(tree)
    }

    /// Lets go of a layer in every range.
    pub(crate) fn release(&mut self, layer: &str) {
        for range in self.ranges.values_mut() {
            if range.layers.remove(layer).is_some() {
                self.open_layers = self.open_layers.saturating_sub(1);
            }
        }
    }

    fn range(&mut self, base: u32) -> Result<&mut Range, Failure> {
        self.used.retain(|used| *used != base);
        if !self.ranges.contains_key(&base) {
            self.forget_down_to(RANGES - 1, OPEN_LAYERS);
        }
        let range = match self.ranges.entry(base) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(Range {
                stored: Rc::new(users_with(&format!(
                    "{STORED_IDS} {base} {IDS}\n{MOUNTER} 0 1\n"
                ))?),
                layers: HashMap::new(),
            }),
        };
        self.used.push_back(base);
        Ok(range)
    }

    fn forget_down_to(&mut self, ranges: usize, layers: usize) {
        while self.ranges.len() > ranges || (self.open_layers > layers && self.used.len() > 1) {
            let Some(oldest) = self.used.pop_front() else { return };
            if let Some(range) = self.ranges.remove(&oldest) {
                self.open_layers = self.open_layers.saturating_sub(range.layers.len());
            }
        }
    }
}

/// A private view of a directory, mapped.
pub(crate) fn mapped(path: &str, users: &OwnedFd, step: &str) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(rustix::fs::CWD, path, flags).step_on(step, path)?;
    let change = MountAttributes { idmap: Some(users.as_fd()), ..MountAttributes::default() };
    syscalls::mount_setattr(tree.as_fd(), &change).step_on(step, path)?;
    Ok(tree)
}

/// A user namespace with this map. A short-lived child carries it until we have it open.
fn users_with(map: &str) -> Result<OwnedFd, Failure> {
    let step = "make a mapping of users";
    let flags = u64::try_from(libc::CLONE_NEWUSER).unwrap_or_default();
    let (_ours, theirs) = line::open().step(step)?;
    match syscalls::clone_into(flags).step(step)? {
        Side::Child => {
            // Killed in between, we would leave it behind: with the server's socket, so that the server would wait for ever,
            // and with the lines of all standbys. So it holds nothing but its own, and goes when that closes.
            let _closed = syscalls::close_all_but(&mut [theirs.as_raw_fd()]);
            let _gone = line::await_nod(&theirs);
            syscalls::leave(0)
        }
        Side::Parent { pid, handle } => {
            let path = format!("/proc/{}/ns/user", pid.as_raw_nonzero());
            let users = users::write(pid, "uid_map", map)
                .and_then(|()| users::write(pid, "gid_map", map))
                .and_then(|()| File::open(&path).step_on(step, &path));
            pidfd_send_signal(&handle, Signal::KILL).step(step)?;
            Ok(users?.into())
        }
    }
}
