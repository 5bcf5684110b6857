//! What an agent changed.

use contracts::forge::{Change, FlagKind};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    pub paths: Vec<String>,
    pub flags: Vec<FlagRecord>,
}

/// Something that a person should look at twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagRecord {
    /// `runs_when_opened`, `workflow`, `submodule` or `odd`.
    pub kind: String,
    pub path: String,
    pub text: String,
}

impl ChangeRecord {
    pub(crate) fn of(change: &Change) -> Self {
        let flag = |flag: &contracts::forge::Flag| FlagRecord {
            kind: kind(flag.kind).to_owned(),
            path: flag.path.clone(),
            text: flag.text.clone(),
        };
        Self { paths: change.paths.clone(), flags: change.flags.iter().map(flag).collect() }
    }

    pub(crate) fn to_text(&self) -> String {
        super::write(self)
    }

    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

const fn kind(kind: FlagKind) -> &'static str {
    match kind {
        FlagKind::RunsWhenOpened => "runs_when_opened",
        FlagKind::Workflow => "workflow",
        FlagKind::Submodule => "submodule",
        FlagKind::Odd => "odd",
    }
}
