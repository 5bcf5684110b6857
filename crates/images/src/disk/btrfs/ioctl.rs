//! The questions and orders that btrfs takes only as ioctls, each as a safe function.
//!
//! All `unsafe` of this room is here. The shapes are those of `linux/btrfs.h`; the tests compare their sizes with the opcodes that
//! the header gives.
#![expect(unsafe_code, reason = "btrfs has no other door, and no well-kept wrapper")]

use std::os::fd::{AsFd, AsRawFd};

use rustix::{
    io::Errno,
    ioctl::{Getter, NoArg, Opcode, Setter, Updater, ioctl, opcode},
};

const MAGIC: u8 = 0x94;

#[repr(C)]
struct Named {
    fd: i64,
    name: [u8; 4088],
}

#[repr(C)]
struct NamedSnapshot {
    fd: i64,
    transid: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

#[repr(C)]
struct Quota {
    command: u64,
    status: u64,
}

#[repr(C)]
struct QgroupLimit {
    /// The id of a subvolume; zero: that of the one that was asked.
    qgroup: u64,
    flags: u64,
    most_referenced: u64,
    most_exclusive: u64,
    reserved_referenced: u64,
    reserved_exclusive: u64,
}

#[repr(C)]
struct QgroupCreate {
    create: u64,
    qgroup: u64,
}

#[repr(C)]
struct RawSubvolume {
    id: u64,
    name: [u8; 256],
    parent_id: u64,
    directory_id: u64,
    generation: u64,
    flags: u64,
    uuid: [u8; 16],
    parent_uuid: [u8; 16],
    received_uuid: [u8; 16],
    changed_in: u64,
    created_in: u64,
    sent_in: u64,
    received_in: u64,
    times: [[u64; 2]; 4],
    reserved: [u64; 8],
}

#[repr(C)]
struct RawFileSystem {
    most_devices: u64,
    devices: u64,
    id: [u8; 16],
    rest: [u8; 992],
}

const RESIZE: Opcode = opcode::write::<Named>(MAGIC, 3);
const SYNC: Opcode = opcode::none(MAGIC, 8);
const SUBVOLUME_CREATE: Opcode = opcode::write::<Named>(MAGIC, 14);
const SUBVOLUME_DESTROY: Opcode = opcode::write::<Named>(MAGIC, 15);
const SNAPSHOT_CREATE: Opcode = opcode::write::<NamedSnapshot>(MAGIC, 23);
const GET_FLAGS: Opcode = opcode::read::<u64>(MAGIC, 25);
const SET_FLAGS: Opcode = opcode::write::<u64>(MAGIC, 26);
const FILE_SYSTEM: Opcode = opcode::read::<RawFileSystem>(MAGIC, 31);
const QUOTA: Opcode = opcode::read_write::<Quota>(MAGIC, 40);
const QGROUP_CREATE: Opcode = opcode::write::<QgroupCreate>(MAGIC, 42);
/// The header calls it a read, though it writes.
const QGROUP_LIMIT: Opcode = opcode::read::<QgroupLimit>(MAGIC, 43);
const SUBVOLUME: Opcode = opcode::read::<RawSubvolume>(MAGIC, 60);

const READ_ONLY: u64 = 1 << 1;
const LIMIT_REFERENCED: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotas {
    /// Extents belong to whom they were written for: cheap. Since Linux 6.7.
    Simple,
    /// Extents are followed through every snapshot: dear.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subvolume {
    pub(super) id: u64,
    pub(super) uuid: [u8; 16],
    /// The transaction that last changed anything in it.
    pub(super) changed_in: u64,
}

fn bytes_of<const N: usize>(name: &str) -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    // One zero must be left at the end.
    let room = bytes.get_mut(..name.len()).filter(|_| name.len() < N).ok_or(Errno::NAMETOOLONG)?;
    room.copy_from_slice(name.as_bytes());
    Ok(bytes)
}

/// Writes everything out, and wakes the thread of the kernel that drops destroyed subvolumes.
pub(super) fn sync(file_system: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the opcode takes nothing.
    unsafe { ioctl(file_system, NoArg::<SYNC>::new()) }
}

/// Takes all of the device, which has grown.
pub(super) fn grow(file_system: impl AsFd) -> Result<(), Errno> {
    let named = Named { fd: 0, name: bytes_of("max")? };
    // SAFETY: the opcode takes a `btrfs_ioctl_vol_args`, which `Named` is, and only reads it.
    unsafe { ioctl(file_system, Setter::<RESIZE, Named>::new(named)) }
}

pub(super) fn create_subvolume(parent: impl AsFd, name: &str) -> Result<(), Errno> {
    let named = Named { fd: 0, name: bytes_of(name)? };
    // SAFETY: the opcode takes a `btrfs_ioctl_vol_args`, which `Named` is, and only reads it.
    unsafe { ioctl(parent, Setter::<SUBVOLUME_CREATE, Named>::new(named)) }
}

pub(super) fn destroy_subvolume(parent: impl AsFd, name: &str) -> Result<(), Errno> {
    let named = Named { fd: 0, name: bytes_of(name)? };
    // SAFETY: the opcode takes a `btrfs_ioctl_vol_args`, which `Named` is, and only reads it.
    unsafe { ioctl(parent, Setter::<SUBVOLUME_DESTROY, Named>::new(named)) }
}

/// Copies the subvolume `from`, as it is at one moment, to `name` in `parent`.
pub(super) fn snapshot(from: impl AsFd, parent: impl AsFd, name: &str) -> Result<(), Errno> {
    let fd = i64::from(from.as_fd().as_raw_fd());
    let named = NamedSnapshot { fd, transid: 0, flags: 0, unused: [0; 4], name: bytes_of(name)? };
    // SAFETY: the opcode takes a `btrfs_ioctl_vol_args_v2`, which `NamedSnapshot` is, and only reads it. Its descriptor is
    // borrowed from `from`, which lives until the call returns.
    unsafe { ioctl(parent, Setter::<SNAPSHOT_CREATE, NamedSnapshot>::new(named)) }
}

pub(super) fn is_read_only(subvolume: impl AsFd) -> Result<bool, Errno> {
    // SAFETY: the opcode fills in one `u64`.
    let flags = unsafe { ioctl(subvolume, Getter::<GET_FLAGS, u64>::new()) }?;
    Ok(flags & READ_ONLY != 0)
}

pub(super) fn close_for_writing(subvolume: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the opcode reads one `u64`.
    unsafe { ioctl(subvolume, Setter::<SET_FLAGS, u64>::new(READ_ONLY)) }
}

pub(super) fn open_for_writing(subvolume: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the opcode reads one `u64`.
    unsafe { ioctl(subvolume, Setter::<SET_FLAGS, u64>::new(0)) }
}

pub(super) fn file_system_id(file_system: impl AsFd) -> Result<[u8; 16], Errno> {
    // Some of the answer is a question too: what more to tell.
    let mut raw = RawFileSystem { most_devices: 0, devices: 0, id: [0; 16], rest: [0; 992] };
    // SAFETY: the opcode reads and fills in a `btrfs_ioctl_fs_info_args`, which `RawFileSystem` is: integers only.
    unsafe { ioctl(file_system, Updater::<FILE_SYSTEM, RawFileSystem>::new(&mut raw)) }?;
    Ok(raw.id)
}

pub(super) fn enable_quotas(file_system: impl AsFd, quotas: Quotas) -> Result<(), Errno> {
    let command = match quotas {
        Quotas::Full => 1,
        Quotas::Simple => 4,
    };
    let mut quota = Quota { command, status: 0 };
    // SAFETY: the opcode takes a `btrfs_ioctl_quota_ctl_args`, which `Quota` is, and may write to it.
    unsafe { ioctl(file_system, Updater::<QUOTA, Quota>::new(&mut quota)) }
}

/// Limits what a subvolume itself may refer to: the one with this id, or for zero the one that is asked.
pub(super) fn limit(asked: impl AsFd, subvolume: u64, bytes: u64) -> Result<(), Errno> {
    let limit = QgroupLimit {
        qgroup: subvolume,
        flags: LIMIT_REFERENCED,
        most_referenced: bytes,
        most_exclusive: 0,
        reserved_referenced: 0,
        reserved_exclusive: 0,
    };
    // SAFETY: the opcode takes a `btrfs_ioctl_qgroup_limit_args`, which `QgroupLimit` is, and only reads it.
    unsafe { ioctl(asked, Setter::<QGROUP_LIMIT, QgroupLimit>::new(limit)) }
}

/// Forgets the account of a subvolume that is gone.
pub(super) fn remove_qgroup(file_system: impl AsFd, subvolume: u64) -> Result<(), Errno> {
    let remove = QgroupCreate { create: 0, qgroup: subvolume };
    // SAFETY: the opcode takes a `btrfs_ioctl_qgroup_create_args`, which `QgroupCreate` is, and only reads it.
    unsafe { ioctl(file_system, Setter::<QGROUP_CREATE, QgroupCreate>::new(remove)) }
}

pub(super) fn subvolume(at: impl AsFd) -> Result<Subvolume, Errno> {
    // SAFETY: the opcode fills in a `btrfs_ioctl_get_subvol_info_args`, which `RawSubvolume` is: integers only.
    let raw = unsafe { ioctl(at, Getter::<SUBVOLUME, RawSubvolume>::new()) }?;
    Ok(Subvolume { id: raw.id, uuid: raw.uuid, changed_in: raw.changed_in })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opcodes_are_those_of_the_header() {
        let ours = [
            RESIZE,
            SYNC,
            SUBVOLUME_CREATE,
            SUBVOLUME_DESTROY,
            SNAPSHOT_CREATE,
            GET_FLAGS,
            SET_FLAGS,
            FILE_SYSTEM,
            QUOTA,
            QGROUP_CREATE,
            QGROUP_LIMIT,
            SUBVOLUME,
        ];
        let header: [Opcode; 12] = [
            0x5000_9403,
            0x0000_9408,
            0x5000_940e,
            0x5000_940f,
            0x5000_9417,
            0x8008_9419,
            0x4008_941a,
            0x8400_941f,
            0xc010_9428,
            0x4010_942a,
            0x8030_942b,
            0x81f8_943c,
        ];
        assert_eq!(ours, header);
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        assert_eq!(bytes_of::<4>("abcd"), Err(Errno::NAMETOOLONG));
        assert_eq!(bytes_of::<4>("abc"), Ok(*b"abc\0"));
    }
}
