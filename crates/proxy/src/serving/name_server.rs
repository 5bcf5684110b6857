//! Answers programs that look names up, by datagram and by connection, after the broker was asked.
//!
//! **Invariant:** nothing is looked up outside; a program learns addresses of our making alone.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use bytes::BytesMut;
use tokio::{
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use super::{limits, sandbox::Sandbox, talk::Talk};
use crate::{
    ask::{Answer, Question, RefusalCode},
    readers::dns::{self, QUESTION_LIMIT},
};

/// How many questions there may still be in this second.
#[derive(Debug)]
struct Rate {
    left: u32,
    since: Instant,
}

impl Rate {
    fn new() -> Self {
        Self { left: limits::NAMES_PER_SECOND, since: Instant::now() }
    }

    /// Whether there is one more.
    fn take(&mut self) -> bool {
        if self.since.elapsed().as_secs() >= 1 {
            *self = Self::new();
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// Answers questions over UDP until the sandbox leaves. Too many are dropped: programs ask again.
pub(super) async fn serve_udp(sandbox: Arc<Sandbox>, socket: UdpSocket) {
    let socket = Arc::new(socket);
    let mut rate = Rate::new();
    let mut buffer = vec![0; QUESTION_LIMIT + 1];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Ok(turn) = Arc::clone(&sandbox.name_questions).try_acquire_owned() else { continue };
        if !rate.take() {
            continue;
        }
        let message = buffer.get(..length).unwrap_or_default().to_vec();
        let (asking, socket) = (Arc::clone(&sandbox), Arc::clone(&socket));
        sandbox.tasks.spawn(async move {
            let _turn = turn;
            let answering = answer(&asking, &message);
            let answer = tokio::select! {
                answer = answering => answer,
                () = asking.over.cancelled() => None,
            };
            if let Some(answer) = answer {
                reply(&socket, &answer, from).await;
            }
        });
    }
}

async fn reply(socket: &UdpSocket, answer: &[u8], to: SocketAddr) {
    // Whoever asked may be gone.
    let _ = socket.send_to(answer, to).await;
}

/// Answers questions on one TCP connection.
pub(super) async fn serve_tcp(sandbox: &Arc<Sandbox>, stream: TcpStream) {
    let mut talk = Talk::new(stream, BytesMut::new());
    for _question in 0..limits::NAMES_PER_CONNECTION {
        let reading = async {
            loop {
                if let Some((message, used)) = dns::unframe(talk.intake.buffered()) {
                    return Some((message.to_vec(), used));
                }
                if !matches!(talk.intake.fill().await, Ok(1..)) {
                    return None;
                }
            }
        };
        let Ok(Some((message, used))) = timeout(limits::HANDSHAKE, reading).await else { return };
        talk.intake.skip(used);
        let Ok(_turn) = sandbox.name_questions.acquire().await else { return };
        let Some(answer) = answer(sandbox, &message).await else { return };
        if talk.say(&dns::frame(&answer)).await.is_err() {
            return;
        }
    }
}

/// The answer to one message, if it gets one.
async fn answer(sandbox: &Arc<Sandbox>, message: &[u8]) -> Option<Vec<u8>> {
    let question = match dns::read(message) {
        Ok(question) => question,
        Err(error) => return error.answer(),
    };
    let Some(host) = question.host.clone() else { return Some(question.no_name()) };
    let known = sandbox.names().known(&host, sandbox.generation());
    if let Some(address) = known {
        return Some(question.address(address));
    }
    // One after the other: the second of two questions about one name is answered by what the first one learned.
    let Ok(_turn) = sandbox.name_turn.acquire().await else { return None };
    let generation = sandbox.generation();
    if sandbox.names().was_refused(&host, generation) {
        return Some(question.no_name());
    }
    let exchange = sandbox.broker().number();
    match sandbox.ask(exchange, Question::Name { host: host.to_string() }).await {
        Answer::Known { generation } if generation >= sandbox.generation() => {
            Some(question.address(sandbox.names().address(&host, generation)))
        }
        Answer::Refused(refusal) if refusal.code != RefusalCode::Closed => {
            sandbox.names().refused(host, generation);
            Some(question.no_name())
        }
        // The rules have changed in between, or the broker is gone: ask later.
        Answer::Known { .. }
        | Answer::Refused(_)
        | Answer::Opaque(_)
        | Answer::Inspect { .. }
        | Answer::NeedBody { .. }
        | Answer::Granted(_) => Some(question.failure()),
    }
}
