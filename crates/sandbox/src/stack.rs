//! What a sandbox stands on: the layers below its own disk, and what of the host is shown.

use std::collections::BTreeMap;

use contracts::sandbox::{Checkout, ImageKey};
use domain::code::Access;
use serde::{Deserialize, Serialize};

/// Everything below the writable disk. Frozen when a sandbox is first opened: waking finds the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stack {
    /// By name, the uppermost first.
    pub(crate) layers: Vec<String>,
    /// What of the host is shown, read-only: from where, to where.
    pub(crate) binds: Vec<(String, String)>,
    /// What the image says about the environment.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: String,
    /// The repositories that the image has, as `name@commit`.
    pub(crate) sources: Vec<String>,
    /// The built image among them, if there is one; it is not removed meanwhile.
    pub(crate) image: Option<String>,
}

impl Stack {
    /// Of nothing yet, for commands that start in the workspace.
    pub(crate) fn in_workspace() -> Self {
        Self { directory: "/workspace".to_owned(), ..Self::default() }
    }

    /// The repositories that the image has, in its order.
    pub(crate) fn checkouts(&self) -> Vec<Checkout> {
        let parse = |source: &String| {
            let (repository, commit) = source.rsplit_once('@')?;
            let (repository, commit) = (repository.parse().ok()?, commit.parse().ok()?);
            Some(Checkout { repository, commit, access: Access::Read })
        };
        self.sources.iter().filter_map(parse).collect()
    }

    pub(crate) fn image(&self) -> Option<ImageKey> {
        self.image.as_deref()?.parse().ok()
    }
}
