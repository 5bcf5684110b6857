//! The one thing that is looked at in a connection that is not looked into: if it is TLS, it must be with the host that was allowed.
//!
//! The host's bytes pass at once, because in some protocols it speaks first. The program's first bytes are held until it is known
//! whether they are TLS, and with whom. A hello that is itself encrypted is refused, because its true name cannot be seen.

use domain::policy::HostName;
use tokio::{io::AsyncRead, time::timeout};

use super::{
    ended::Ended,
    intake::{Arrival, Intake},
    limits, refusal,
};
use crate::{
    ask::{Refusal, RefusalCode},
    readers::{
        hello::{self, HelloEncryption},
        target::Authority,
    },
};

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
