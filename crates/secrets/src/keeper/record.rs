//! A secret as it lies on the disk: one line of JSON that says what it is for, and after it the sealed value.
//!
//! The value is sealed for that line, so that whoever changes a host in it has a value that does not open.

use std::collections::BTreeMap;

use contracts::secret::{Description, SecretName, SecretValue};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    binding::{Binding, Exposure, Header, Placement},
    seal::{Rewrapped, SealError, Sealer},
};

/// A description, and the value that it describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) description: Description,
    line: String,
    sealed: Vec<u8>,
}

/// A line and a value of [`super::LONGEST`] bytes have room in it.
pub(super) const LIMIT: usize = 256 * 1024;
const LINE_LIMIT: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("it has no line that says what it is")]
    NoLine,
    #[error("its first line cannot be read: {0}")]
    Line(String),
    #[error("it is the secret `{0}` under another name")]
    OtherName(SecretName),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    format: u32,
    name: String,
    version: u64,
    created: i64,
    updated: i64,
    hosts: Vec<String>,
    places: Vec<LinePlace>,
    agents: Vec<String>,
    expose: Vec<LineExposure>,
    note: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum LinePlace {
    Header { name: String, prefix: String },
    Basic,
    Query { name: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineExposure {
    Env,
}

const FORMAT: u32 = 1;

impl Record {
    pub(super) fn seal(
        description: Description,
        value: &str,
        sealer: &Sealer,
    ) -> Result<Self, SealError> {
        let line = line_of(&description)?;
        Ok(Self { description, sealed: sealer.seal(&line, value.as_bytes())?, line })
    }

    pub(super) fn open(&self, sealer: &Sealer) -> Result<SecretValue, SealError> {
        let value = sealer.open(&self.line, &self.sealed)?;
        let value = std::str::from_utf8(&value).map_err(|_| SealError::Malformed)?;
        Ok(SecretValue::new(value.to_owned()))
    }

    /// The same, under the current master key. `None` if it is already.
    pub(super) fn rewrap(&self, sealer: &Sealer) -> Result<Option<Self>, SealError> {
        match sealer.rewrap(&self.sealed)? {
            Rewrapped::AsItWas => Ok(None),
            Rewrapped::Anew(bytes) => Ok(Some(Self { sealed: bytes, ..self.clone() })),
        }
    }

    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new([self.line.as_bytes(), b"\n", &self.sealed].concat())
    }

    pub(super) fn parse(name: &SecretName, bytes: &[u8]) -> Result<Self, RecordError> {
        let end = bytes.iter().take(LINE_LIMIT).position(|byte| *byte == b'\n');
        let (line, sealed) =
            end.and_then(|end| bytes.split_at_checked(end)).ok_or(RecordError::NoLine)?;
        let line =
            std::str::from_utf8(line).map_err(|error| RecordError::Line(error.to_string()))?;
        let read: Line =
            serde_json::from_str(line).map_err(|error| RecordError::Line(error.to_string()))?;
        let description = read.description().map_err(RecordError::Line)?;
        if description.name != *name {
            return Err(RecordError::OtherName(description.name));
        }
        let sealed = sealed.get(1..).unwrap_or_default().to_vec();
        Ok(Self { description, line: line.to_owned(), sealed })
    }
}

fn line_of(description: &Description) -> Result<String, SealError> {
    let Description { name, binding, note, version, created, updated } = description;
    let place = |place: &Placement| match place {
        Placement::Header(header) => {
            LinePlace::Header { name: header.name().to_owned(), prefix: header.prefix().to_owned() }
        }
        Placement::Basic => LinePlace::Basic,
        Placement::Query(name) => LinePlace::Query { name: name.as_str().to_owned() },
    };
    let line = Line {
        format: FORMAT,
        name: name.to_string(),
        version: *version,
        created: created.as_millis(),
        updated: updated.as_millis(),
        hosts: binding.hosts.iter().map(ToString::to_string).collect(),
        places: binding.places.iter().map(place).collect(),
        agents: binding.agents.iter().map(|agent| agent.as_str().to_owned()).collect(),
        expose: match binding.exposure {
            Exposure::Never => Vec::new(),
            Exposure::Environment => vec![LineExposure::Env],
        },
        note: note.clone(),
    };
    serde_json::to_string(&line).map_err(|_| SealError::Malformed)
}

impl Line {
    fn description(self) -> Result<Description, String> {
        if self.format != FORMAT {
            return Err(format!("it has format {}, and this server knows {FORMAT}", self.format));
        }
        let place = |place: LinePlace| {
            Ok(match place {
                LinePlace::Header { name, prefix } => {
                    Placement::Header(Header::new(&name, &prefix).map_err(told)?)
                }
                LinePlace::Basic => Placement::Basic,
                LinePlace::Query { name } => Placement::Query(name.parse().map_err(told)?),
            })
        };
        let binding = Binding {
            hosts: all(self.hosts, |host| host.parse().map_err(told))?,
            places: all(self.places, place)?,
            agents: all(self.agents, |agent| agent.parse().map_err(told))?,
            exposure: match self.expose.as_slice() {
                [] => Exposure::Never,
                [LineExposure::Env, ..] => Exposure::Environment,
            },
        };
        binding.check().map_err(told)?;
        Ok(Description {
            name: self.name.parse().map_err(told)?,
            binding,
            note: self.note,
            version: self.version,
            created: Timestamp::from_millis(self.created),
            updated: Timestamp::from_millis(self.updated),
        })
    }
}

fn told(error: impl std::error::Error) -> String {
    error.to_string()
}

fn all<A, B>(items: Vec<A>, one: impl Fn(A) -> Result<B, String>) -> Result<Vec<B>, String> {
    items.into_iter().map(one).collect()
}

/// Secrets by name.
pub(super) type Records = BTreeMap<SecretName, Record>;
