//! Overlays, as this kernel wants to be told about their layers.
//!
//! Since Linux 6.7 layers are named one by one, however many there are. Before, all of them stand in one text of at most 255
//! letters, which has room for 14. Such kernels refuse the new way only when everything is told, and complain in the host's log;
//! so they are known by their number.

use std::{os::fd::OwnedFd, sync::OnceLock};

use rustix::{
    io::{Errno, Result},
    mount::MountAttrFlags,
};

use super::{Setting, detached};

/// The kernel takes a text for a file system's setting up to here.
const LONGEST: usize = 255;

/// An overlay of these layers, the uppermost first, attached nowhere. They are named by descriptors, so none has a `:`.
pub(super) fn overlay(
    layers: &[String],
    more: &[Setting<'_>],
    attributes: MountAttrFlags,
) -> Result<OwnedFd> {
    let joined;
    let mut settings: Vec<_> = if are_named_one_by_one() {
        layers.iter().map(|layer| Setting::Text("lowerdir+", layer)).collect()
    } else {
        joined = layers.join(":");
        if joined.len() > LONGEST {
            return Err(Errno::TOOBIG);
        }
        vec![Setting::Text("lowerdir", &joined)]
    };
    settings.extend(more);
    detached("overlay", &settings, attributes)
}

fn are_named_one_by_one() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let kernel = rustix::system::uname();
        let release = kernel.release().to_string_lossy();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 7),
            // Who knows what this is: the newest is the likeliest.
            _unreadable => true,
        }
    })
}
