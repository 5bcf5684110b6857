//! SOCKS 5: a name and a port, and then bytes.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::{net::TcpStream, time::timeout};

use super::{
    exchange::Open,
    inspect, limits,
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
        socks::{self, Destination, Greeting, Reply, SocksError},
        target::{Authority, TargetError},
    },
};

/// Serves one connection.
pub(super) async fn serve(sandbox: &Arc<Sandbox>, stream: TcpStream, origin: Origin) {
    let mut talk = Talk::new(stream, BytesMut::new());
    let Ok(asked) = timeout(limits::HANDSHAKE, ask(&mut talk)).await else {
        let reason = "the SOCKS request did not come in time";
        let refusal = refusal::by_gateway((408, RefusalCode::Limit), ("", 0), reason);
        return Open::begin(sandbox, "", 0, origin).refused(refusal).await;
    };
    match asked {
        Asked::For(destination) => connect(sandbox, talk, destination, origin).await,
        Asked::Nothing => {}
        Asked::OnlyWithPassword => {
            let reason = "SOCKS with a password is not spoken here; connect without one";
            let kind = (403, RefusalCode::Unsupported);
            let refusal = refusal::by_gateway(kind, ("", 0), reason);
            Open::begin(sandbox, "", 0, origin).refused(refusal).await;
            talk.farewell().await;
        }
        Asked::Unusable(error) => {
            let kind = match error {
                SocksError::Host(TargetError::Address(_)) => (403, RefusalCode::Address),
                SocksError::Command => (403, RefusalCode::Unsupported),
                SocksError::Version
                | SocksError::NoMethods
                | SocksError::Reserved
                | SocksError::AddressKind
                | SocksError::Port
                | SocksError::Host(_) => (400, RefusalCode::Malformed),
            };
            let refusal = refusal::by_gateway(kind, ("", 0), error.to_string());
            Open::begin(sandbox, "", 0, origin).refused(refusal).await;
            if let Some(reply) = error.reply() {
                let _ = talk.say(&socks::reply(reply)).await;
            }
            talk.farewell().await;
        }
    }
}

enum Asked {
    For(Destination),
    /// The connection ended before anything was asked.
    Nothing,
    /// The program would only go on with a password, and was told that there is none.
    OnlyWithPassword,
    Unusable(SocksError),
}

async fn ask(talk: &mut Talk<TcpStream>) -> Asked {
    let greeting = loop {
        match socks::greeting(talk.intake.buffered()) {
            Ok(Some((greeting, used))) => {
                talk.intake.skip(used);
                break greeting;
            }
            Ok(None) => {}
            Err(error) => return Asked::Unusable(error),
        }
        if !matches!(talk.intake.fill().await, Ok(1..)) {
            return Asked::Nothing;
        }
    };
    match greeting {
        Greeting::WithoutPassword => {
            if talk.say(&socks::WELCOME).await.is_err() {
                return Asked::Nothing;
            }
        }
        Greeting::OnlyWithPassword => {
            // Whoever does not listen any more was refused all the same.
            let _ = talk.say(&socks::UNWELCOME).await;
            return Asked::OnlyWithPassword;
        }
    }
    loop {
        match socks::request(talk.intake.buffered()) {
            Ok(Some((destination, used))) => {
                talk.intake.skip(used);
                return Asked::For(destination);
            }
            Ok(None) => {}
            Err(error) => return Asked::Unusable(error),
        }
        if !matches!(talk.intake.fill().await, Ok(1..)) {
            return Asked::Nothing;
        }
    }
}

async fn connect(
    sandbox: &Arc<Sandbox>,
    mut talk: Talk<TcpStream>,
    destination: Destination,
    origin: Origin,
) {
    let place = match destination {
        Destination::Name(place) => place,
        Destination::Address(address) => {
            let meaning = sandbox.names().meaning(address.ip(), sandbox.generation());
            match meaning {
                Meaning::Host(host) => Authority { host, port: address.port() },
                Meaning::Stale | Meaning::Foreign => {
                    let (host, port) = (address.ip().to_string(), address.port());
                    let open = Open::begin(sandbox, &host, port, origin);
                    let reason = meaning.unusable();
                    let kind = (403, RefusalCode::Address);
                    let refusal = refusal::by_gateway(kind, (&host, port), reason);
                    return refuse(talk, open, refusal, Reply::NotAllowed).await;
                }
            }
        }
    };
    let mut open = Open::begin_at(sandbox, &place, origin);
    let question = question(&place, origin);
    match open.ask(question.clone()).await {
        Answer::Inspect { .. } => {
            if talk.say(&socks::reply(Reply::Succeeded)).await.is_err() {
                return open.forget();
            }
            inspect::inspect(sandbox, open, place, origin, talk.into_stream()).await;
        }
        Answer::Opaque(grant) => match opaque::reach(sandbox, &mut open, &grant).await {
            Ok((host, _address)) => {
                if let Err(error) = talk.say(&socks::reply(Reply::Succeeded)).await {
                    return open.broken(format!("the program is gone: {error}")).await;
                }
                let allowed = Allowed { place, grant, question };
                opaque::carry(sandbox, open, allowed, talk.into_stream(), host).await;
            }
            Err(error) => {
                let refusal = error.refusal((place.host.as_str(), place.port));
                let is_away = refusal.code == RefusalCode::Upstream;
                let reply = if is_away { Reply::HostUnreachable } else { Reply::NotAllowed };
                refuse(talk, open, refusal, reply).await;
            }
        },
        Answer::Refused(refusal) => refuse(talk, open, refusal, Reply::NotAllowed).await,
        Answer::Known { .. } | Answer::NeedBody { .. } | Answer::Granted(_) => {
            refuse(talk, open, unfit(), Reply::Failed).await;
        }
    }
}

async fn refuse(mut talk: Talk<TcpStream>, open: Open, refusal: Refusal, reply: Reply) {
    open.refused(refusal).await;
    let _ = talk.say(&socks::reply(reply)).await;
    talk.farewell().await;
}
