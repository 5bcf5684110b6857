//! One request that is to be carried: what is known of it, how it is asked about, and how its program is refused.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    body::{BodyFault, BodyReader},
    exchange::Open,
    limits, passage, placeholders,
    refusal::{self, After},
    sandbox::{Origin, Sandbox, unfit},
    saying,
    talk::{Next, Talk},
};
use crate::{
    ask::{
        Answer, Grant, MODEL_BODY_LIMIT, Question, Refusal, RefusalCode, Request, SHOWN_HEADERS,
        Said, Scheme, Upgrade,
    },
    git,
    model::refused,
    readers::{
        head::{Expectation, Persistence, RequestHead, RequestTarget},
        target::{Authority, PathAndQuery},
    },
};

/// Whom a connection is with.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) place: Authority,
    pub(super) scheme: Scheme,
    pub(super) origin: Origin,
}

/// A request that is being carried.
pub(super) struct Errand<'a, S> {
    pub(super) talk: &'a mut Talk<S>,
    pub(super) asked: &'a Asked,
    pub(super) head: RequestHead,
    pub(super) path: PathAndQuery,
    /// What is left of the body on the program's connection.
    pub(super) body: BodyReader,
    /// The whole body, if the broker wanted to know what it says.
    pub(super) held: Option<Bytes>,
    /// For as long as it is held.
    room: Room,
    pub(super) open: Open,
}

/// A sandbox's share of memory for bodies that are held, in pieces of [`PIECE`].
#[derive(Debug, Default)]
struct Room(Option<OwnedSemaphorePermit>);

const PIECE: usize = 1024;

impl Room {
    /// Whether there is room for as many bytes altogether.
    fn hold(&mut self, bytes: usize, share: &Arc<Semaphore>) -> bool {
        let held = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(PIECE).saturating_sub(held);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(share).try_acquire_many_owned(more) else { return false };
        match &mut self.0 {
            Some(before) => before.merge(permit),
            None => self.0 = Some(permit),
        }
        true
    }
}

/// What is left of a request that cannot be carried.
pub(super) type Unfit<'a, S> = (&'a mut Talk<S>, Open, Refusal);

/// A request is for a path of the host; any other is refused.
pub(super) fn errand<'a, S>(
    talk: &'a mut Talk<S>,
    asked: &'a Asked,
    head: RequestHead,
    mut open: Open,
) -> Result<Errand<'a, S>, Box<Unfit<'a, S>>> {
    let path = match &head.target {
        RequestTarget::Origin(path) | RequestTarget::Absolute(_, path) => path.clone(),
        RequestTarget::Asterisk | RequestTarget::Authority(_) => {
            let reason = "the request is for no path of the host";
            let refusal = asked.refusal((501, RefusalCode::Unsupported), reason);
            return Err(Box::new((talk, open, refusal)));
        }
    };
    open.set_request(head.verb.as_str(), path.written_path());
    let body = BodyReader::of_request(head.body);
    Ok(Errand { talk, asked, head, path, body, held: None, room: Room::default(), open })
}

impl Asked {
    pub(super) fn refusal(&self, kind: (u16, RefusalCode), reason: impl Into<String>) -> Refusal {
        refusal::by_gateway(kind, (self.place.host.as_str(), self.place.port), reason)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Errand<'_, S> {
    /// Asks the broker, and again with what the body says if it wants that.
    pub(super) async fn judged(&mut self) -> Result<Grant, Box<Refusal>> {
        let agrees =
            |host: &crate::readers::target::HostHeader| host.agrees_with(&self.asked.place);
        if !self.head.host.as_ref().is_some_and(agrees) {
            // Whoever does this is confused or attacks; what comes behind is not read.
            self.head.persistence = Persistence::Close;
            let reason = "the Host header names another host than the connection";
            return Err(Box::new(self.asked.refusal((421, RefusalCode::Mismatch), reason)));
        }
        let answer = self.open.ask(self.question(None)).await;
        match answer {
            Answer::NeedBody { most, language } => {
                let body = Bytes::from(self.read_whole(most).await?);
                let said = saying::said(language, &body).await;
                self.held = Some(body);
                let answer = self.open.ask(self.question(Some(said))).await;
                granted(answer)
            }
            Answer::Refused(_)
            | Answer::Known { .. }
            | Answer::Opaque(_)
            | Answer::Inspect { .. }
            | Answer::Granted(_) => granted(answer),
        }
    }

    pub(super) fn question(&self, body: Option<Said>) -> Question {
        let headers = &self.head.headers;
        let shown = SHOWN_HEADERS.iter().filter_map(|name| {
            headers.text(name).map(|value| ((*name).to_owned(), value.to_owned()))
        });
        let upgrade = match self.head.upgrade {
            Upgrade::Refused => None,
            Upgrade::WebSocket => Some("websocket".to_owned()),
        };
        Question::Request(Box::new(Request {
            host: self.asked.place.host.to_string(),
            port: self.asked.place.port,
            scheme: self.asked.scheme,
            method: self.head.verb.as_str().to_owned(),
            target: self.path.as_str().to_owned(),
            content_type: headers.text("content-type").map(str::to_owned),
            headers: shown.collect(),
            placeholders: placeholders::shown(&self.head, self.path.as_str()),
            upgrade,
            body,
            way: self.asked.origin.way,
            peer: self.asked.origin.peer,
        }))
    }

    async fn read_whole(&mut self, most: u64) -> Result<Vec<u8>, Box<Refusal>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(MODEL_BODY_LIMIT);
        let large = (413, RefusalCode::Limit);
        let too_large = format!("the body is larger than the {most} bytes that can be judged");
        self.invite().await;
        let mut whole = Vec::new();
        loop {
            match self.next_piece().await {
                Ok(Some(piece)) => whole.extend_from_slice(&piece),
                Ok(None) => return Ok(whole),
                Err(refusal) => return Err(refusal),
            }
            if whole.len() > most {
                return Err(Box::new(self.asked.refusal(large, too_large)));
            }
            if !self.room.hold(whole.len(), &self.asked.sandbox.bodies) {
                let reason =
                    "this sandbox has too many large requests under way; wait for some to end";
                return Err(Box::new(self.asked.refusal((429, RefusalCode::Limit), reason)));
            }
        }
    }

    /// The next piece of the program's body.
    pub(super) async fn next_piece(&mut self) -> Result<Option<Bytes>, Box<Refusal>> {
        match timeout(limits::BODY, self.body.next(&mut self.talk.intake)).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(fault)) => Err(Box::new(body_refusal(self.asked, &fault))),
            Err(_late) => {
                let reason = "the rest of the body did not come in time";
                Err(Box::new(self.asked.refusal((408, RefusalCode::Limit), reason)))
            }
        }
    }

    /// Tells a program that waits for it to send its body. A program that is gone shows when its body is read.
    pub(super) async fn invite(&mut self) {
        if self.head.expectation == Expectation::Continue {
            self.head.expectation = Expectation::Nothing;
            let _ = self.talk.say(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        }
    }

    pub(super) async fn refuse(self, refusal: Refusal) -> Next {
        let sentence = refusal::sentence(&refusal);
        let accept = self.head.headers.text("accept");
        let path = self.path.written_path();
        let for_git = passage::for_git(path, self.path.query(), &sentence);
        let for_model = refused::body(self.asked.place.host.as_str(), path, &refusal);
        let answer = match (for_git, for_model) {
            (Some(answer), _) => git_answer(&answer, self.after()),
            (None, Some(body)) => refusal::render_as(&refusal, &body, self.after()),
            (None, None) => refusal::render(&refusal, accept, self.after()),
        };
        self.answer(refusal, answer).await
    }

    /// Refuses what git sends, as git prints it.
    pub(super) async fn refuse_git(self, refusal: Refusal, answer: &git::refusal::Answer) -> Next {
        let answer = git_answer(answer, self.after());
        self.answer(refusal, answer).await
    }

    async fn answer(self, refusal: Refusal, answer: Vec<u8>) -> Next {
        let after = self.after();
        self.open.refused(refusal).await;
        match (self.talk.say(&answer).await, after) {
            (Ok(()), After::Keep) => Next::Again,
            (Ok(()), After::Close) | (Err(_), _) => Next::Close,
        }
    }

    /// The connection goes on only where the next request is known to begin.
    fn after(&self) -> After {
        match (self.body.is_done(), self.head.persistence) {
            (true, Persistence::Keep) => After::Keep,
            (true, Persistence::Close) | (false, _) => After::Close,
        }
    }
}

fn granted(answer: Answer) -> Result<Grant, Box<Refusal>> {
    match answer {
        Answer::Granted(grant) => Ok(grant),
        Answer::Refused(refusal) => Err(Box::new(refusal)),
        Answer::NeedBody { .. }
        | Answer::Known { .. }
        | Answer::Opaque(_)
        | Answer::Inspect { .. } => Err(Box::new(unfit())),
    }
}

pub(super) fn body_refusal(asked: &Asked, fault: &BodyFault) -> Refusal {
    asked.refusal((400, RefusalCode::Malformed), fault.to_string())
}

fn git_answer(answer: &git::refusal::Answer, after: After) -> Vec<u8> {
    let close = match after {
        After::Keep => "",
        After::Close => "Connection: close\r\n",
    };
    let mut out = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{close}\r\n",
        answer.content_type,
        answer.body.len(),
    )
    .into_bytes();
    out.extend_from_slice(&answer.body);
    out
}
