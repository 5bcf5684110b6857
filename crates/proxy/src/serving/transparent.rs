//! Connections of programs that know of no proxy: they connect to an address, and arrive here.
//!
//! ```text
//!  an address of our making ──▶ the name that it was made for
//!  any other address        ──▶ the name in the TLS handshake or in the Host header
//! ```
//!
//! **Invariants:** the address itself is never dialled; a name is. Where address, handshake and Host name a host, they name the same.

use std::{net::SocketAddr, sync::Arc};

use bytes::BytesMut;
use domain::policy::HostName;
use tokio::{net::TcpStream, time::timeout};

use super::{
    exchange::Open,
    greeting::TLS_HANDSHAKE,
    inspect::{self, HelloFault},
    intake::{Arrival, Intake},
    limits,
    names::Meaning,
    opaque::{self, Allowed},
    proxy::question,
    refusal,
    sandbox::{Origin, Sandbox, unfit},
    talk::Talk,
};
use crate::{
    ask::{Answer, Refusal, RefusalCode},
    readers::{
        head::{self, HeadError, Scan},
        hello::HelloError,
        target::Authority,
    },
};

/// Serves one connection that was meant for `destination`.
pub(super) async fn serve(
    sandbox: &Arc<Sandbox>,
    stream: TcpStream,
    destination: SocketAddr,
    origin: Origin,
) {
    let meaning = sandbox.names().meaning(destination.ip(), sandbox.generation());
    let mut intake = Intake::new(stream, BytesMut::new());
    match meaning {
        Meaning::Host(host) => {
            let place = Authority { host, port: destination.port() };
            serve_place(sandbox, intake, place, origin).await;
        }
        Meaning::Stale => {
            let address = destination.ip().to_string();
            let open = Open::begin(sandbox, &address, destination.port(), origin);
            let kind = (403, RefusalCode::Address);
            let reason = meaning.unusable();
            let refusal = refusal::by_gateway(kind, (&address, destination.port()), reason);
            refuse(sandbox, open, None, refusal, intake).await;
        }
        Meaning::Foreign => match spoken_name(&mut intake).await {
            Ok(host) => {
                let place = Authority { host, port: destination.port() };
                serve_place(sandbox, intake, place, origin).await;
            }
            Err(unnamed) => {
                let address = destination.ip().to_string();
                let open = Open::begin(sandbox, &address, destination.port(), origin);
                nameless(sandbox, open, (&address, destination.port()), unnamed, intake).await;
            }
        },
    }
}

async fn serve_place(
    sandbox: &Arc<Sandbox>,
    intake: Intake<TcpStream>,
    place: Authority,
    origin: Origin,
) {
    let mut open = Open::begin_at(sandbox, &place, origin);
    let question = question(&place, origin);
    match open.ask(question.clone()).await {
        Answer::Inspect { .. } => {
            inspect::inspect(sandbox, open, place, origin, intake.into_parts()).await;
        }
        Answer::Opaque(grant) => match opaque::reach(sandbox, &mut open, &grant).await {
            Ok((host, _address)) => {
                let allowed = Allowed { place, grant, question };
                opaque::carry(sandbox, open, allowed, intake.into_parts(), host).await;
            }
            Err(error) => {
                let refusal = error.refusal((place.host.as_str(), place.port));
                refuse(sandbox, open, Some(&place.host), refusal, intake).await;
            }
        },
        Answer::Refused(refusal) => {
            refuse(sandbox, open, Some(&place.host), refusal, intake).await;
        }
        Answer::Known { .. } | Answer::NeedBody { .. } | Answer::Granted(_) => {
            refuse(sandbox, open, Some(&place.host), unfit(), intake).await;
        }
    }
}

/// Why no name can be found in what a program says.
enum Unnamed {
    /// It said nothing, or left.
    Silent,
    Hello(HelloError),
    /// TLS without a name.
    NoServerName,
    Head(HeadError),
    Cut(String),
}

/// The name in the first bytes, which stay where they are.
async fn spoken_name(intake: &mut Intake<TcpStream>) -> Result<HostName, Unnamed> {
    match timeout(limits::HANDSHAKE, intake.arrival()).await {
        Ok(Ok(Arrival::Bytes)) => {}
        Ok(Ok(Arrival::Closed) | Err(_)) | Err(_) => return Err(Unnamed::Silent),
    }
    if intake.buffered().first() == Some(&TLS_HANDSHAKE) {
        return match inspect::server_name(intake).await {
            Ok(name) => name.ok_or(Unnamed::NoServerName),
            Err(HelloFault::Hello(error)) => Err(Unnamed::Hello(error)),
            Err(HelloFault::Cut(reason)) => Err(Unnamed::Cut(reason)),
        };
    }
    let reading = async {
        let mut scan = Scan::of_request();
        loop {
            match head::request(&mut scan, intake.buffered()) {
                Ok(Some((head, _used))) => {
                    return head.host.map(|host| host.host).ok_or(Unnamed::Head(HeadError::NoHost));
                }
                Ok(None) => {}
                Err(error) => return Err(Unnamed::Head(error)),
            }
            if !matches!(intake.fill().await, Ok(1..)) {
                return Err(Unnamed::Cut("the program closed in the middle of a head".to_owned()));
            }
        }
    };
    let late = || Unnamed::Cut("the head of the request did not come in time".to_owned());
    timeout(limits::HEAD, reading).await.unwrap_or_else(|_late| Err(late()))
}

async fn nameless(
    sandbox: &Arc<Sandbox>,
    open: Open,
    place: (&str, u16),
    unnamed: Unnamed,
    intake: Intake<TcpStream>,
) {
    let refusal = match unnamed {
        Unnamed::Silent => return open.broken("the program said nothing").await,
        Unnamed::Cut(reason) => return open.broken(reason).await,
        Unnamed::Hello(error) => {
            let kind = match error {
                HelloError::Version => (403, RefusalCode::Unsupported),
                HelloError::NotTls
                | HelloError::TooLong
                | HelloError::Malformed
                | HelloError::Twice
                | HelloError::Names
                | HelloError::Name(_) => (400, RefusalCode::Malformed),
            };
            return open.refused(refusal::by_gateway(kind, place, error.to_string())).await;
        }
        Unnamed::NoServerName => {
            let reason = "an address says nothing about the host, and the TLS handshake names none";
            return open
                .refused(refusal::by_gateway((421, RefusalCode::Mismatch), place, reason))
                .await;
        }
        Unnamed::Head(error) => refusal::of_head(&error, place),
    };
    refuse(sandbox, open, None, refusal, intake).await;
}

/// Refuses in the language that the program speaks, if it is one that has words for it.
async fn refuse(
    sandbox: &Arc<Sandbox>,
    open: Open,
    host: Option<&HostName>,
    refusal: Refusal,
    mut intake: Intake<TcpStream>,
) {
    let is_speaking =
        matches!(timeout(limits::HANDSHAKE, intake.arrival()).await, Ok(Ok(Arrival::Bytes)));
    if !is_speaking {
        return open.refused(refusal).await;
    }
    if intake.buffered().first() == Some(&TLS_HANDSHAKE) {
        let name = inspect::server_name(&mut intake).await.ok().flatten();
        return match name.as_ref().or(host) {
            Some(name) => {
                inspect::refuse_tls(sandbox, open, name, refusal, intake.into_parts()).await;
            }
            None => open.refused(refusal).await,
        };
    }
    let (stream, before) = intake.into_parts();
    let mut talk = Talk::new(stream, before);
    open.refused(refusal.clone()).await;
    inspect::tell(&mut talk, &refusal).await;
    talk.farewell().await;
}
