//! What the sandboxes of each task were given, as a file for each task below `<data>/outfits/`.
//!
//! The server's files change while a task lives, and a receipt tells what held when its change was made. So this is written down before a
//! sandbox is opened, and read when somebody asks.
//!
//! They stay for good, as the events do: a task that failed or was cancelled may be retried at any time, and then needs the model that was
//! named for it and the commits that it was set up on. One has a few kilobytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use domain::{
    definition::{Definition, DefinitionError},
    id::TaskId,
    task::Purpose,
};
use files::Durability;
use serde::{Deserialize, Serialize};

/// Bytes of one file. What is written has a few hundred rules at the most.
const LIMIT: u64 = 16 << 20;

#[derive(Debug)]
pub(crate) struct Wardrobe {
    directory: PathBuf,
    /// One change at a time.
    turn: Mutex<()>,
}

/// All that is known of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    /// The model that was named for the task.
    pub(crate) model: Option<String>,
    /// By which definition its agent works, in the words of [`Definition`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<String>,
    /// When a person had taken the task up before that was settled; 0 if nobody had.
    #[serde(default)]
    pub(crate) taken_up: u64,
    /// On which commits its setup was run, by repository: the first sandbox decides for all.
    #[serde(default)]
    pub(crate) commits: BTreeMap<String, String>,
    /// How the setup went that was found out.
    #[serde(default, skip_serializing_if = "FoundSetup::is_nothing")]
    pub(crate) found: FoundSetup,
    /// By purpose.
    #[serde(default)]
    pub(crate) given: BTreeMap<String, Given>,
}

/// What is remembered of a setup that nobody wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FoundSetup {
    /// The step that stopped for a person to allow what it needs, by when it was asked for. Another step after it means that they went on.
    #[serde(default)]
    pub(crate) asked_at: Option<i64>,
    #[serde(default)]
    pub(crate) failed: Option<FailedSetup>,
}

/// One that failed is not tried again for every sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailedSetup {
    /// For whose sandbox it was tried.
    pub(crate) purpose: String,
    pub(crate) reason: String,
}

impl FoundSetup {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What one sandbox was given, the newest of its purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// The image's hash.
    pub(crate) image: String,
    /// The policy's hash.
    pub(crate) policy: String,
    /// What the policy allowed, in words.
    pub(crate) allowed: BTreeSet<String>,
}

impl Kept {
    pub(crate) fn definition(&self) -> Result<Option<Definition>, String> {
        let words = self.definition.as_deref().map(str::parse);
        words.transpose().map_err(|error: DefinitionError| error.to_string())
    }

    pub(crate) fn given(&self, purpose: Purpose) -> Option<&Given> {
        self.given.get(name(purpose))
    }

    pub(crate) fn give(&mut self, purpose: Purpose, given: Given) {
        self.given.insert(name(purpose).to_owned(), given);
    }
}

pub(crate) const fn name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Research => "research",
        Purpose::Implement => "implement",
        Purpose::Verify => "verify",
        Purpose::Review => "review",
    }
}

impl Wardrobe {
    pub(crate) fn open(directory: PathBuf) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        files::sweep(&directory)?;
        Ok(Self { directory, turn: Mutex::default() })
    }

    /// What is known of `task`; nothing, before its first sandbox.
    pub(crate) fn read(&self, task: TaskId) -> io::Result<Kept> {
        let path = self.place(task);
        let odd = |reason: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}`: {reason}", path.display()))
        };
        let file = match fs_err::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() > LIMIT {
            return Err(odd("it is too large".to_owned()));
        }
        serde_json::from_reader(io::BufReader::new(file)).map_err(|error| odd(error.to_string()))
    }

    /// Changes what is known of `task`; a crash leaves the one or the other.
    pub(crate) fn change(&self, task: TaskId, change: impl FnOnce(&mut Kept)) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = self.read(task)?;
        let before = kept.clone();
        change(&mut kept);
        if kept == before {
            return Ok(());
        }
        let text = serde_json::to_vec(&kept)?;
        files::write(&self.place(task), &text, files::PRIVATE, Durability::Synced)
    }

    fn place(&self, task: TaskId) -> PathBuf {
        self.directory.join(format!("{task}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_known_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Wardrobe::open(directory.path().join("outfits")).unwrap();
        let (one, other) = (TaskId::from_u128(1), TaskId::from_u128(2));
        assert_eq!(open().read(one).unwrap(), Kept::default());
        let given = Given {
            image: "00".repeat(32),
            policy: "11".repeat(32),
            allowed: BTreeSet::from(["github".to_owned()]),
        };
        let wardrobe = open();
        wardrobe.change(one, |kept| kept.model = Some("big".to_owned())).unwrap();
        wardrobe.change(one, |kept| kept.give(Purpose::Implement, given.clone())).unwrap();
        let kept = open().read(one).unwrap();
        assert_eq!(kept.given(Purpose::Implement), Some(&given));
        assert_eq!((kept.given(Purpose::Review), kept.model.as_deref()), (None, Some("big")));
        assert_eq!(open().read(other).unwrap(), Kept::default());
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_not_taken_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let wardrobe = Wardrobe::open(directory.path().to_owned()).unwrap();
        let task = TaskId::from_u128(1);
        fs_err::write(wardrobe.place(task), "{\"model\":").unwrap();
        assert!(wardrobe.read(task).is_err());
        assert!(wardrobe.change(task, |kept| kept.model = None).is_err());
    }
}
