//! The root: an overlay of the layers, with the writable directory on top.
//!
//! `volatile`, because nothing in a sandbox survives a crash of the host anyway, and without it each end of a sandbox would
//! write out everybody's dirty pages.

use std::{
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use launcher::plan::{Failure, Launch};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, StatxAttributes, StatxFlags, openat, statx},
    io::Errno,
    mount::MountAttrFlags,
};

use super::{Setting, layers};
use crate::{
    attached::Stack,
    failure::{Step, refused},
    idmap,
    idmap::{Maps, Views},
};

const STEP: &str = "mount the root";

/// Made by the host's root: layers and writable directory are shown with the ids of the range.
pub(crate) fn mapped(launch: &Launch, base: u32, maps: &mut Maps) -> Result<OwnedFd, Failure> {
    if maps.wants == Views::Attached {
        return of_attached(launch, base, maps);
    }
    match of_detached(launch, base, maps) {
        // So do kernels refuse views that are attached nowhere; but others may have other reasons.
        Err(failure) if failure.errno == Errno::INVAL.raw_os_error() => {
            let root = of_attached(launch, base, maps).map_err(|_the_same| failure)?;
            maps.wants = Views::Attached;
            Ok(root)
        }
        made => made,
    }
}

/// Of views that are kept: ranges and layers are used again and again.
fn of_detached(launch: &Launch, base: u32, maps: &mut Maps) -> Result<OwnedFd, Failure> {
    let mut kept = Vec::new();
    for layer in &launch.layers {
        kept.push(maps.layer(base, layer)?);
    }
    let layers: Vec<_> = kept.iter().map(|layer| by_descriptor(layer)).collect();
    // Where writable directories lie is mapped once. To close a mapping takes milliseconds when the host is busy.
    if let Some((home, name)) = home_of(&launch.writable) {
        let home = maps.layer(base, home)?;
        return overlay(
            &launch.writable,
            &layers,
            &format!("{}/{name}", by_descriptor(&home)),
            &[],
        );
    }
    let step = "map the writable directory";
    let writable = idmap::mapped(&launch.writable, &*maps.stored(base)?, step)?;
    overlay(&launch.writable, &layers, &by_descriptor(&writable), &[])
}

/// Of views that are made for it.
fn of_attached(launch: &Launch, base: u32, maps: &mut Maps) -> Result<OwnedFd, Failure> {
    let stored = maps.stored(base)?;
    let mut stack = Stack::default();
    for layer in launch.layers.iter().chain([&launch.writable]) {
        stack.add(idmap::mapped(layer, &stored, "map a layer")?)?;
    }
    let paths: Vec<_> = stack.views().iter().map(by_descriptor).collect();
    let Some((writable, layers)) = paths.split_last() else {
        return Err(refused(STEP, "there is no layer"));
    };
    overlay(&launch.writable, layers, writable, &[])
}

/// The directory that a writable directory lies in, and its name there; unless something is mounted at it.
fn home_of(writable: &str) -> Option<(&str, &str)> {
    let (home, name) = writable.rsplit_once('/')?;
    let is_plain = !home.is_empty() && !matches!(name, "" | "." | "..");
    let about = statx(CWD, writable, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MODE).ok()?;
    let is_mounted = about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    (is_plain && !is_mounted).then_some((home, name))
}

/// Made by the sandbox's own first process: nothing is mapped, and the overlay's notes are user attributes.
pub(crate) fn plain(launch: &Launch) -> Result<OwnedFd, Failure> {
    // By descriptor here, too: the options of a mount can be read inside, and the host's paths are not for there.
    let open = |path: &String| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, path, flags, Mode::empty()).step_on(STEP, path)
    };
    let kept = launch.layers.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let writable = open(&launch.writable)?;
    let layers: Vec<_> = kept.iter().map(by_descriptor).collect();
    overlay(&launch.writable, &layers, &by_descriptor(&writable), &[Setting::Flag("userxattr")])
}

fn overlay(
    stored: &str,
    layers: &[String],
    writable: &str,
    more: &[Setting<'_>],
) -> Result<OwnedFd, Failure> {
    forget_last_mount(stored).step_on(STEP, stored)?;
    let upper = format!("{writable}/upper");
    let work = format!("{writable}/work");
    let mut settings = vec![
        Setting::Text("upperdir", &upper),
        Setting::Text("workdir", &work),
        Setting::Flag("volatile"),
        // Whatever this kernel's habit is: a file of a layer that is written by one of its names is another file from then on, so
        // that what is sealed does not change by a name outside.
        Setting::Text("index", "off"),
    ];
    settings.extend(more);
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    layers::overlay(layers, &settings, attributes).step(STEP)
}

/// A volatile overlay marks its work directory, and refuses to mount it again. For a sandbox that is resumed, what
/// was written is in the page cache or on the disk.
fn forget_last_mount(writable: &str) -> io::Result<()> {
    let mark = Path::new(writable).join("work/work/incompat/volatile");
    match fs::remove_dir_all(mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _removed_or_absent => Ok(()),
    }
}

fn by_descriptor(tree: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", tree.as_raw_fd())
}
