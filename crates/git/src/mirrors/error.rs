//! Why a mirror did not do what it was asked. No message shows a secret of an address.

use std::{io, time::Duration};

use domain::code::RepositoryName;

use crate::{run::GitError, source::SourceError};

#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    #[error(transparent)]
    Address(#[from] SourceError),
    #[error("the repository `{repository}` is not registered")]
    Unknown { repository: RepositoryName },
    #[error(
        "`{repository}` is known here from `{known}`, and sandboxes stand on that; bring `{asked}` in by another name, such as \
         `{repository}-2`"
    )]
    Elsewhere { repository: RepositoryName, known: String, asked: String },
    #[error("`{revision}` is not a branch, tag or commit of `{repository}`")]
    Revision { repository: RepositoryName, revision: String },
    #[error("the fetch of `{repository}` was ended after {} s", limit.as_secs())]
    Slow { repository: RepositoryName, limit: Duration },
    #[error("`{repository}` is larger than {} MiB, the most that a mirror may have", limit_bytes >> 20)]
    Large { repository: RepositoryName, limit_bytes: u64 },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the mirrors cannot be read or written")]
    Disk(#[from] io::Error),
}
