//! Moves bytes between a channel and the caller's streams, both ways at once.
//!
//! A caller who does not read stops the output alone: input, signals and the end of the job still pass.

use contracts::sandbox::{Input, Output, Streams};
use guest::protocol::{Size, Stream};

use super::{Channel, Ended, LinkError, News};

/// How much input may wait here.
const AHEAD: usize = 256 * 1024;

pub(crate) async fn pump(channel: &mut Channel, streams: Streams) -> Result<Ended, LinkError> {
    let Streams { mut input, output } = streams;
    let (mut input_open, mut ending, mut told_end) = (true, false, false);
    let mut unsent: Vec<u8> = Vec::new();
    let mut unread: Option<Output> = None;
    let mut ended: Option<Ended> = None;
    loop {
        if let (Some(ended), None) = (&ended, &unread) {
            return Ok(ended.clone());
        }
        if ending && unsent.is_empty() && !told_end {
            told_end = true;
            channel.end_input()?;
        }
        tokio::select! {
            biased;
            room = output.reserve(), if unread.is_some() => {
                // A reader that has gone does not stop the command.
                if let (Ok(room), Some(chunk)) = (room, unread.take()) {
                    room.send(chunk);
                }
                unread = None;
            }
            news = channel.next(), if unread.is_none() && ended.is_none() => match news? {
                News::Output(Stream::Out, bytes) => unread = Some(Output::Out(bytes)),
                News::Output(Stream::Error, bytes) => unread = Some(Output::Error(bytes)),
                News::Ended(told) => ended = Some(told),
            },
            // Read ahead of what the guest takes, so that a signal passes a command that reads nothing.
            asked = input.recv(), if input_open && unsent.len() < AHEAD => match asked {
                Some(Input::Bytes(bytes)) => unsent.extend(bytes),
                Some(Input::End) => ending = true,
                Some(Input::Signal(signal)) => channel.signal(signal)?,
                Some(Input::Resize(size)) => {
                    channel.resize(Size { columns: size.columns, rows: size.rows })?;
                }
                None => (input_open, ending) = (false, true),
            },
            room = channel.room(), if !unsent.is_empty() && ended.is_none() => {
                let rest = unsent.split_off(room?.min(unsent.len()));
                let now = std::mem::replace(&mut unsent, rest);
                if !now.is_empty() {
                    channel.input(now)?;
                }
            }
        }
    }
}
