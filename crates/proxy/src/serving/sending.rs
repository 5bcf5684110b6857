//! The request, on its way to the host.

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{
    attempt::Outgoing,
    body::{BodyFault, BodyReader, Encoding},
    exchange::Counts,
    intake::Intake,
    limits,
    passage::{Passage, Stopped},
    talk::say,
};

/// All that takes part in sending one request.
pub(super) struct Sending<'a, R, W> {
    pub(super) intake: &'a mut Intake<R>,
    pub(super) body: &'a mut BodyReader,
    /// The whole body, when it was read before.
    pub(super) held: Option<Bytes>,
    /// What was read ahead and may be sent.
    pub(super) ready: &'a mut Vec<u8>,
    pub(super) passage: &'a mut Passage,
    pub(super) write: &'a mut W,
    pub(super) counts: &'a Counts,
}

#[derive(Debug)]
pub(super) enum SendFault {
    /// The program has gone; nobody is left to answer.
    Left,
    /// The host does not take it.
    Host,
    /// The program's body cannot be read.
    Program(BodyFault),
    Slow,
    Stopped(Stopped),
    Budget,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Sending<'_, R, W> {
    pub(super) async fn run(self, outgoing: &Outgoing<'_>) -> Result<(), SendFault> {
        let Sending { intake, body, held, ready, passage, write, counts } = self;
        let most = outgoing.grant.most_up;
        let encoding = Encoding::of(outgoing.dressed.body);
        let mut out = outgoing.dressed.encode();
        let count = |bytes: usize| {
            if counts.add_up(bytes) > most { Err(SendFault::Budget) } else { Ok(()) }
        };
        count(out.len() + ready.len())?;
        encoding.piece(&std::mem::take(ready), &mut out);
        if let Some(held) = held {
            count(held.len())?;
            let given = passage.read(held).map_err(SendFault::Stopped)?;
            encoding.piece(given.as_ref(), &mut out);
        }
        loop {
            // What is there already goes in the same write as the head.
            let is_more_here = !body.is_done() && !intake.buffered().is_empty();
            if !out.is_empty() && !body.is_done() && !is_more_here {
                say(write, &out).await.map_err(|_gone| SendFault::Host)?;
                out.clear();
            }
            let piece = match timeout(limits::BODY, body.next(intake)).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(fault)) => return Err(SendFault::Program(fault)),
                Err(_late) => return Err(SendFault::Slow),
            };
            count(piece.len())?;
            let given = passage.read(piece).map_err(SendFault::Stopped)?;
            encoding.piece(given.as_ref(), &mut out);
            if !out.is_empty() {
                say(write, &out).await.map_err(|_gone| SendFault::Host)?;
                out.clear();
            }
        }
        let last = passage.finish().map_err(SendFault::Stopped)?;
        encoding.piece(&last, &mut out);
        encoding.end(&mut out);
        if out.is_empty() {
            Ok(())
        } else {
            say(write, &out).await.map_err(|_gone| SendFault::Host)
        }
    }
}
