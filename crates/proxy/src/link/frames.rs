//! Frames over a unix stream: a length of four bytes, little endian, and a message in postcard.
//!
//! Descriptors travel with the first byte of the frame that they belong to, and are taken in the order in which they came. A frame
//! that is too long, is not a message, or has something left over ends the connection: there is nothing to resynchronise on.

use std::{
    collections::VecDeque,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{io::Interest, net::UnixStream};

use super::LinkError;
use crate::ask::{
    ORDER_LIMIT, QUESTION_LIMIT, ToBroker, ToGateway,
    bounds::{self, OutOfBounds},
};

/// The most descriptors of one message, and so the most doors of one sandbox. The kernel's own limit is 253.
pub const DOORS_LIMIT: usize = 128;

/// Bytes before a message.
const PREFIX: usize = 4;

/// More than this is given back after a message.
const ROOMY: usize = 1024 * 1024;

/// How much is read at once.
const GULP: usize = 64 * 1024;

/// What goes one way.
pub(super) trait Message: Serialize + DeserializeOwned {
    /// The longest, in bytes.
    const LIMIT: usize;

    /// Whether all of it is within bounds, for who hears it.
    fn check(&self) -> Result<(), OutOfBounds>;
}

impl Message for ToBroker {
    const LIMIT: usize = QUESTION_LIMIT;

    fn check(&self) -> Result<(), OutOfBounds> {
        bounds::check(self)
    }
}

impl Message for ToGateway {
    const LIMIT: usize = ORDER_LIMIT;

    /// The broker is believed.
    fn check(&self) -> Result<(), OutOfBounds> {
        Ok(())
    }
}

const fn limit<M: Message>(_of: &M) -> usize {
    M::LIMIT
}

/// Reads one message whole, strictly.
pub(super) fn decode<M: Message>(bytes: &[u8]) -> Result<M, LinkError> {
    let (message, left) = postcard::take_from_bytes::<M>(bytes)
        .map_err(|error| LinkError::Malformed(error.to_string()))?;
    if !left.is_empty() {
        return Err(LinkError::Malformed(format!("{} bytes are left over", left.len())));
    }
    message.check().map_err(|error| LinkError::Malformed(error.to_string()))?;
    Ok(message)
}

/// One message, ready for the way.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Frame {
    pub(super) fn new(
        message: &impl Message,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Self, LinkError> {
        if descriptors.len() > DOORS_LIMIT {
            return Err(LinkError::Doors { count: descriptors.len() });
        }
        // What is too much is refused here, for one program; heard by the other end, it would cost everybody the connection.
        message.check()?;
        let mut bytes = vec![0; PREFIX];
        bytes = postcard::to_extend(message, bytes)
            .map_err(|error| LinkError::Malformed(error.to_string()))?;
        let length = bytes.len() - PREFIX;
        if length > limit(message) {
            return Err(LinkError::TooLong { length });
        }
        let prefix = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        for (place, byte) in bytes.iter_mut().zip(prefix) {
            *place = byte;
        }
        Ok(Self { bytes, descriptors })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether another frame may be sent in the same write.
    pub(super) fn is_plain(&self) -> bool {
        self.descriptors.is_empty()
    }

    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.bytes);
    }

    /// Sends the frame whole.
    pub(super) async fn send(&self, stream: &UnixStream) -> io::Result<()> {
        let descriptors: Vec<BorrowedFd<'_>> =
            self.descriptors.iter().map(OwnedFd::as_fd).collect();
        send_all(stream, &self.bytes, &descriptors).await
    }
}

/// Sends all bytes; `descriptors` go with the first of them.
pub(super) async fn send_all(
    stream: &UnixStream,
    mut bytes: &[u8],
    mut descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_io(Interest::WRITABLE, || send_some(stream, bytes, descriptors)) {
            Ok(sent) => {
                bytes = bytes.get(sent..).unwrap_or_default();
                descriptors = &[];
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn send_some(
    stream: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DOORS_LIMIT))];
    let mut more = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !more.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut more, SendFlags::NOSIGNAL)?)
}

/// Whether descriptors are taken from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Descriptors {
    Taken,
    /// The kernel closes what comes.
    Refused,
}

/// Reads frames. Losing the future of [`Reader::next`] loses nothing.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Arc<UnixStream>,
    descriptors: Descriptors,
    gulp: Vec<u8>,
    bytes: Vec<u8>,
    /// How much of `bytes` was already given out.
    used: usize,
    arrived: VecDeque<OwnedFd>,
}

impl Reader {
    pub(super) fn new(stream: Arc<UnixStream>, descriptors: Descriptors) -> Self {
        Self {
            stream,
            descriptors,
            gulp: vec![0; GULP],
            bytes: Vec::new(),
            used: 0,
            arrived: VecDeque::new(),
        }
    }

    /// The next message. `None` when the other end has closed between two messages.
    pub(super) async fn next<M: Message>(&mut self) -> Result<Option<M>, LinkError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            if self.fill().await? == 0 {
                return if self.bytes.len() == self.used {
                    Ok(None)
                } else {
                    Err(LinkError::Malformed("the last message is cut off".to_owned()))
                };
            }
        }
    }

    /// The descriptors that came with the message that was read last, which says how many there are.
    pub(super) fn take_descriptors(&mut self, count: usize) -> Result<Vec<OwnedFd>, LinkError> {
        if count > DOORS_LIMIT || count > self.arrived.len() {
            return Err(LinkError::Doors { count });
        }
        Ok(self.arrived.drain(..count).collect())
    }

    fn take<M: Message>(&mut self) -> Result<Option<M>, LinkError> {
        let waiting = self.bytes.get(self.used..).unwrap_or_default();
        let Some((prefix, rest)) = waiting.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*prefix)).unwrap_or(usize::MAX);
        if length > M::LIMIT {
            return Err(LinkError::TooLong { length });
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = decode(message)?;
        self.used += PREFIX + length;
        Ok(Some(message))
    }

    async fn fill(&mut self) -> Result<usize, LinkError> {
        self.bytes.drain(..self.used);
        self.used = 0;
        // A message as long as the longest is rare; its memory is not kept for the next.
        if self.bytes.is_empty() && self.bytes.capacity() > ROOMY {
            self.bytes = Vec::new();
        }
        loop {
            self.stream.readable().await?;
            let stream = Arc::clone(&self.stream);
            match stream.try_io(Interest::READABLE, || self.receive()) {
                Ok(count) => {
                    self.bytes.extend_from_slice(self.gulp.get(..count).unwrap_or_default());
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DOORS_LIMIT))];
        let mut more = match self.descriptors {
            Descriptors::Taken => RecvAncillaryBuffer::new(&mut space),
            Descriptors::Refused => RecvAncillaryBuffer::default(),
        };
        let received = recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(&mut self.gulp)],
            &mut more,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        for message in more.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                self.arrived.extend(rights);
            }
        }
        // At most two messages with doors overlap in one read, so more waiting than that belong to no message.
        if self.arrived.len() > 2 * DOORS_LIMIT {
            return Err(io::Error::other("more descriptors came than messages need"));
        }
        Ok(received.bytes)
    }
}
