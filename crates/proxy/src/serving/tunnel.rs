//! Bytes both ways, while the rules allow it.
//!
//! When the rules change, nothing moves until the broker has been asked again.

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    ended::Ended,
    exchange::{Counts, Open},
    greeting::greeting,
    intake::Intake,
    limits,
    sandbox::{Sandbox, unfit},
    scrub::Scrubber,
};
use crate::{
    ask::{Answer, Question, Refusal},
    readers::target::Authority,
};

/// One direction.
pub(super) struct Pump<'a, R, W> {
    pub(super) intake: &'a mut Intake<R>,
    pub(super) write: &'a mut W,
    pub(super) scrubber: Option<Scrubber>,
    /// The host that a TLS handshake at the beginning must name. Nothing passes before it was read.
    pub(super) gate: Option<&'a Authority>,
}

/// How it is asked about again, and under which rules it was allowed.
pub(super) struct Again {
    pub(super) question: Question,
    pub(super) generation: u64,
}

/// The most bytes each way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) up: u64,
    pub(super) down: u64,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Moves bytes until both sides are done.
pub(super) async fn run<PR, PW, HR, HW>(
    sandbox: &Arc<Sandbox>,
    open: &Open,
    (up, down): (Pump<'_, PR, HW>, Pump<'_, HR, PW>),
    counts: &Counts,
    most: Most,
    again: Again,
) -> Ended
where
    PR: AsyncRead + Unpin,
    PW: AsyncWrite + Unpin,
    HR: AsyncRead + Unpin,
    HW: AsyncWrite + Unpin,
{
    let mut changes = sandbox.changes();
    if sandbox.generation() > again.generation {
        // They have changed since it was allowed.
        changes.mark_changed();
    }
    let up = up.run(Direction::Up, counts, most.up);
    let down = down.run(Direction::Down, counts, most.down);
    tokio::pin!(up, down);
    let (mut is_up, mut is_down) = (true, true);
    let mut look = interval(limits::TUNNEL_LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut moved = (0, Instant::now());
    while is_up || is_down {
        tokio::select! {
            biased;
            new = changes.changed() => {
                if new.is_err() {
                    return Ended::Broken("the gateway stops".to_owned());
                }
                if let Err(refusal) = still(open.ask(again.question.clone()).await) {
                    return Ended::Refused(refusal);
                }
            }
            sent = &mut up, if is_up => match sent {
                Ok(()) => is_up = false,
                Err(ended) => return ended,
            },
            received = &mut down, if is_down => match received {
                Ok(()) => is_down = false,
                Err(ended) => return ended,
            },
            _tick = look.tick() => {
                let total = counts.up().saturating_add(counts.down());
                if total != moved.0 {
                    moved = (total, Instant::now());
                }
                let patience =
                    if is_up && is_down { limits::TUNNEL_IDLE } else { limits::HALF_CLOSED_IDLE };
                if moved.1.elapsed() > patience {
                    return Ended::Broken("nothing moved for too long".to_owned());
                }
            }
        }
    }
    Ended::Done
}

/// Whether what was allowed is allowed still.
fn still(answer: Answer) -> Result<(), Box<Refusal>> {
    match answer {
        Answer::Opaque(_) | Answer::Granted(_) => Ok(()),
        Answer::Refused(refusal) => Err(Box::new(refusal)),
        Answer::Known { .. } | Answer::Inspect { .. } | Answer::NeedBody { .. } => {
            let reason = "the rules now want to look at each request; connect again".to_owned();
            Err(Box::new(Refusal { reason, status: 403, ..unfit() }))
        }
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Pump<'_, R, W> {
    async fn run(mut self, direction: Direction, counts: &Counts, most: u64) -> Result<(), Ended> {
        let broken =
            |error: std::io::Error| Ended::Broken(format!("the connection broke: {error}"));
        if let Some(place) = self.gate {
            greeting(place, self.intake).await?;
        }
        loop {
            if self.intake.buffered().is_empty() && self.intake.fill().await.map_err(broken)? == 0 {
                break;
            }
            let length = self.intake.buffered().len();
            let total = match direction {
                Direction::Up => counts.add_up(length),
                Direction::Down => {
                    if counts.down() == 0 {
                        counts.first_byte();
                    }
                    counts.add_down(length)
                }
            };
            if total > most {
                let reason = format!("it has more than the {most} bytes that may pass");
                return Err(Ended::Broken(reason));
            }
            match &mut self.scrubber {
                None => self.write.write_all(self.intake.buffered()).await,
                Some(scrubber) => {
                    let clean = scrubber.feed(self.intake.buffered());
                    self.write.write_all(&clean).await
                }
            }
            .map_err(broken)?;
            self.write.flush().await.map_err(broken)?;
            self.intake.skip(length);
        }
        if let Some(scrubber) = &mut self.scrubber {
            self.write.write_all(&scrubber.finish()).await.map_err(broken)?;
        }
        // The other side may have gone already.
        let _ = self.write.shutdown().await;
        Ok(())
    }
}
