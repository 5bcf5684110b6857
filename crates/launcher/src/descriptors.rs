//! Descriptors that travel with a message.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// How many the kernel lets pass in one message.
pub const MOST: usize = 253;

/// Sends them, with a byte that means nothing: the kernel carries descriptors only with at least one.
pub fn send(socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut more = SendAncillaryBuffer::new(&mut space);
    if !more.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut more, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for them. None at all when the other side has given up.
pub fn receive(socket: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut more = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut more, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in more.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(descriptors)
}
