//! The DNS of the toy internet: answers for every name that there is, and remembers who asked for what.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, UdpSocket},
};
use tokio_util::task::TaskTracker;

use super::{
    PUBLIC,
    seen::{Arrival, Seen, canonical},
};

/// What fits into one datagram.
const FITS: usize = 1232;

const A: u16 = 1;
const AAAA: u16 = 28;

type Addresses = Box<dyn Fn(usize) -> Vec<IpAddr> + Send + Sync>;

pub(super) struct Names {
    seen: Arc<Seen>,
    known: Mutex<BTreeMap<String, Addresses>>,
    /// How often each kind of address was asked for.
    asked: Mutex<BTreeMap<(String, u16), usize>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

impl Names {
    pub(super) fn new(seen: Arc<Seen>) -> Self {
        Self { seen, known: Mutex::default(), asked: Mutex::default() }
    }

    pub(super) fn set(&self, name: &str, addresses: Addresses) {
        self.known.lock().unwrap().insert(name.to_owned(), addresses);
        self.asked.lock().unwrap().retain(|(known, _), _| known != name);
    }

    fn addresses(&self, name: &str, kind: u16) -> Vec<IpAddr> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.entry((name.to_owned(), kind)).or_default();
        let known = self.known.lock().unwrap();
        let found = known
            .get(name)
            .map_or_else(|| vec![PUBLIC.parse().unwrap()], |addresses| addresses(*before));
        *before += 1;
        let wanted = |address: &IpAddr| match kind {
            A => address.is_ipv4(),
            AAAA => address.is_ipv6(),
            _ => false,
        };
        found.into_iter().filter(wanted).collect()
    }

    /// The answer to a question, if it is one.
    fn answer(&self, question: &[u8], at: SocketAddr) -> Option<Vec<u8>> {
        let mut rest = question.get(12..)?;
        let mut labels = Vec::new();
        loop {
            let (length, after) = rest.split_first()?;
            let (label, after) = after.split_at_checked(usize::from(*length))?;
            rest = after;
            if label.is_empty() {
                break;
            }
            labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        }
        let name = labels.join(".");
        let kind = u16::from_be_bytes(rest.get(..2)?.try_into().ok()?);
        let asked = question.get(12..question.len() - rest.len() + 4)?;
        self.seen.add(Arrival::Query { name: name.clone(), kind, at });
        let found = self.addresses(&name, kind);
        let mut answer = question.get(..2)?.to_vec();
        let count = u16::try_from(found.len()).ok()?;
        // An answer, authoritative, to one question; recursion is offered.
        for word in [0x8580, 1, count, 0, 0] {
            answer.extend(u16::to_be_bytes(word));
        }
        answer.extend(asked);
        for address in found {
            let bytes = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            // The name as in the question; not to be kept at all.
            answer.extend([0xc0, 12]);
            answer.extend(kind.to_be_bytes());
            answer.extend([0, 1, 0, 0, 0, 0]);
            answer.extend(u16::try_from(bytes.len()).ok()?.to_be_bytes());
            answer.extend(bytes);
        }
        Some(answer)
    }
}

/// Answers at port 53 of these addresses, over UDP; over TCP everywhere.
pub(super) async fn serve(names: &Arc<Names>, addresses: &[&str], tasks: &TaskTracker) {
    for address in addresses {
        let at = SocketAddr::new(address.parse().unwrap(), 53);
        let socket = UdpSocket::bind(at).await.unwrap();
        let names = Arc::clone(names);
        tasks.spawn(async move {
            let mut bytes = vec![0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
                if let Some(mut answer) = names.answer(&bytes[..length], at) {
                    if answer.len() > FITS {
                        // Only the question, and the mark that there is more: ask again over TCP.
                        answer.truncate(length);
                        answer[2] |= 0x02;
                        answer[6..12].fill(0);
                    }
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
    }
    let listener = TcpListener::bind("[::]:53").await.unwrap();
    let (names, spawner) = (Arc::clone(names), tasks.clone());
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let names = Arc::clone(&names);
            spawner.spawn(async move {
                while let Ok(length) = stream.read_u16().await {
                    let mut question = vec![0; usize::from(length)];
                    let Ok(_) = stream.read_exact(&mut question).await else { return };
                    let Ok(at) = stream.local_addr().map(canonical) else { return };
                    let Some(answer) = names.answer(&question, at) else { return };
                    let length = u16::try_from(answer.len()).unwrap();
                    let framed = [&length.to_be_bytes(), answer.as_slice()].concat();
                    let Ok(()) = stream.write_all(&framed).await else { return };
                }
            });
        }
    });
}
