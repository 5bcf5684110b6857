//! What the body of a request must be, to go out.
//!
//! Most bodies go as they are. Git's are read on the way: nothing of a push goes out before its list of updates is allowed, and the end
//! of its pack only when every update goes forwards.

use bytes::Bytes;

use crate::{
    ask::Body,
    git::{
        fetch::Fetch,
        push::{Allowed, Push},
        refusal::{self, Answer},
    },
    readers::head::RequestHead,
};

/// Reads one body on its way out.
pub(super) enum Passage {
    Relay,
    Push(Box<Push>),
    Fetch(Box<Fetch>),
}

/// Why a body does not go out, and how git is told.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) reason: String,
    pub(super) answer: Answer,
}

/// What may be sent of a piece.
pub(super) enum Given {
    /// The piece as it is.
    Piece(Bytes),
    Other(Vec<u8>),
}

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Piece(bytes) => bytes,
            Self::Other(bytes) => bytes,
        }
    }
}

impl Passage {
    pub(super) fn new(body: &Body, head: &RequestHead) -> Result<Self, Stopped> {
        let encoding = head.headers.text("content-encoding");
        match body {
            Body::Relay => Ok(Self::Relay),
            Body::ReceivePack { branches, most_pack } => {
                let allowed = Allowed { branches: branches.clone(), most_pack: *most_pack };
                let push = Push::new(allowed, encoding);
                push.map(|push| Self::Push(Box::new(push))).map_err(|error| {
                    let reason = error.to_string();
                    Stopped { answer: refusal::of_push(None, &reason), reason }
                })
            }
            Body::UploadPack => {
                let fetch = Fetch::new(encoding);
                fetch.map(|fetch| Self::Fetch(Box::new(fetch))).map_err(|error| not_a_fetch(&error))
            }
        }
    }

    /// Whether more of the body has to be read before anything is sent, even the head.
    pub(super) fn waits(&self) -> bool {
        match self {
            Self::Relay | Self::Fetch(_) => false,
            Self::Push(push) => push.list().is_none(),
        }
    }

    pub(super) fn read(&mut self, piece: Bytes) -> Result<Given, Stopped> {
        match self {
            Self::Relay => Ok(Given::Piece(piece)),
            Self::Push(push) => match push.read(&piece) {
                Ok(given) => Ok(Given::Other(given)),
                Err(error) => Err(not_a_push(push, &error)),
            },
            Self::Fetch(fetch) => match fetch.read(&piece) {
                Ok(()) => Ok(Given::Piece(piece)),
                Err(error) => Err(not_a_fetch(&error)),
            },
        }
    }

    /// The body has ended: what may be sent now.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Stopped> {
        match self {
            Self::Relay => Ok(Vec::new()),
            Self::Push(push) => match push.finish() {
                Ok(given) => Ok(given),
                Err(error) => Err(not_a_push(push, &error)),
            },
            Self::Fetch(fetch) => match fetch.finish() {
                Ok(()) => Ok(Vec::new()),
                Err(error) => Err(not_a_fetch(&error)),
            },
        }
    }
}

fn not_a_push(push: &Push, error: &impl ToString) -> Stopped {
    let reason = error.to_string();
    Stopped { answer: refusal::of_push(push.list(), &reason), reason }
}

fn not_a_fetch(error: &impl ToString) -> Stopped {
    let reason = error.to_string();
    Stopped { answer: refusal::of_fetch(&reason), reason }
}

/// Git's own way to be told of a refusal, if this is one of its requests. It does not read the body of an answer that is not 200.
pub(super) fn for_git(path: &str, query: Option<&str>, sentence: &str) -> Option<Answer> {
    use refusal::Service;
    if path.ends_with("/info/refs") {
        return match query {
            Some("service=git-upload-pack") => {
                Some(refusal::of_references(Service::UploadPack, sentence))
            }
            Some("service=git-receive-pack") => {
                Some(refusal::of_references(Service::ReceivePack, sentence))
            }
            Some(_) | None => None,
        };
    }
    if path.ends_with("/git-receive-pack") {
        return Some(refusal::of_push(None, sentence));
    }
    path.ends_with("/git-upload-pack").then(|| refusal::of_fetch(sentence))
}
