//! Puts a mount in its place.

use std::os::fd::AsFd;

use rustix::{
    io::Result,
    mount::{MoveMountFlags, move_mount},
};

/// Attaches a detached mount, or moves an attached one with all that is below.
pub(crate) fn attach(tree: impl AsFd, target: impl AsFd) -> Result<()> {
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", target, "", both)
}
