//! Files of a scripted sandbox: read, written and looked at; archives are not in the script.

use std::fmt::Write as _;

use contracts::sandbox::{
    Entry, EntryKind, FileAsk, Input, Output, SandboxError, Streams, Transfer,
};
use domain::id::SandboxId;

use super::busy;
use crate::ledger::Ledger;

pub(super) async fn file(
    ledger: &Ledger,
    sandbox: SandboxId,
    ask: &FileAsk,
    streams: Streams,
) -> Result<Transfer, SandboxError> {
    let kind = format!("file-{sandbox}");
    // What the checks of every sandbox leave.
    let left = |path: &str| {
        ledger.read("left", path).map(|text| Content { mode: 0o644, bytes: text.into_bytes() })
    };
    let read = |path: &str| {
        let written = ledger.read(&kind, path).and_then(|text| Content::parse(&text));
        written.or_else(|| left(path))
    };
    let missing = |path: &str| Transfer::Failed {
        path: path.to_owned(),
        reason: "No such file or directory".to_owned(),
    };
    match ask {
        FileAsk::Write { path, mode, .. } => {
            let content = Content { mode: *mode, bytes: all(streams).await };
            ledger.set(&kind, path, &content.text()).map_err(busy)?;
            Ok(Transfer::Done)
        }
        FileAsk::Read { path, .. } => {
            let Some(content) = read(path) else { return Ok(missing(path)) };
            for chunk in content.bytes.chunks(32 * 1024) {
                // A reader that has gone has read enough.
                drop(streams.output.send(Output::Out(chunk.to_vec())).await);
            }
            Ok(Transfer::Done)
        }
        FileAsk::Stat { path, .. } => Ok(match read(path) {
            Some(content) => Transfer::Entries(vec![content.entry(path)]),
            None => missing(path),
        }),
        FileAsk::List { .. } | FileAsk::TarOut { .. } | FileAsk::TarIn { .. } => {
            Err(SandboxError::Unsupported { reason: "it is not in the script".to_owned() })
        }
    }
}

async fn all(mut streams: Streams) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(input) = streams.input.recv().await {
        if let Input::Bytes(more) = input {
            bytes.extend(more);
        }
    }
    bytes
}

struct Content {
    mode: u32,
    bytes: Vec<u8>,
}

impl Content {
    /// The mode in octal, and the bytes in hexadecimal: the ledger keeps text.
    fn text(&self) -> String {
        let mut text = format!("{:o} ", self.mode);
        for byte in &self.bytes {
            // Writing to a string does not fail.
            let _written = write!(text, "{byte:02x}");
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let (mode, digits) = text.split_once(' ')?;
        let pairs = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        Some(Self {
            mode: u32::from_str_radix(mode, 8).ok()?,
            bytes: pairs.collect::<Option<_>>()?,
        })
    }

    fn entry(&self, path: &str) -> Entry {
        Entry {
            name: path.rsplit('/').next().unwrap_or(path).to_owned(),
            kind: EntryKind::File,
            size: self.bytes.len() as u64,
            mode: self.mode,
            uid: 1000,
            modified_seconds: 0,
        }
    }
}
