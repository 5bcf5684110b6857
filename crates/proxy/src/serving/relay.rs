//! A granted request on its way to the host, and the answer on its way back.
//!
//! ```text
//!  program ── body, piece by piece ──▶ passage ──▶ host      (sending)
//!  program ◀── scrub ◀── meter ◀── answer, as it comes ── host   (receiving)
//! ```
//!
//! Both run at once, and neither keeps more than one piece: who does not read slows who writes.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    attempt::{Fault, Outgoing, refused},
    dial,
    dress::{DressError, Reading, dress},
    ended::Ended,
    errand::{Errand, body_refusal},
    intake::Intake,
    passage::{Passage, Stopped},
    pool::Identity,
    reach::DialError,
    receiving::{Answered, Receiving},
    scrub::Scrubber,
    sending::{SendFault, Sending},
    talk::Next,
    tunnel,
    upstream::Upstream,
};
use crate::{
    ask::{Grant, Refusal, RefusalCode, Upgrade},
    model::usage::Reader,
    readers::head::{BodyLength, Persistence, Verb},
};
use domain::policy::Method;

/// Carries a request that was granted.
pub(super) async fn relay<S: AsyncRead + AsyncWrite + Unpin + Send>(
    mut errand: Errand<'_, S>,
    grant: Grant,
) -> Next {
    errand.open.set_grant(&grant);
    let scrubber = Scrubber::new(&grant.scrub);
    let is_read = !scrubber.is_idle() || grant.meter.is_some();
    let reading = if is_read { Reading::Read } else { Reading::Passed };
    let dressed = match dress(&errand.head, &errand.path, &grant, reading) {
        Ok(dressed) => dressed,
        Err(error) => {
            let refusal = undressed(&errand, &error);
            return errand.refuse(refusal).await;
        }
    };
    if let Some(refusal) = unfit_for(&errand, &grant) {
        return errand.refuse(refusal).await;
    }
    let mut passage = match Passage::new(&grant.body, &errand.head) {
        Ok(passage) => passage,
        Err(stopped) => return stop(errand, stopped).await,
    };
    errand.invite().await;
    let mut ready = match read_ahead(&mut errand, &mut passage).await {
        Ok(ready) => ready,
        Err(Fault::Stopped(stopped)) => return stop(errand, *stopped).await,
        Err(Fault::Refused(refusal)) => return errand.refuse(*refusal).await,
        Err(Fault::NoAnswer | Fault::Broken(_)) => return Next::Close,
    };
    let identity = Identity::of(&grant);
    let mut waiting = errand.asked.sandbox.pool.take(&identity);
    loop {
        let is_reused = waiting.is_some();
        let upstream = match waiting.take() {
            Some(upstream) => Ok(upstream),
            None => dial::open(&grant, &errand.asked.sandbox).await,
        };
        let mut upstream = match upstream {
            Ok(upstream) => upstream,
            Err(error) => return unreachable_host(errand, &error).await,
        };
        errand.open.set_address(upstream.address);
        let may_repeat = is_reused && is_repeatable(&errand);
        let outgoing = Outgoing { dressed: &dressed, grant: &grant, reading };
        let (exchanged, meter) =
            exchange(&mut errand, &mut upstream, &outgoing, &mut passage, &mut ready).await;
        errand.open.set_usage(meter.map(Reader::finish));
        match exchanged {
            Err(Fault::NoAnswer) if may_repeat => {}
            Err(fault) => return fail(errand, fault).await,
            Ok(answered) if answered.is_upgrade => {
                return upgraded(errand, upstream, &grant, answered.status).await;
            }
            Ok(answered) => {
                let next = next(&errand, &answered);
                if answered.keeps && errand.body.is_done() {
                    errand.asked.sandbox.pool.put(identity, upstream);
                }
                errand.open.done(Some(answered.status)).await;
                return next;
            }
        }
    }
}

fn stopped_by(stopped: Stopped) -> Fault {
    Fault::Stopped(Box::new(stopped))
}

/// One attempt, on one connection.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send>(
    errand: &mut Errand<'_, S>,
    upstream: &mut Upstream,
    outgoing: &Outgoing<'_>,
    passage: &mut Passage,
    ready: &mut Vec<u8>,
) -> (Result<Answered, Fault>, Option<Reader>) {
    let asked = errand.asked;
    let counts = std::sync::Arc::clone(errand.open.counts());
    let persistence = errand.head.persistence;
    let mut meter = outgoing.grant.meter.map(Reader::new);
    let ended = {
        let program = &mut errand.talk.intake;
        let receiving = Receiving {
            intake: &mut upstream.intake,
            write: &mut errand.talk.write,
            meter: &mut meter,
            scrubber: Scrubber::new(&outgoing.grant.scrub),
            counts: &counts,
            persistence,
            asked,
        };
        let is_metered = outgoing.grant.meter.is_some();
        let is_sent = AtomicBool::new(false);
        let up = async {
            let sending = Sending {
                intake: &mut *program,
                body: &mut errand.body,
                held: errand.held.clone(),
                ready,
                passage,
                write: &mut upstream.write,
                counts: &counts,
            };
            let sent = sending.run(outgoing).await;
            is_sent.store(true, Ordering::Relaxed);
            if sent.is_ok() && is_metered {
                return left(program).await;
            }
            sent
        };
        let down = receiving.run(outgoing);
        tokio::pin!(up, down);
        let mut is_sending = true;
        loop {
            tokio::select! {
                biased;
                received = &mut down => {
                    // A connection on which a request is still being sent is not used again.
                    break received.map(|answered| Answered {
                        keeps: answered.keeps && is_sent.load(Ordering::Relaxed),
                        ..answered
                    });
                }
                sent = &mut up, if is_sending => match sent {
                    // A host that does not take all may still have answered.
                    Ok(()) | Err(SendFault::Host) => is_sending = false,
                    Err(SendFault::Left) => {
                        break Err(Fault::Broken("the program did not wait for the answer".to_owned()));
                    }
                    Err(SendFault::Stopped(stopped)) => break Err(stopped_by(stopped)),
                    Err(SendFault::Program(fault)) => {
                        break Err(refused(body_refusal(asked, &fault)));
                    }
                    Err(SendFault::Slow) => {
                        let reason = "the rest of the body did not come in time";
                        break Err(refused(asked.refusal((408, RefusalCode::Limit), reason)));
                    }
                    Err(SendFault::Budget) => {
                        let reason = format!(
                            "the request has more than the {} bytes that may leave",
                            outgoing.grant.most_up
                        );
                        break Err(refused(asked.refusal((413, RefusalCode::Budget), reason)));
                    }
                },
            }
        }
    };
    // What the program was already told cannot be taken back.
    let ended = match ended {
        Err(Fault::Refused(refusal)) if counts.down() > 0 => Err(Fault::Broken(refusal.reason)),
        Err(Fault::Stopped(stopped)) if counts.down() > 0 => Err(Fault::Broken(stopped.reason)),
        other => other,
    };
    (ended, meter)
}

/// Waits for a program to leave while a model thinks: money is set aside for as long as it does. A program that has something more to
/// say is still there.
async fn left<R: AsyncRead + Unpin>(program: &mut Intake<R>) -> Result<(), SendFault> {
    match program.fill().await {
        Ok(0) | Err(_) => Err(SendFault::Left),
        Ok(_) => Ok(()),
    }
}

/// Reads of a push what has to be read before anybody is dialled.
async fn read_ahead<S: AsyncRead + AsyncWrite + Unpin + Send>(
    errand: &mut Errand<'_, S>,
    passage: &mut Passage,
) -> Result<Vec<u8>, Fault> {
    let mut ready = Vec::new();
    if passage.waits()
        && let Some(held) = errand.held.take()
    {
        let given = passage.read(held).map_err(stopped_by)?;
        ready.extend_from_slice(given.as_ref());
    }
    while passage.waits() {
        let Some(piece) = errand.next_piece().await.map_err(Fault::Refused)? else {
            passage.finish().map_err(stopped_by)?;
            break;
        };
        ready.extend_from_slice(passage.read(piece).map_err(stopped_by)?.as_ref());
    }
    Ok(ready)
}

/// A WebSocket: bytes both ways, until the rules change or somebody is done.
async fn upgraded<S: AsyncRead + AsyncWrite + Unpin + Send>(
    errand: Errand<'_, S>,
    mut upstream: Upstream,
    grant: &Grant,
    status: u16,
) -> Next {
    let again = tunnel::Again { question: errand.question(None), generation: grant.generation };
    let scrubber = Scrubber::new(&grant.scrub);
    let counts = std::sync::Arc::clone(errand.open.counts());
    let ended = {
        let up = tunnel::Pump {
            intake: &mut errand.talk.intake,
            write: &mut upstream.write,
            scrubber: None,
            gate: None,
        };
        let down = tunnel::Pump {
            intake: &mut upstream.intake,
            write: &mut errand.talk.write,
            scrubber: (!scrubber.is_idle()).then_some(scrubber),
            gate: None,
        };
        let limits = tunnel::Most { up: grant.most_up, down: grant.most_down };
        tunnel::run(&errand.asked.sandbox, &errand.open, (up, down), &counts, limits, again).await
    };
    match ended {
        Ended::Done => errand.open.done(Some(status)).await,
        Ended::Refused(refusal) => errand.open.refused(*refusal).await,
        Ended::Broken(reason) => errand.open.broken(reason).await,
    }
    Next::Close
}

async fn fail<S: AsyncRead + AsyncWrite + Unpin + Send>(
    errand: Errand<'_, S>,
    fault: Fault,
) -> Next {
    match fault {
        Fault::Refused(refusal) => errand.refuse(*refusal).await,
        Fault::Stopped(stopped) => stop(errand, *stopped).await,
        Fault::NoAnswer => {
            let reason = "the host closed the connection without an answer";
            let refusal = errand.asked.refusal((502, RefusalCode::Upstream), reason);
            errand.refuse(refusal).await
        }
        Fault::Broken(reason) => {
            errand.open.broken(reason).await;
            Next::Close
        }
    }
}

/// Git reads an answer only when it has sent everything.
async fn stop<S: AsyncRead + AsyncWrite + Unpin + Send>(
    mut errand: Errand<'_, S>,
    stopped: Stopped,
) -> Next {
    while let Ok(Some(_over)) = errand.next_piece().await {}
    let refusal = errand.asked.refusal((403, RefusalCode::Push), stopped.reason);
    errand.refuse_git(refusal, &stopped.answer).await
}

async fn unreachable_host<S: AsyncRead + AsyncWrite + Unpin + Send>(
    errand: Errand<'_, S>,
    error: &DialError,
) -> Next {
    let place = &errand.asked.place;
    let refusal = error.refusal((place.host.as_str(), place.port));
    errand.refuse(refusal).await
}

fn undressed<S>(errand: &Errand<'_, S>, error: &DressError) -> Refusal {
    let kind = match error {
        DressError::Plain => (403, RefusalCode::Credential),
        DressError::Head(_) | DressError::Target(_) => (400, RefusalCode::Malformed),
    };
    errand.asked.refusal(kind, error.to_string())
}

/// What a grant does not cover, although the broker gave it.
fn unfit_for<S>(errand: &Errand<'_, S>, grant: &Grant) -> Option<Refusal> {
    if errand.head.upgrade == Upgrade::WebSocket && grant.upgrade == Upgrade::Refused {
        let reason = "the rule does not allow a WebSocket";
        return Some(errand.asked.refusal((403, RefusalCode::Unsupported), reason));
    }
    let declared = match errand.head.body {
        BodyLength::Exactly(count) => count,
        BodyLength::Nothing | BodyLength::Chunked | BodyLength::UntilClose => 0,
    };
    (declared > grant.most_up).then(|| {
        let reason = format!("the request has {declared} bytes, and {} may leave", grant.most_up);
        errand.asked.refusal((413, RefusalCode::Budget), reason)
    })
}

/// Whether a request may be sent a second time, if a host closed a waiting connection at the wrong moment.
fn is_repeatable<S>(errand: &Errand<'_, S>) -> bool {
    let is_safe = matches!(
        errand.head.verb,
        Verb::Method(Method::Get | Method::Head | Method::Options | Method::Put | Method::Delete)
    );
    is_safe && (errand.held.is_some() || errand.head.body == BodyLength::Nothing)
}

fn next<S>(errand: &Errand<'_, S>, _answered: &Answered) -> Next {
    match (errand.body.is_done(), errand.head.persistence) {
        (true, Persistence::Keep) => Next::Again,
        (true, Persistence::Close) | (false, _) => Next::Close,
    }
}
