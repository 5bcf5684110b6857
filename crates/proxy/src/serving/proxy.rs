//! The HTTP proxy: `CONNECT`, and requests in absolute form.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::{net::TcpStream, time::timeout};

use super::{
    carry::{carry, refuse_blindly},
    errand::Asked,
    exchange::Open,
    inspect,
    intake::{Arrival, HeadFault},
    limits,
    opaque::{self, Allowed},
    refusal::{self, After},
    sandbox::{Origin, Sandbox, unfit},
    talk::{Next, Talk},
};
use crate::{
    ask::{Answer, Connect, Question, Refusal, RefusalCode, Scheme, Way},
    readers::{
        head::{RequestHead, RequestTarget},
        target::Authority,
    },
};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves one connection to the proxy.
pub(super) async fn serve(sandbox: &Arc<Sandbox>, stream: TcpStream, origin: Origin) {
    let mut talk = Talk::new(stream, BytesMut::new());
    let mut patience = limits::HANDSHAKE;
    loop {
        match timeout(patience, talk.intake.arrival()).await {
            Ok(Ok(Arrival::Bytes)) => {}
            Ok(Ok(Arrival::Closed) | Err(_)) | Err(_) => return,
        }
        patience = limits::KEEP_ALIVE;
        let head = timeout(limits::HEAD, talk.intake.request()).await;
        let next = match head {
            Ok(Ok(Some(head))) => match head.target.clone() {
                RequestTarget::Authority(place) => {
                    return connect(sandbox, talk, place, &head, origin).await;
                }
                RequestTarget::Absolute(place, _path) => {
                    absolute(sandbox, &mut talk, place, head, origin).await
                }
                RequestTarget::Origin(_) | RequestTarget::Asterisk => {
                    let open = Open::begin(sandbox, "", 0, origin);
                    let reason = "this is a proxy; ask it with CONNECT or with an absolute address";
                    let refusal =
                        refusal::by_gateway((400, RefusalCode::Malformed), ("", 0), reason);
                    refuse_blindly(&mut talk, open, refusal).await
                }
            },
            Ok(Ok(None) | Err(HeadFault::Cut | HeadFault::Io(_))) => return,
            Ok(Err(HeadFault::Head(error))) => {
                let written = written_target(talk.intake.buffered());
                let open = Open::begin(sandbox, &written, 0, origin);
                refuse_blindly(&mut talk, open, refusal::of_head(&error, (&written, 0))).await
            }
            Err(_late) => {
                let open = Open::begin(sandbox, "", 0, origin);
                let reason = "the head of the request did not come in time";
                let refusal = refusal::by_gateway((408, RefusalCode::Limit), ("", 0), reason);
                refuse_blindly(&mut talk, open, refusal).await
            }
        };
        match next {
            Next::Again => {}
            Next::Close => return talk.farewell().await,
        }
    }
}

async fn connect(
    sandbox: &Arc<Sandbox>,
    mut talk: Talk<TcpStream>,
    place: Authority,
    head: &RequestHead,
    origin: Origin,
) {
    let mut open = Open::begin_at(sandbox, &place, origin);
    let question = question(&place, origin);
    match open.ask(question.clone()).await {
        Answer::Inspect { .. } => {
            if talk.say(ESTABLISHED).await.is_err() {
                return open.forget();
            }
            inspect::inspect(sandbox, open, place, origin, talk.into_stream()).await;
        }
        Answer::Opaque(grant) => match opaque::reach(sandbox, &mut open, &grant).await {
            Ok((host, _address)) => {
                if let Err(error) = talk.say(ESTABLISHED).await {
                    return open.broken(format!("the program is gone: {error}")).await;
                }
                let allowed = Allowed { place, grant, question };
                opaque::carry(sandbox, open, allowed, talk.into_stream(), host).await;
            }
            Err(error) => {
                let refusal = error.refusal((place.host.as_str(), place.port));
                refuse(talk, open, head, refusal).await;
            }
        },
        Answer::Refused(refusal) => refuse(talk, open, head, refusal).await,
        Answer::Known { .. } | Answer::NeedBody { .. } | Answer::Granted(_) => {
            refuse(talk, open, head, unfit()).await;
        }
    }
}

async fn refuse(mut talk: Talk<TcpStream>, open: Open, head: &RequestHead, refusal: Refusal) {
    let answer = refusal::render(&refusal, head.headers.text("accept"), After::Close);
    open.refused(refusal).await;
    let _ = talk.say(&answer).await;
    talk.farewell().await;
}

/// One request in absolute form. Where the rules would carry bytes unseen, the request is carried as it was read.
async fn absolute(
    sandbox: &Arc<Sandbox>,
    talk: &mut Talk<TcpStream>,
    place: Authority,
    head: RequestHead,
    origin: Origin,
) -> Next {
    let origin = Origin { way: Way::AbsoluteForm, ..origin };
    let mut open = Open::begin_at(sandbox, &place, origin);
    if let RequestTarget::Absolute(_, path) = &head.target {
        open.set_request(head.verb.as_str(), path.written_path());
    }
    let answer = open.ask(question(&place, origin)).await;
    let asked = Asked { sandbox: Arc::clone(sandbox), place, scheme: Scheme::Http, origin };
    match answer {
        Answer::Inspect { .. } => {
            open.forget();
            carry(talk, &asked, head).await
        }
        Answer::Opaque(grant) => super::carry::carry_granted(talk, &asked, head, open, grant).await,
        Answer::Refused(refusal) => {
            super::carry::refuse_head(talk, &asked, head, open, refusal).await
        }
        Answer::Known { .. } | Answer::NeedBody { .. } | Answer::Granted(_) => {
            super::carry::refuse_head(talk, &asked, head, open, unfit()).await
        }
    }
}

pub(super) fn question(place: &Authority, origin: Origin) -> Question {
    Question::Connect(Connect {
        host: place.host.to_string(),
        port: place.port,
        way: origin.way,
        peer: origin.peer,
    })
}

/// What stood where the target stands, for the report of a head that cannot be read.
fn written_target(head: &[u8]) -> String {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let plain = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' };
    target.iter().map(plain).take(100).collect()
}
