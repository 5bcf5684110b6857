//! The model at a socket. Whoever drops the future closes every connection.

use std::{collections::VecDeque, convert::Infallible, io};

use bytes::Bytes;
use contracts::clock::{Clock as _, SystemClock};
use http_body_util::{BodyExt as _, Limited, StreamBody, combinators::BoxBody};
use hyper::{
    Response,
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};

use super::{Beat, Head, LARGEST_BODY, Length, Model, Request};

/// Answers whoever comes, until it is dropped.
pub async fn serve(listener: TcpListener, model: Model) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let (stream, _) = accepted?;
        stream.set_nodelay(true)?;
        let model = model.clone();
        connections.spawn(async move {
            let answering = service_fn(move |request| {
                let model = model.clone();
                async move { Ok::<_, Infallible>(respond(&model, request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answering);
            // A connection that breaks is one that a script broke, or a program that went.
            let _ = connection.await;
        });
    }
}

type Body = BoxBody<Bytes, io::Error>;

async fn respond(model: &Model, request: hyper::Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let headers = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let mut asked = Request {
        method: parts.method.as_str().to_owned(),
        target,
        headers: headers.collect(),
        body: Vec::new(),
    };
    match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => asked.body = body.to_bytes().to_vec(),
        Err(_) => return plain(413),
    }
    let mut beats = VecDeque::from(model.answer(&asked));
    // What comes before the head is waited for; without one there is never an answer.
    while let Some(beat) = beats.pop_front() {
        match beat {
            Beat::Head(head) => return headed(head, Player { beats, clock: SystemClock }),
            Beat::Pause(time) => rest(&SystemClock, time).await,
            Beat::Silence | Beat::Bytes(_) | Beat::Again { .. } | Beat::Endless(_) => {
                return std::future::pending().await;
            }
            Beat::Cut => return plain(502),
        }
    }
    plain(502)
}

fn plain(status: u16) -> Response<Body> {
    let mut response =
        Response::new(http_body_util::Empty::new().map_err(|never| match never {}).boxed());
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response
}

fn headed(head: Head, player: Player) -> Response<Body> {
    let frames = futures::stream::unfold(player, |mut player| async move {
        Some((player.next().await?.map(Frame::data), player))
    });
    let mut response = plain(head.status);
    *response.body_mut() = BoxBody::new(StreamBody::new(frames));
    let length = match head.length {
        Length::Known(length) => Some(("content-length", length.to_string())),
        Length::Chunked => None,
    };
    for (name, value) in head.headers.into_iter().chain(length) {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn rest(clock: &SystemClock, time: std::time::Duration) {
    clock.sleep_until(clock.now() + time).await;
}

/// Plays what comes after the head.
struct Player {
    beats: VecDeque<Beat>,
    clock: SystemClock,
}

impl Player {
    /// The next bytes, if there are more.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            // What was said before goes out before this does.
            tokio::task::yield_now().await;
            match self.beats.pop_front()? {
                Beat::Bytes(bytes) if bytes.is_empty() => {}
                Beat::Bytes(bytes) => return Some(Ok(bytes.into())),
                Beat::Again { times: 0, .. } | Beat::Head(_) => {}
                Beat::Again { bytes, times } => {
                    let now = Bytes::copy_from_slice(&bytes);
                    self.beats.push_front(Beat::Again { bytes, times: times - 1 });
                    return Some(Ok(now));
                }
                Beat::Endless(bytes) => {
                    let now = Bytes::copy_from_slice(&bytes);
                    self.beats.push_front(Beat::Endless(bytes));
                    return Some(Ok(now));
                }
                Beat::Pause(time) => rest(&self.clock, time).await,
                Beat::Silence => std::future::pending().await,
                Beat::Cut => {
                    self.beats.clear();
                    return Some(Err(io::Error::from(io::ErrorKind::ConnectionAborted)));
                }
            }
        }
    }
}
