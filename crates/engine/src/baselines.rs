//! What checks did on base commits, kept on this host: a memory that may be lost at any time.
//!
//! One file for each, named by all that the result depends on. The oldest go when there are too many.

use std::path::{Path, PathBuf};

use domain::digest::Digest;
use files::Durability;

use crate::captured::Captured;

/// Files that are kept.
const MOST: usize = 400;

#[derive(Debug, Clone, Default)]
pub struct Baselines(Option<PathBuf>);

impl Baselines {
    /// Kept in a directory of ours, which is made when something is to be kept.
    pub const fn at(directory: PathBuf) -> Self {
        Self(Some(directory))
    }

    /// Nothing is kept, and every attempt runs the checks on its base.
    pub const fn none() -> Self {
        Self(None)
    }

    pub(crate) fn recall(&self, key: Digest) -> Option<Vec<Captured>> {
        let bytes = std::fs::read(self.0.as_ref()?.join(key.to_string())).ok()?;
        // One that was half written, or by another version, is made anew.
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn remember(&self, key: Digest, runs: &[Captured]) {
        let Some(directory) = &self.0 else { return };
        if let Err(error) = keep(directory, key, runs) {
            tracing::warn!(%error, "cannot remember what checks did on a base commit");
        }
    }
}

fn keep(directory: &Path, key: Digest, runs: &[Captured]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let bytes = serde_json::to_vec(runs)?;
    files::write(&directory.join(key.to_string()), &bytes, files::PRIVATE, Durability::Cache)?;
    prune(directory)
}

fn prune(directory: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let too_many = files.len().saturating_sub(MOST);
    for (_, path) in files.iter().take(too_many) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
