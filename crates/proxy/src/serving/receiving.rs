//! The answer, on its way to the program.

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{
    attempt::{Fault, Outgoing, refused},
    body::{BodyReader, Encoding},
    dress::Reading,
    errand::Asked,
    exchange::Counts,
    intake::{HeadFault, Intake},
    limits,
    scrub::Scrubber,
    talk::say,
};
use crate::{
    ask::{RefusalCode, Upgrade},
    model::usage::Reader,
    readers::head::{AnswerTo, BodyLength, HeadError, Headers, Persistence, ResponseHead, Verb},
};
use domain::policy::Method;

/// All that takes part in receiving one answer.
pub(super) struct Receiving<'a, R, W> {
    pub(super) intake: &'a mut Intake<R>,
    pub(super) write: &'a mut W,
    pub(super) meter: &'a mut Option<Reader>,
    pub(super) scrubber: Scrubber,
    pub(super) counts: &'a Counts,
    /// What the program said about its connection.
    pub(super) persistence: Persistence,
    pub(super) asked: &'a Asked,
}

/// An answer that was passed on whole.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    /// Whether the host's connection can be used again.
    pub(super) keeps: bool,
    pub(super) is_upgrade: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Receiving<'_, R, W> {
    pub(super) async fn run(mut self, outgoing: &Outgoing<'_>) -> Result<Answered, Fault> {
        let answer = self.head(outgoing).await?;
        self.counts.first_byte();
        let to = match outgoing.dressed.verb {
            Verb::Method(Method::Head) => AnswerTo::Head,
            Verb::Method(_) | Verb::Connect => AnswerTo::Other,
        };
        let length = answer.body_length(to).map_err(|error| self.unreadable(&error))?;
        self.readable(&answer, length, outgoing.reading)?;
        let is_upgrade = answer.status == 101;
        let head =
            self.onward(&answer, length, outgoing).map_err(|error| self.unreadable(&error))?;
        let total = self.counts.add_down(head.len());
        if total > outgoing.grant.most_down {
            return Err(Fault::Broken(too_much(outgoing.grant.most_down)));
        }
        self.pass_on(head, length, outgoing.grant.most_down).await?;
        let keeps = answer.persistence == Persistence::Keep
            && length != BodyLength::UntilClose
            && self.intake.buffered().is_empty();
        Ok(Answered { status: answer.status, keeps, is_upgrade })
    }

    /// The head of the answer, without those that only say that there will be one.
    async fn head(&mut self, outgoing: &Outgoing<'_>) -> Result<ResponseHead, Fault> {
        for _interim in 0..limits::INTERIM_ANSWERS {
            let answer = match timeout(limits::ANSWER, self.intake.response()).await {
                Ok(Ok(Some(answer))) => answer,
                Ok(Ok(None)) => return Err(Fault::NoAnswer),
                Ok(Err(HeadFault::Head(error))) => return Err(self.unreadable(&error)),
                Ok(Err(HeadFault::Cut)) => return Err(self.bad("the host's answer was cut off")),
                Ok(Err(HeadFault::Io(error))) if is_reset(&error) => return Err(Fault::NoAnswer),
                Ok(Err(HeadFault::Io(error))) => {
                    return Err(self.bad(format!("the connection to the host broke: {error}")));
                }
                Err(_late) => return Err(self.late()),
            };
            match (answer.status, outgoing.dressed.upgrade) {
                (101, Upgrade::WebSocket) => {
                    let is_one = answer.headers.lists("upgrade", "websocket");
                    return if is_one {
                        Ok(answer)
                    } else {
                        Err(self.bad("the host switches to another protocol"))
                    };
                }
                (101, Upgrade::Refused) => {
                    return Err(self.bad("the host switches protocols unasked"));
                }
                (100..=199, _) => {}
                (_, _) => return Ok(answer),
            }
        }
        Err(self.bad("the host gives interim answers without end"))
    }

    /// An answer that is read by us must not be compressed.
    fn readable(
        &self,
        answer: &ResponseHead,
        length: BodyLength,
        reading: Reading,
    ) -> Result<(), Fault> {
        let is_plain = answer
            .headers
            .all("content-encoding")
            .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case(b"identity"));
        if is_plain || length == BodyLength::Nothing || reading == Reading::Passed {
            return Ok(());
        }
        Err(self.bad("the host compresses its answer although it was asked not to, so that credentials in it could not be found"))
    }

    fn onward(
        &self,
        answer: &ResponseHead,
        length: BodyLength,
        outgoing: &Outgoing<'_>,
    ) -> Result<Vec<u8>, HeadError> {
        let mut onward = answer.onward(length, outgoing.dressed.upgrade)?;
        // Another way to the host would not lead through here.
        onward.headers.remove("alt-svc");
        if !self.scrubber.is_idle() {
            let mut clean = Headers::default();
            for header in onward.headers.iter() {
                clean.append(&header.name, &self.scrubber.whole(&header.value))?;
            }
            onward.headers = clean;
            onward.reason = self.scrubber.whole(&onward.reason);
        }
        if self.persistence == Persistence::Close {
            onward.headers.append("Connection", b"close")?;
        }
        Ok(onward.encode())
    }

    /// The head, and the body as it comes.
    async fn pass_on(&mut self, head: Vec<u8>, length: BodyLength, most: u64) -> Result<(), Fault> {
        let encoding = Encoding::of(length);
        let mut body = BodyReader::of_response(length);
        let mut out = head;
        // A short answer goes in one write; a stream shows that it has begun.
        let is_here =
            matches!(length, BodyLength::Exactly(_)) && !self.intake.buffered().is_empty();
        if !is_here && !body.is_done() {
            say(self.write, &out).await.map_err(gone)?;
            out.clear();
        }
        loop {
            let piece = match timeout(limits::ANSWER, body.next(self.intake)).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(fault)) => return Err(Fault::Broken(format!("the host's answer: {fault}"))),
                Err(_late) => {
                    return Err(Fault::Broken(
                        "the host stopped in the middle of its answer".to_owned(),
                    ));
                }
            };
            if self.counts.add_down(piece.len()) > most {
                return Err(Fault::Broken(too_much(most)));
            }
            if let Some(meter) = self.meter {
                meter.feed(&piece);
            }
            if self.scrubber.is_idle() {
                encoding.piece(&piece, &mut out);
            } else {
                encoding.piece(&self.scrubber.feed(&piece), &mut out);
            }
            if !out.is_empty() && !body.is_done() {
                say(self.write, &out).await.map_err(gone)?;
                out.clear();
            }
        }
        encoding.piece(&self.scrubber.finish(), &mut out);
        encoding.end(&mut out);
        if out.is_empty() { Ok(()) } else { say(self.write, &out).await.map_err(gone) }
    }

    fn unreadable(&self, error: &HeadError) -> Fault {
        self.bad(format!("the host's answer cannot be read: {error}"))
    }

    fn bad(&self, reason: impl Into<String>) -> Fault {
        refused(self.asked.refusal((502, RefusalCode::Upstream), reason))
    }

    fn late(&self) -> Fault {
        let reason = "the host did not answer in time";
        refused(self.asked.refusal((504, RefusalCode::Upstream), reason))
    }
}

fn is_reset(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    )
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn gone(error: std::io::Error) -> Fault {
    Fault::Broken(format!("the program does not take the answer: {error}"))
}

fn too_much(most: u64) -> String {
    format!("the answer has more than the {most} bytes that may come")
}
