//! A connection that is carried without being looked into, but for one thing: if it is TLS, it must be with the host that was allowed.
//!
//! The host's bytes pass at once, because in some protocols it speaks first. The program's first bytes are held until it is known
//! whether they are TLS, and with whom. A hello that is itself encrypted is refused, because its true name cannot be seen.

use std::{net::IpAddr, sync::Arc};

use bytes::BytesMut;
use domain::policy::HostName;
use tokio::{io::AsyncRead, net::TcpStream, time::timeout};

use super::{
    dial::{DialError, dial},
    exchange::Open,
    intake::{Arrival, Intake},
    limits, refusal,
    sandbox::Sandbox,
    tunnel::{self, Again, Ended, Most, Pump},
};
use crate::{
    ask::{Grant, Question, Refusal, RefusalCode},
    readers::{
        hello::{self, HelloEncryption},
        target::Authority,
    },
};

/// What was allowed, and how it is asked about again.
pub(super) struct Allowed {
    pub(super) place: Authority,
    pub(super) grant: Grant,
    pub(super) question: Question,
}

/// Dials what an opaque grant names.
pub(super) async fn reach(
    sandbox: &Sandbox,
    open: &mut Open,
    grant: &Grant,
) -> Result<(TcpStream, IpAddr), DialError> {
    open.set_grant(grant);
    let (stream, address) = dial(&grant.dial, sandbox).await?;
    open.set_address(address);
    Ok((stream, address))
}

/// Carries the connection to its end, and reports.
pub(super) async fn carry(
    sandbox: &Arc<Sandbox>,
    open: Open,
    allowed: Allowed,
    program: (TcpStream, BytesMut),
    host: TcpStream,
) {
    let (program, before) = program;
    let (program_read, mut program_write) = program.into_split();
    let (host_read, mut host_write) = host.into_split();
    let mut from_program = Intake::new(program_read, before);
    let mut from_host = Intake::new(host_read, BytesMut::new());
    let counts = Arc::clone(open.counts());
    let most = Most { up: allowed.grant.most_up, down: allowed.grant.most_down };

    let up = Pump {
        intake: &mut from_program,
        write: &mut host_write,
        scrubber: None,
        gate: Some(&allowed.place),
    };
    let down =
        Pump { intake: &mut from_host, write: &mut program_write, scrubber: None, gate: None };
    let again = Again { question: allowed.question, generation: allowed.grant.generation };
    match tunnel::run(sandbox, &open, (up, down), &counts, most, again).await {
        Ended::Done => open.done(None).await,
        Ended::Refused(refusal) => open.refused(*refusal).await,
        Ended::Broken(reason) => open.broken(reason).await,
    }
}

/// Waits for the program's first bytes, and looks whether they may go out. A program may wait for the host first.
pub(super) async fn greeting<R: AsyncRead + Unpin>(
    place: &Authority,
    intake: &mut Intake<R>,
) -> Result<(), Ended> {
    let broken = |error: std::io::Error| Ended::Broken(format!("the connection broke: {error}"));
    match intake.arrival().await.map_err(broken)? {
        Arrival::Bytes => {}
        Arrival::Closed => return Ok(()),
    }
    if intake.buffered().first() != Some(&TLS_HANDSHAKE) {
        return Ok(());
    }
    let reading = async {
        loop {
            match hello::read(intake.buffered()) {
                Ok(Some(hello)) => return Ok(hello),
                Ok(None) => {}
                Err(error) => {
                    let kind = (400, RefusalCode::Malformed);
                    let refusal = refused(place, kind, error.to_string());
                    return Err(Ended::Refused(Box::new(refusal)));
                }
            }
            if intake.fill().await.map_err(broken)? == 0 {
                return Err(Ended::Broken("the TLS handshake was cut off".to_owned()));
            }
        }
    };
    let hello = match timeout(limits::HANDSHAKE, reading).await {
        Ok(hello) => hello?,
        Err(_late) => return Err(Ended::Broken("the TLS handshake took too long".to_owned())),
    };
    if hello.encryption == HelloEncryption::Encrypted {
        let reason = "the ClientHello is encrypted (ECH), so its host cannot be seen";
        let kind = (403, RefusalCode::Unsupported);
        return Err(Ended::Refused(Box::new(refused(place, kind, reason))));
    }
    agree(place, hello.server_name.as_ref()).map_err(Ended::Refused)
}

/// The first byte of TLS: a record of the handshake.
pub(super) const TLS_HANDSHAKE: u8 = 22;

/// The name in the handshake must be the one that was asked for.
pub(super) fn agree(place: &Authority, name: Option<&HostName>) -> Result<(), Box<Refusal>> {
    let kind = (421, RefusalCode::Mismatch);
    match name {
        Some(name) if *name == place.host => Ok(()),
        Some(name) => {
            let reason =
                format!("the TLS handshake names {name}, but the connection is for {}", place.host);
            Err(Box::new(refused(place, kind, reason)))
        }
        None => {
            let reason = "the TLS handshake names no host (SNI is missing)";
            Err(Box::new(refused(place, kind, reason)))
        }
    }
}

fn refused(place: &Authority, kind: (u16, RefusalCode), reason: impl Into<String>) -> Refusal {
    refusal::by_gateway(kind, (place.host.as_str(), place.port), reason)
}
