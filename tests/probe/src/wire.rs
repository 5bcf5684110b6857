//! Bytes as an attacker sends them: to a proxy, to a resolver, of a protocol that nobody expects, and very many at once.
//!
//! Bytes are written as text, with `\r`, `\n`, `\\` and `\xHH`.

use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

use crate::{
    Attempt, Outcome,
    raw::{Given, call, put},
    sockets::{kind, parsed},
};

/// How long nobody says anything before it is over.
const SILENCE: Duration = Duration::from_secs(5);
/// `AF_INET`, as an address has it.
const FAMILY: u16 = 2;
/// Of an answer, what is told of it.
const TOLD: usize = 600;

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    Some(match words {
        ["say", address, steps @ ..] => parsed(address).and_then(|at| say(at, steps)),
        ["ask", "udp", address, text] => parsed(address).and_then(|at| ask_udp(at, &bytes(text))),
        ["ask", "tcp", address, text] => parsed(address).and_then(|at| ask_tcp(at, &bytes(text))),
        ["send", name, address] => parsed(address).and_then(|at| send(name, at)),
        ["flood", address, count, seconds, text] => parsed(address).and_then(|at| {
            let (count, seconds) = (number(count)?, number(seconds)?);
            let count = usize::try_from(count).unwrap_or(0);
            Ok(flood(at, count, Duration::from_secs(seconds), text))
        }),
        ["relay", port, address] => parsed(address).and_then(|at| relay(port, at)),
        _ => return None,
    })
}

/// Runs an attempt, and tells if it took longer than so many milliseconds.
pub(crate) fn within(millis: &str, attempt: impl FnOnce() -> Attempt) -> Attempt {
    let (limit, begun) = (Duration::from_millis(number(millis)?), Instant::now());
    let outcome = attempt();
    let took = begun.elapsed();
    if took > limit {
        let outcome = Outcome::from(outcome);
        return Ok(Outcome::value(format!("after {} ms: {outcome}", took.as_millis())));
    }
    outcome
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Says one thing after the other, each when something was answered to the one before, and gives all that was answered.
fn say(at: SocketAddr, steps: &[&str]) -> Attempt {
    let mut stream = TcpStream::connect_timeout(&at, SILENCE)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut heard = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        // Who has closed already has answered, too.
        if stream.write_all(&bytes(step)).is_err() {
            break;
        }
        if number + 1 < steps.len() && hear(&mut stream, &mut heard)? == 0 {
            break;
        }
    }
    while heard.len() < 1 << 20 && matches!(hear(&mut stream, &mut heard), Ok(1..)) {}
    Ok(Outcome::value(told(&heard)))
}

fn hear(stream: &mut TcpStream, heard: &mut Vec<u8>) -> io::Result<usize> {
    let mut piece = [0; 4096];
    let length = stream.read(&mut piece)?;
    heard.extend(piece.iter().take(length));
    Ok(length)
}

/// On one line.
fn told(heard: &[u8]) -> String {
    if heard.is_empty() {
        return "nothing".to_owned();
    }
    let mut told = String::new();
    for &byte in heard.iter().take(TOLD) {
        match byte {
            b'\r' => {}
            b'\n' => told.push('|'),
            b' '..=b'~' => told.push(char::from(byte)),
            other => {
                let _ = write!(told, "\\x{other:02x}");
            }
        }
    }
    told
}

/// The bytes that a text stands for.
fn bytes(text: &str) -> Vec<u8> {
    let mut rest = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'r') => out.push(b'\r'),
            Some(b'n') => out.push(b'\n'),
            Some(b'x') => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                out.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

fn ask_udp(at: SocketAddr, question: &[u8]) -> Attempt {
    let any = if at.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.connect(at)?;
    socket.send(question)?;
    let mut answer = vec![0; 1 << 16];
    let length = socket.recv(&mut answer)?;
    Ok(answered(answer.get(..length).unwrap_or_default()))
}

fn ask_tcp(at: SocketAddr, question: &[u8]) -> Attempt {
    let mut stream = TcpStream::connect_timeout(&at, SILENCE)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    stream.write_all(&[&length.to_be_bytes(), question].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(answered(&answer))
}

/// What a resolver says: its code, how many answers, and the address at the end.
fn answered(answer: &[u8]) -> Outcome {
    let [_, _, _, flags, _, _, high, low, ..] = answer else {
        return Outcome::value(format!("{} bytes", answer.len()));
    };
    let (code, count) = (flags & 15, u16::from_be_bytes([*high, *low]));
    let last: Option<[u8; 4]> = answer.last_chunk().copied();
    match last.filter(|_| count > 0) {
        Some(last) => {
            Outcome::value(format!("code {code} answers {count} {}", Ipv4Addr::from(last)))
        }
        None => Outcome::value(format!("code {code} answers {count}")),
    }
}

/// Sends something to an address with a kind of socket that is not for it.
fn send(name: &str, at: SocketAddr) -> Attempt {
    let SocketAddr::V4(at) = at else {
        return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
    };
    let Some((family, kind, protocol)) = kind(name) else { return Ok(Outcome::Unknown) };
    let words = [family, kind, protocol].map(|word| Given::Number(i64::from(word)));
    let fd = call(libc::SYS_socket, words)?;
    let mut address = [0; 16];
    put(&mut address, 0, &FAMILY.to_ne_bytes());
    put(&mut address, 2, &at.port().to_be_bytes());
    put(&mut address, 4, &at.ip().octets());
    // An echo request, which is as good as anything where no echo is meant.
    let mut message = [8, 0, 0xf7, 0xfe, 0, 1, 0, 0];
    let sent = match kind & 0xf {
        libc::SOCK_DGRAM | libc::SOCK_RAW => {
            let length = Given::Number(message.len().cast_signed() as i64);
            let to = (Given::Bytes(&mut address), Given::Number(16));
            let given = [
                Given::Number(fd),
                Given::Bytes(&mut message),
                length,
                Given::Number(0),
                to.0,
                to.1,
            ];
            call(libc::SYS_sendto, given)
        }
        _ => call(
            libc::SYS_connect,
            [Given::Number(fd), Given::Bytes(&mut address), Given::Number(16)],
        ),
    };
    sent.map(|_| Outcome::Allowed)
}

/// Opens many connections, says the beginning of something on each, and holds them. Tells how many there were.
fn flood(at: SocketAddr, count: usize, time: Duration, text: &str) -> Outcome {
    let (text, begun) = (bytes(text), Instant::now());
    let mut open = Vec::new();
    while open.len() < count && begun.elapsed() < time {
        // More than fit have to wait, and try again.
        match TcpStream::connect_timeout(&at, Duration::from_millis(200)) {
            Ok(mut stream) => {
                let _ = stream.write_all(&text);
                open.push(stream);
            }
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => break,
            Err(_) => {}
        }
    }
    let left = time.saturating_sub(begun.elapsed());
    let (_keep, nothing) = std::sync::mpsc::channel::<()>();
    let _ = nothing.recv_timeout(left);
    Outcome::value(open.len())
}

/// Carries one connection from a port of its own to somewhere else, as a helper inside would.
fn relay(port: &str, to: SocketAddr) -> Attempt {
    let listener = TcpListener::bind(("127.0.0.1", u16::try_from(number(port)?).unwrap_or(0)))?;
    let (near, _) = listener.accept()?;
    let far = TcpStream::connect(to)?;
    let (mut up, mut down) = ((near.try_clone()?, far.try_clone()?), (far, near));
    let carrying = std::thread::spawn(move || {
        let _ = io::copy(&mut up.0, &mut up.1);
        let _ = up.1.shutdown(Shutdown::Write);
    });
    let _ = io::copy(&mut down.0, &mut down.1);
    let _ = down.1.shutdown(Shutdown::Write);
    let _ = carrying.join();
    Ok(Outcome::Allowed)
}
