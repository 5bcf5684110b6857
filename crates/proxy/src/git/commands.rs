//! The list of updates that a push begins with.
//!
//! ```text
//!  old new refs/heads/agent/fix\0 report-status side-band-64k …
//!  0000
//! ```

use std::{fmt, str::FromStr};

use crate::readers::packet_line::{self, Packet, PacketError};

/// The most updates in one push.
pub const COMMAND_LIMIT: usize = 16;

/// The most bytes before the pack.
pub const LIST_LIMIT: usize = 64 * 1024;

/// The name of an object, as 40 or 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(String);

/// How objects are named in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub old: ObjectId,
    pub new: ObjectId,
    pub reference: String,
}

/// What a push wants, before its pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandList {
    pub commands: Vec<Command>,
    capabilities: Vec<String>,
    pub format: ObjectFormat,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error(transparent)]
    Packet(#[from] PacketError),
    #[error("the list of updates is longer than {LIST_LIMIT} bytes")]
    TooLong,
    #[error("a push updates at most {COMMAND_LIMIT} branches")]
    TooMany,
    #[error("a line of the push is not an update")]
    Line,
    #[error("the push updates `{0}` twice")]
    Twice(String),
    #[error("signed pushes are not carried")]
    Certificate,
}

impl ObjectId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Names nothing: a branch that is not there.
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        Self(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }
}

impl FromStr for ObjectId {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ListError::Line)
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ObjectFormat {
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

impl CommandList {
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|it| it == capability)
    }
}

/// Whether the list is whole, looking at each line once, however small the pieces are that it comes in.
pub fn is_whole(buffer: &[u8], looked_at: &mut usize) -> Result<bool, ListError> {
    loop {
        if *looked_at > LIST_LIMIT {
            return Err(ListError::TooLong);
        }
        let rest = buffer.get(*looked_at..).unwrap_or_default();
        match packet_line::read(rest)? {
            Some((Packet::Flush, _)) => return Ok(true),
            Some((Packet::Line(_) | Packet::Delimiter | Packet::ResponseEnd, length)) => {
                *looked_at += length;
            }
            None => return Ok(false),
        }
    }
}

/// Reads the list at the beginning of a push, once all of it is there, and tells how many bytes it has.
///
/// An empty list is what git sends to ask whether it may push at all.
pub fn read(buffer: &[u8]) -> Result<Option<(CommandList, usize)>, ListError> {
    let mut list =
        CommandList { commands: Vec::new(), capabilities: Vec::new(), format: ObjectFormat::Sha1 };
    let mut used = 0;
    loop {
        if used > LIST_LIMIT {
            return Err(ListError::TooLong);
        }
        let rest = buffer.get(used..).unwrap_or_default();
        let Some((packet, length)) = packet_line::read(rest)? else {
            return if buffer.len() > LIST_LIMIT { Err(ListError::TooLong) } else { Ok(None) };
        };
        used += length;
        match packet {
            Packet::Flush => break,
            Packet::Line(line) => add(line, &mut list)?,
            Packet::Delimiter | Packet::ResponseEnd => return Err(ListError::Line),
        }
    }
    if used > LIST_LIMIT { Err(ListError::TooLong) } else { Ok(Some((list, used))) }
}

fn add(line: &[u8], list: &mut CommandList) -> Result<(), ListError> {
    let text = std::str::from_utf8(line).map_err(|_| ListError::Line)?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.starts_with("push-cert") {
        return Err(ListError::Certificate);
    }
    // Where the program's own history ends. It comes before the updates and changes none of them.
    if let Some(id) = text.strip_prefix("shallow ").filter(|_| list.commands.is_empty()) {
        return id.parse::<ObjectId>().map(drop);
    }
    let (update, capabilities) = match text.split_once('\0') {
        Some((update, capabilities)) if list.commands.is_empty() => (update, Some(capabilities)),
        Some(_) => return Err(ListError::Line),
        None => (text, None),
    };
    if let Some(capabilities) = capabilities {
        take_capabilities(capabilities, list)?;
    }
    let mut words = update.split(' ');
    let (Some(old), Some(new), Some(reference), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(ListError::Line);
    };
    let command = Command { old: old.parse()?, new: new.parse()?, reference: reference.to_owned() };
    let fits = |id: &ObjectId| id.as_str().len() == 2 * list.format.bytes();
    if !fits(&command.old) || !fits(&command.new) || !is_plain(reference) {
        return Err(ListError::Line);
    }
    if list.commands.iter().any(|other| other.reference == reference) {
        return Err(ListError::Twice(reference.to_owned()));
    }
    if list.commands.len() >= COMMAND_LIMIT {
        return Err(ListError::TooMany);
    }
    list.commands.push(command);
    Ok(())
}

fn take_capabilities(text: &str, list: &mut CommandList) -> Result<(), ListError> {
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !word.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ListError::Line);
        }
        match word {
            "object-format=sha256" => list.format = ObjectFormat::Sha256,
            _ if word.starts_with("push-cert") => return Err(ListError::Certificate),
            _ => {}
        }
        list.capabilities.push(word.to_owned());
    }
    Ok(())
}

/// A name of a reference that cannot be mistaken, nor break a line in a terminal.
fn is_plain(reference: &str) -> bool {
    reference.starts_with("refs/")
        && reference.len() <= 250
        && reference.bytes().all(|byte| byte.is_ascii_graphic())
}
