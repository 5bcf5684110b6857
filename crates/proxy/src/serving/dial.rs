//! From a grant to a connection: look the name up, refuse what may not be dialled, dial exactly what was checked.
//!
//! **Invariants:** nothing is looked up before a grant. The address that was checked is the address that is dialled; a name is looked up
//! once for each connection, so it cannot mean something else a moment later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::{net::TcpStream, time::timeout};

use super::{
    limits,
    reach::DialError,
    sandbox::Sandbox,
    upstream::{Upstream, Wire},
};
use crate::{
    address::{Own, Unfit, dialable},
    ask::{Dial, Grant, Scheme},
};

/// Opens a connection as a grant says, with TLS where it says so.
pub(super) async fn open(grant: &Grant, sandbox: &Sandbox) -> Result<Upstream, DialError> {
    let (stream, address) = dial(&grant.dial, sandbox).await?;
    let wire = match grant.scheme {
        Scheme::Http => Wire::Plain(stream),
        Scheme::Https => {
            let (host, _port) = place(&grant.dial);
            let authority = match &grant.dial {
                Dial::Public { .. } => None,
                Dial::Pinned { authority, .. } => authority.as_deref(),
            };
            let stream = sandbox
                .trust
                .connect(host, authority, stream)
                .await
                .map_err(|reason| DialError::Tls { host: host.to_owned(), reason })?;
            Wire::Tls(Box::new(stream))
        }
    };
    Ok(Upstream::new(wire, address))
}

/// Opens a connection to what a grant names. Small messages are sent at once.
pub(super) async fn dial(dial: &Dial, sandbox: &Sandbox) -> Result<(TcpStream, IpAddr), DialError> {
    let addresses = addresses(dial, sandbox).await?;
    let (stream, address) = match timeout(limits::DIAL, first_of(&addresses)).await {
        Ok(reached) => reached?,
        Err(_late) => return Err(DialError::Unreachable("it took too long".to_owned())),
    };
    stream.set_nodelay(true).map_err(|error| DialError::Unreachable(error.to_string()))?;
    Ok((stream, address))
}

/// The host and port of a grant.
pub(super) fn place(dial: &Dial) -> (&str, u16) {
    match dial {
        Dial::Public { host, port } | Dial::Pinned { host, port, .. } => (host, *port),
    }
}

async fn addresses(dial: &Dial, sandbox: &Sandbox) -> Result<Vec<SocketAddr>, DialError> {
    let (port, mut found) = match dial {
        Dial::Public { host, port } => {
            let found = sandbox.reach.look_up(host, &sandbox.lookups).await?;
            (*port, public(found)?)
        }
        Dial::Pinned { port, addresses, .. } => (*port, addresses.clone()),
    };
    found.dedup();
    if found.is_empty() {
        return Err(DialError::NoAddress);
    }
    Ok(taking_turns(found).into_iter().map(|address| (address, port).into()).collect())
}

/// Those that may be dialled. If there are none, why the first may not.
fn public(found: Vec<IpAddr>) -> Result<Vec<IpAddr>, DialError> {
    let mut why = None;
    let mut kept = Vec::new();
    for address in found {
        match dialable(address, &Own::default()).and_then(|()| foreign(address)) {
            Ok(()) => kept.push(address),
            Err(unfit) => why = why.or(Some(unfit)),
        }
    }
    match (kept.is_empty(), why) {
        (true, Some(unfit)) => Err(DialError::Unfit(unfit)),
        (true | false, _) => Ok(kept),
    }
}

/// Whether an address is not this machine's. The kernel knows at any time: only an address of its own can be bound. Where it lets
/// foreign ones be bound too, it still speaks to its own from the same address. Nothing is sent to find out.
fn foreign(address: IpAddr) -> Result<(), Unfit> {
    // Addresses for documents, which nobody has.
    let (any, nobody): (IpAddr, IpAddr) = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(_) => {
            (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
        }
    };
    let is_own = if UdpSocket::bind((nobody, 0)).is_ok() {
        let from = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        from.is_ok_and(|from| from.ip() == address)
    } else {
        UdpSocket::bind((address, 0)).is_ok()
    };
    if is_own { Err(Unfit::Own) } else { Ok(()) }
}

/// The two families in turn, in the order that each came in.
fn taking_turns(found: Vec<IpAddr>) -> Vec<IpAddr> {
    let first_is_v6 = found.first().is_some_and(IpAddr::is_ipv6);
    let (first, second): (Vec<IpAddr>, Vec<IpAddr>) =
        found.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let longest = first.len().max(second.len());
    let mut out = Vec::with_capacity(first.len() + second.len());
    for at in 0..longest {
        out.extend(first.get(at).copied());
        out.extend(second.get(at).copied());
    }
    out
}

/// Dials one after the other, without waiting long for each. The first that accepts is the one.
async fn first_of(addresses: &[SocketAddr]) -> Result<(TcpStream, IpAddr), DialError> {
    let mut waiting = addresses.iter();
    let mut dialling = FuturesUnordered::new();
    let mut last = DialError::NoAddress;
    loop {
        let next = waiting.next();
        let is_last = next.is_none();
        if let Some(address) = next {
            dialling.push(async { (TcpStream::connect(*address).await, address.ip()) });
        }
        loop {
            if dialling.is_empty() {
                break;
            }
            let attempt = if is_last {
                dialling.next().await
            } else {
                match timeout(limits::NEXT_ADDRESS, dialling.next()).await {
                    Ok(attempt) => attempt,
                    Err(_late) => break,
                }
            };
            match attempt {
                Some((Ok(stream), address)) => return Ok((stream, address)),
                Some((Err(error), _)) => {
                    last = DialError::Unreachable(error.to_string());
                    if !is_last {
                        break;
                    }
                }
                None => break,
            }
        }
        if is_last && dialling.is_empty() {
            return Err(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::RefusalCode;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn of_a_mixed_answer_only_the_public_addresses_are_kept() {
        let kept =
            public(ips(&["10.0.0.1", "1.1.1.1", "169.254.169.254", "64:ff9b::a00:1"])).unwrap();
        assert_eq!(kept, ips(&["1.1.1.1"]));
    }

    #[test]
    fn an_answer_without_public_addresses_says_why() {
        let why = public(ips(&["169.254.169.254", "10.0.0.1"])).unwrap_err();
        assert!(matches!(why, DialError::Unfit(Unfit::Metadata)), "{why}");
        assert_eq!(why.refusal(("a.test", 443)).code, RefusalCode::Address);
    }

    #[test]
    fn families_take_turns() {
        let mixed = ips(&["2606::1", "2606::2", "1.1.1.1", "1.1.1.2", "1.1.1.3"]);
        let turns = ips(&["2606::1", "1.1.1.1", "2606::2", "1.1.1.2", "1.1.1.3"]);
        assert_eq!(taking_turns(mixed), turns);
    }

    #[test]
    fn an_address_of_this_machine_is_recognised() {
        assert_eq!(foreign(Ipv4Addr::LOCALHOST.into()), Err(Unfit::Own));
        assert_eq!(foreign(Ipv4Addr::new(127, 0, 0, 9).into()), Err(Unfit::Own));
    }
}
