//! One job as its caller sees it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use guest::protocol::{Ask, CHUNK, ChannelId, ChannelState, Job, Size, Stream};
use tokio::sync::Notify;

use super::{Ended, Link, LinkError, wire::Begun};

/// A job that runs in a guest. Dropping it before its end kills it, with all that it started.
#[derive(Debug)]
pub(crate) struct Channel {
    link: Link,
    id: ChannelId,
    news: Arc<Notify>,
    sent: u64,
    over: AtomicBool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    Output(Stream, Vec<u8>),
    Ended(Ended),
}

impl Link {
    /// Begins a job. What the guest says about it is [`Channel::next`].
    pub(crate) fn open(&self, tag: &str, job: Job) -> Result<Channel, LinkError> {
        Ok(Channel::new(self.clone(), self.begin_new(tag, job)?))
    }

    /// Goes on with a job that was begun over an earlier connection.
    pub(crate) fn attach(&self, known: &ChannelState) -> Result<Channel, LinkError> {
        let mut channel = Channel::new(self.clone(), self.begin_again(known)?);
        channel.resume_input(known.input);
        Ok(channel)
    }
}

impl Channel {
    fn new(link: Link, Begun { id, news }: Begun) -> Self {
        Self { link, id, news, sent: 0, over: AtomicBool::new(false) }
    }

    /// What comes next. May be dropped and asked again without losing anything.
    pub(crate) async fn next(&self) -> Result<News, LinkError> {
        loop {
            let told = self.news.notified();
            let found = self.link.look(self.id, |inbox| {
                if let Some(Err(refusal)) = inbox.answered() {
                    return Some(Err(LinkError::Refused(refusal.clone())));
                }
                if let Some((stream, bytes)) = inbox.take() {
                    return Some(Ok((News::Output(stream, bytes), inbox.renew())));
                }
                // All of it was taken: the guest need not keep it.
                inbox.ended().map(|ended| Ok((News::Ended(ended.clone()), Some(inbox.credit()))))
            });
            match found {
                Ok(Some(Ok((news, credit)))) => {
                    if let Some((taken, upto)) = credit {
                        // A link that was lost meanwhile is told when there is nothing more to read.
                        let _ = self.link.send(&Ask::Credit { channel: self.id, taken, upto });
                    }
                    if matches!(news, News::Ended(_)) {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    return Ok(news);
                }
                Ok(Some(Err(error))) | Err(error) => {
                    self.over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                Ok(None) => told.await,
            }
        }
    }

    /// Waits until the guest takes input, and says how much.
    pub(crate) async fn room(&self) -> Result<usize, LinkError> {
        loop {
            let told = self.news.notified();
            let sent = self.sent;
            let room = self.link.look(self.id, |inbox| {
                let room = inbox.input_room(sent);
                (room > 0 || inbox.ended().is_some()).then_some(room)
            })?;
            match room {
                Some(room) => return Ok(usize::try_from(room).unwrap_or(CHUNK).min(CHUNK)),
                None => told.await,
            }
        }
    }

    pub(crate) fn input(&mut self, bytes: Vec<u8>) -> Result<(), LinkError> {
        let offset = self.sent;
        self.sent += bytes.len() as u64;
        self.note_input();
        self.link.send(&Ask::Input { channel: self.id, offset, bytes })
    }

    pub(crate) fn end_input(&self) -> Result<(), LinkError> {
        self.link.send(&Ask::EndInput { channel: self.id })
    }

    pub(crate) fn signal(&self, signal: i32) -> Result<(), LinkError> {
        self.link.send(&Ask::Signal { channel: self.id, signal })
    }

    pub(crate) fn resize(&self, size: Size) -> Result<(), LinkError> {
        self.link.send(&Ask::Resize { channel: self.id, size })
    }

    pub(crate) const fn id(&self) -> ChannelId {
        self.id
    }

    /// Input that an earlier connection has sent already.
    pub(super) const fn resume_input(&mut self, sent: u64) {
        self.sent = sent;
    }

    /// So that the guest can be held to it.
    fn note_input(&self) {
        let sent = self.sent;
        let _ = self.link.look(self.id, |inbox| {
            inbox.send_input(sent);
            Some(())
        });
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.link.leave(self.id);
        if !*self.over.get_mut() {
            // If the link is lost, the guest is gone, or will be killed with its sandbox.
            let _ = self.link.send(&Ask::Kill { channel: self.id });
            let _ = self.link.send(&Ask::Forget { channel: self.id });
        }
    }
}
