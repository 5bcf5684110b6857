//! The table of channels: what the host asked for, what is still to be told.
//!
//! Nothing here touches the system. Asks go in and come out as an [`Act`] for whoever does the work; what became
//! of the work goes in, and [`Switchboard::next_tell`] says what to send, in an order that is fair to all
//! channels and within what the host allows.
//!
//! ```text
//!   Open ──▶ Starting ──started──▶ Running ──ended──▶ Ended ──Forget──▶ (gone)
//!               │ refused             │ Forget: killed first, then gone
//!               ▼                     ▼
//!             (gone)                (gone)
//! ```

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
};

use crate::{
    inflow::{Gap, Inflow},
    outflow::Outflow,
    protocol::{
        Ask, CHANNELS, CHUNK, ChannelId, ChannelState, Ending, Job, Refusal, Size, Stream, TAG,
        Tell, Usage, VERSION,
    },
};

/// All rings together keep no more than this, but for a little that every channel may keep.
const KEPT: usize = 16 * 1024 * 1024;

/// What a channel may keep when all others together keep too much.
const KEPT_EACH: usize = 16 * 1024;

/// What an ask means for whoever does the work.
#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Start {
        channel: ChannelId,
        job: Job,
    },
    /// There is new input, or the input has ended.
    Feed {
        channel: ChannelId,
    },
    Signal {
        channel: ChannelId,
        signal: i32,
    },
    Resize {
        channel: ChannelId,
        size: Size,
    },
    Kill {
        channel: ChannelId,
    },
}

/// The host broke the protocol; this connection is of no more use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("the first ask was not a hello")]
    NoHello,
    #[error("version {theirs} is not {VERSION}")]
    Version { theirs: u16 },
    #[error(transparent)]
    Gap(#[from] Gap),
}

/// What becomes of output that was not sent when a channel ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsent {
    Keep,
    /// The host asked for the end and need not read on to learn of it.
    Discard,
}

#[derive(Debug, Default)]
pub struct Switchboard {
    channels: BTreeMap<ChannelId, Channel>,
    greeted: bool,
    news: VecDeque<Tell>,
    /// The channel that was served last.
    served: Option<ChannelId>,
    kept: usize,
}

#[derive(Debug)]
struct Channel {
    tag: String,
    phase: Phase,
    /// Whether this connection asked for what the channel says.
    attached: bool,
    forgotten: bool,
    output: Outflow,
    input: Inflow,
}

#[derive(Debug)]
enum Phase {
    Starting,
    Running,
    Ended { ending: Ending, usage: Usage, told: bool },
}

impl Switchboard {
    /// Takes what the host asks.
    pub fn ask(&mut self, ask: Ask) -> Result<Act, Violation> {
        if let Ask::Hello { version } = ask {
            self.hang_up();
            if version != VERSION {
                return Err(Violation::Version { theirs: version });
            }
            self.greeted = true;
            self.news.push_back(Tell::Hello { version: VERSION });
            return Ok(Act::Nothing);
        }
        if !self.greeted {
            return Err(Violation::NoHello);
        }
        Ok(match ask {
            Ask::Hello { .. } => Act::Nothing,
            Ask::Open { channel, tag, job } => self.open(channel, tag, job),
            Ask::Attach { channel, from } => self.attach(channel, from),
            Ask::Input { channel, offset, bytes } => {
                let Some(known) = self.channels.get_mut(&channel) else { return Ok(Act::Nothing) };
                known.input.offer(offset, &bytes)?;
                Act::Feed { channel }
            }
            Ask::EndInput { channel } => {
                let Some(known) = self.channels.get_mut(&channel) else { return Ok(Act::Nothing) };
                known.input.end();
                Act::Feed { channel }
            }
            Ask::Signal { channel, signal } => {
                self.if_alive(channel, Act::Signal { channel, signal })
            }
            Ask::Resize { channel, size } => self.if_alive(channel, Act::Resize { channel, size }),
            Ask::Credit { channel, taken, upto } => {
                if let Some(known) = self.channels.get_mut(&channel) {
                    self.kept -= known.output.kept();
                    known.output.credit(taken, upto);
                    self.kept += known.output.kept();
                }
                Act::Nothing
            }
            Ask::Kill { channel } => self.if_alive(channel, Act::Kill { channel }),
            Ask::Forget { channel } => self.forget(channel),
            Ask::Channels => {
                self.news.push_back(Tell::Channels(self.states()));
                Act::Nothing
            }
            Ask::Ping { nonce } => {
                self.news.push_back(Tell::Pong { nonce });
                Act::Nothing
            }
        })
    }

    /// The connection is gone. The channels stay.
    pub fn hang_up(&mut self) {
        self.greeted = false;
        self.news.clear();
        for channel in self.channels.values_mut() {
            channel.attached = false;
        }
    }

    /// The job has begun.
    pub fn started(&mut self, id: ChannelId) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        if !matches!(channel.phase, Phase::Starting) {
            return;
        }
        channel.phase = Phase::Running;
        if channel.attached && !channel.forgotten {
            self.news.push_back(Tell::Opened { channel: id });
        }
    }

    /// The job did not begin; the channel is gone.
    pub fn refused(&mut self, id: ChannelId, refusal: Refusal) {
        let Some(channel) = self.remove(id) else { return };
        if channel.attached && !channel.forgotten {
            self.news.push_back(Tell::Refused { channel: id, refusal });
        }
    }

    /// How many bytes of output can be taken now.
    pub fn room(&self, id: ChannelId) -> usize {
        let Some(channel) = self.channels.get(&id) else { return CHUNK };
        let room = channel.output.room();
        if self.kept < KEPT {
            return room;
        }
        room.min(KEPT_EACH.saturating_sub(channel.output.kept()))
    }

    /// The job has written this.
    pub fn output(&mut self, id: ChannelId, stream: Stream, bytes: &[u8]) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        if matches!(channel.phase, Phase::Ended { .. }) {
            return;
        }
        self.kept -= channel.output.kept();
        channel.output.take(stream, bytes);
        self.kept += channel.output.kept();
    }

    /// The input of a channel, to be written.
    pub fn input(&mut self, id: ChannelId) -> Option<&mut Inflow> {
        self.channels.get_mut(&id).map(|channel| &mut channel.input)
    }

    /// Whether input waits to be written.
    pub fn input_waits(&self, id: ChannelId) -> bool {
        self.channels.get(&id).is_some_and(|channel| !channel.input.waiting().is_empty())
    }

    /// The job has ended, and all its output was given.
    pub fn ended(&mut self, id: ChannelId, ending: Ending, usage: Usage, unsent: Unsent) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        if matches!(channel.phase, Phase::Ended { .. }) {
            return;
        }
        let was_starting = matches!(channel.phase, Phase::Starting);
        channel.phase = Phase::Ended { ending, usage, told: false };
        channel.input.deafen();
        if unsent == Unsent::Discard {
            self.kept -= channel.output.kept();
            channel.output.discard();
        }
        let forgotten = channel.forgotten;
        if was_starting && channel.attached && !forgotten {
            self.news.push_back(Tell::Opened { channel: id });
        }
        if forgotten {
            self.remove(id);
        }
    }

    /// The next answer to an ask. Answers go first, and do not wait for room.
    pub fn next_answer(&mut self) -> Option<Tell> {
        self.news.pop_front()
    }

    /// What to send next.
    pub fn next_tell(&mut self) -> Option<Tell> {
        if let Some(answer) = self.next_answer() {
            return Some(answer);
        }
        let after = self.served.map_or(Bound::Unbounded, Bound::Excluded);
        let first = first_tell(self.channels.range_mut((after, Bound::Unbounded)));
        let (channel, tell) = first.or_else(|| first_tell(self.channels.iter_mut()))?;
        self.served = Some(channel);
        Some(tell)
    }

    fn open(&mut self, id: ChannelId, tag: String, job: Job) -> Act {
        let refusal = if self.channels.contains_key(&id) {
            Refusal::ChannelInUse
        } else if self.channels.len() >= CHANNELS {
            Refusal::TooManyChannels
        } else if tag.len() > TAG {
            Refusal::System { what: "the tag is too long".to_owned(), errno: libc::EINVAL }
        } else {
            let limit = match &job {
                Job::Program(program) => program.output_limit,
                Job::File { .. } | Job::Forward { .. } => u64::MAX,
            };
            let channel = Channel {
                tag,
                phase: Phase::Starting,
                attached: true,
                forgotten: false,
                output: Outflow::new(limit),
                input: Inflow::default(),
            };
            self.channels.insert(id, channel);
            return Act::Start { channel: id, job };
        };
        self.news.push_back(Tell::Refused { channel: id, refusal });
        Act::Nothing
    }

    fn attach(&mut self, id: ChannelId, from: u64) -> Act {
        let known = self.channels.get_mut(&id).filter(|channel| !channel.forgotten);
        let answer = match known {
            None => Err(Refusal::UnknownChannel),
            Some(channel) => channel.output.rewind(from).map(|()| {
                channel.attached = true;
                channel.input.forget_told();
                if let Phase::Ended { told, .. } = &mut channel.phase {
                    *told = false;
                }
                matches!(channel.phase, Phase::Starting)
            }),
        };
        match answer {
            // It is told when it has begun.
            Ok(true) => {}
            Ok(false) => self.news.push_back(Tell::Opened { channel: id }),
            Err(refusal) => self.news.push_back(Tell::Refused { channel: id, refusal }),
        }
        Act::Nothing
    }

    fn forget(&mut self, id: ChannelId) -> Act {
        let Some(channel) = self.channels.get_mut(&id) else { return Act::Nothing };
        if matches!(channel.phase, Phase::Ended { .. }) {
            self.remove(id);
            return Act::Nothing;
        }
        channel.forgotten = true;
        Act::Kill { channel: id }
    }

    fn if_alive(&self, id: ChannelId, act: Act) -> Act {
        let alive = self
            .channels
            .get(&id)
            .is_some_and(|channel| !matches!(channel.phase, Phase::Ended { .. }));
        if alive { act } else { Act::Nothing }
    }

    fn remove(&mut self, id: ChannelId) -> Option<Channel> {
        let channel = self.channels.remove(&id)?;
        self.kept -= channel.output.kept();
        Some(channel)
    }

    fn states(&self) -> Vec<ChannelState> {
        let known = self.channels.iter().filter(|(_, channel)| !channel.forgotten);
        known
            .map(|(id, channel)| ChannelState {
                channel: *id,
                tag: channel.tag.clone(),
                output: channel.output.end(),
                kept_from: channel.output.kept_from(),
                input: channel.input.taken(),
                ended: matches!(channel.phase, Phase::Ended { .. }),
            })
            .collect()
    }
}

fn first_tell<'a>(
    mut channels: impl Iterator<Item = (&'a ChannelId, &'a mut Channel)>,
) -> Option<(ChannelId, Tell)> {
    channels.find_map(|(id, channel)| channel.next_tell(*id).map(|tell| (*id, tell)))
}

impl Channel {
    fn next_tell(&mut self, id: ChannelId) -> Option<Tell> {
        if !self.attached || self.forgotten || matches!(self.phase, Phase::Starting) {
            return None;
        }
        if matches!(self.phase, Phase::Running)
            && let Some(upto) = self.input.credit()
        {
            return Some(Tell::InputCredit { channel: id, upto });
        }
        if let Some((stream, offset, bytes)) = self.output.next_chunk() {
            return Some(Tell::Output { channel: id, stream, offset, bytes });
        }
        let (output, dropped) = (self.output.end(), self.output.dropped());
        let Phase::Ended { ending, usage, told } = &mut self.phase else { return None };
        if *told || !self.output.all_sent() {
            return None;
        }
        *told = true;
        Some(Tell::Ended { channel: id, ending: ending.clone(), usage: *usage, output, dropped })
    }
}

#[cfg(test)]
#[path = "switchboard_tests.rs"]
mod tests;
