//! A connection whose requests are asked about one by one.
//!
//! If it is TLS, it ends here: the program sees a certificate of the sandbox's own authority, in the name of the host. A hello with ECH is
//! taken without it: the name that we see is then the one that counts, and a program that insists on the other gives up by itself.

use std::sync::Arc;

use bytes::BytesMut;
use domain::policy::HostName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

use super::{
    carry::{carry, refuse_blindly},
    errand::Asked,
    exchange::Open,
    greeting::{TLS_HANDSHAKE, agree},
    intake::{Arrival, HeadFault, Intake, Rewound},
    limits,
    refusal::{self, After},
    sandbox::{Origin, Sandbox},
    talk::{Next, Talk},
};
use crate::{
    ask::{Refusal, RefusalCode, Scheme},
    readers::{
        hello::{self, HelloError},
        target::Authority,
    },
};

/// The alert that says that a version is too old, and the one for a hello that cannot be read.
const ALERT_VERSION: [u8; 7] = [21, 3, 1, 0, 2, 2, 70];
const ALERT_DECODE: [u8; 7] = [21, 3, 1, 0, 2, 2, 50];

/// Serves a connection that the broker wants looked into. `open` is the exchange of its opening.
pub(super) async fn inspect(
    sandbox: &Arc<Sandbox>,
    open: Open,
    place: Authority,
    origin: Origin,
    (stream, before): (TcpStream, BytesMut),
) {
    let mut intake = Intake::new(stream, before);
    match timeout(limits::HANDSHAKE, intake.arrival()).await {
        Ok(Ok(Arrival::Bytes)) => {}
        // Opened and never used: nothing wanted to leave.
        Ok(Ok(Arrival::Closed) | Err(_)) | Err(_) => return open.forget(),
    }
    if intake.buffered().first() == Some(&TLS_HANDSHAKE) {
        return inspect_tls(sandbox, open, place, origin, intake).await;
    }
    open.forget();
    let (stream, before) = intake.into_parts();
    let asked = Asked { sandbox: Arc::clone(sandbox), place, scheme: Scheme::Http, origin };
    requests(Talk::new(stream, before), &asked).await;
}

async fn inspect_tls(
    sandbox: &Arc<Sandbox>,
    open: Open,
    place: Authority,
    origin: Origin,
    mut intake: Intake<TcpStream>,
) {
    let name = match server_name(&mut intake).await {
        Ok(name) => name,
        Err(HelloFault::Hello(error)) => return unreadable(open, &place, &error, intake).await,
        Err(HelloFault::Cut(reason)) => return open.broken(reason).await,
    };
    let agreed = agree(&place, name.as_ref());
    let face = name.as_ref().unwrap_or(&place.host);
    let (stream, before) = intake.into_parts();
    let stream = match sandbox.faces.accept(face, Rewound::new(before, stream)).await {
        Ok(stream) => stream,
        Err(reason) => return open.broken(reason).await,
    };
    let mut talk = Talk::new(stream, BytesMut::new());
    if let Err(refusal) = agreed {
        answer_once(&mut talk, open, *refusal).await;
        return talk.farewell().await;
    }
    open.forget();
    let asked = Asked { sandbox: Arc::clone(sandbox), place, scheme: Scheme::Https, origin };
    requests(talk, &asked).await;
}

/// Requests, one after the other. The next is read only when the last is answered.
pub(super) async fn requests<S: AsyncRead + AsyncWrite + Unpin + Send>(
    mut talk: Talk<S>,
    asked: &Asked,
) {
    let mut patience = limits::HANDSHAKE;
    loop {
        match timeout(patience, talk.intake.arrival()).await {
            Ok(Ok(Arrival::Bytes)) => {}
            Ok(Ok(Arrival::Closed) | Err(_)) | Err(_) => return,
        }
        patience = limits::KEEP_ALIVE;
        let next = match timeout(limits::HEAD, talk.intake.request()).await {
            Ok(Ok(Some(head))) => carry(&mut talk, asked, head).await,
            Ok(Ok(None) | Err(HeadFault::Cut | HeadFault::Io(_))) => return,
            Ok(Err(HeadFault::Head(error))) => {
                let place = (asked.place.host.as_str(), asked.place.port);
                let open = Open::begin_at(&asked.sandbox, &asked.place, asked.origin);
                refuse_blindly(&mut talk, open, refusal::of_head(&error, place)).await
            }
            Err(_late) => {
                let open = Open::begin_at(&asked.sandbox, &asked.place, asked.origin);
                let reason = "the head of the request did not come in time";
                let refusal = asked.refusal((408, RefusalCode::Limit), reason);
                refuse_blindly(&mut talk, open, refusal).await
            }
        };
        match next {
            Next::Again => {}
            Next::Close => return talk.farewell().await,
        }
    }
}

/// Ends TLS only to say why it goes no further, so that the program shows the sentence. Reports the exchange.
pub(super) async fn refuse_tls(
    sandbox: &Arc<Sandbox>,
    open: Open,
    name: &HostName,
    refusal: Refusal,
    (stream, before): (TcpStream, BytesMut),
) {
    // Whatever becomes of the handshake, it was refused.
    open.refused(refusal.clone()).await;
    if let Ok(stream) = sandbox.faces.accept(name, Rewound::new(before, stream)).await {
        let mut talk = Talk::new(stream, BytesMut::new());
        tell(&mut talk, &refusal).await;
        talk.farewell().await;
    }
}

/// Answers the first request with the refusal, and reports.
async fn answer_once<S: AsyncRead + AsyncWrite + Unpin>(
    talk: &mut Talk<S>,
    open: Open,
    refusal: Refusal,
) {
    open.refused(refusal.clone()).await;
    tell(talk, &refusal).await;
}

/// Answers the first request with a refusal that was reported.
pub(super) async fn tell<S: AsyncRead + AsyncWrite + Unpin>(talk: &mut Talk<S>, refusal: &Refusal) {
    let accept = match timeout(limits::HEAD, talk.intake.request()).await {
        Ok(Ok(Some(head))) => head.headers.text("accept").map(str::to_owned),
        Ok(Err(HeadFault::Head(_))) => None,
        Ok(Ok(None) | Err(HeadFault::Cut | HeadFault::Io(_))) | Err(_) => return,
    };
    let _ = talk.say(&refusal::render(refusal, accept.as_deref(), After::Close)).await;
}

pub(super) enum HelloFault {
    Hello(HelloError),
    Cut(String),
}

/// The name in the hello that has begun to arrive. The bytes stay where they are.
pub(super) async fn server_name<R: AsyncRead + Unpin>(
    intake: &mut Intake<R>,
) -> Result<Option<HostName>, HelloFault> {
    let reading = async {
        loop {
            match hello::read(intake.buffered()) {
                Ok(Some(hello)) => return Ok(hello.server_name),
                Ok(None) => {}
                Err(error) => return Err(HelloFault::Hello(error)),
            }
            let cut = |reason: String| HelloFault::Cut(reason);
            if intake.fill().await.map_err(|error| cut(error.to_string()))? == 0 {
                return Err(
                    cut("the program closed in the middle of the TLS handshake".to_owned()),
                );
            }
        }
    };
    match timeout(limits::HANDSHAKE, reading).await {
        Ok(name) => name,
        Err(_late) => Err(HelloFault::Cut("the TLS handshake took too long".to_owned())),
    }
}

/// Refuses a hello that cannot be read, with the alert that TLS has for it.
pub(super) async fn unreadable(
    open: Open,
    place: &Authority,
    error: &HelloError,
    intake: Intake<TcpStream>,
) {
    let (kind, alert) = match error {
        HelloError::Version => ((403, RefusalCode::Unsupported), ALERT_VERSION),
        HelloError::Name(_) | HelloError::Names => ((421, RefusalCode::Mismatch), ALERT_DECODE),
        HelloError::NotTls | HelloError::TooLong | HelloError::Malformed | HelloError::Twice => {
            ((400, RefusalCode::Malformed), ALERT_DECODE)
        }
    };
    let refusal = refusal::by_gateway(kind, (place.host.as_str(), place.port), error.to_string());
    open.refused(refusal).await;
    let (stream, before) = intake.into_parts();
    let mut talk = Talk::new(stream, before);
    let _ = talk.say(&alert).await;
    talk.farewell().await;
}
