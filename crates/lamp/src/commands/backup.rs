//! `lamp backup`: a copy of what a server has kept and nobody could make again.
//!
//! **Invariant:** what has the name of a backup is whole. It is made under another name beside it, flushed, and moved in one step.

use std::{
    fs::Permissions,
    io::Write,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;
use server::belongings;
use store::{BackupError, Store};
use terminal::{
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    report::Hint,
};

use crate::kept::{KeptFlags, block_on};

/// Copy what the server has kept into a new directory
///
/// Database, blobs, keys, secrets, repositories and what receipts are made of; not images and sandboxes, which are made again. Works while the
/// server runs. The copy holds keys: keep it as safe as the server's own data. For PostgreSQL, see docs/guides/backup.md.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    /// A directory that does not exist yet
    #[arg(value_name = "DIR")]
    to: PathBuf,

    #[command(flatten)]
    kept: KeptFlags,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Outcome {
    backup: String,
    /// What was copied beside the database and the blobs.
    beside: Vec<&'static str>,
}

impl Backup {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let kept = self.kept.find(environment)?;
        let beside = block_on(async {
            let store = kept.open().await?;
            let made = make(&store, kept.place.directory(), &self.to).await;
            store.close().await;
            made.with_context(|| {
                let help = "name a directory that does not exist yet, on a disk with room";
                Hint::new("cannot make the backup", help)
            })
        })?;
        let backup = self.to.display().to_string();
        match self.format.format() {
            Format::People => {
                writeln!(
                    out,
                    "What tasks and receipts need is copied into `{backup}`. It holds keys: keep it safe."
                )?;
                write!(out, "{}", belongings::missing(&beside))?;
                writeln!(out, "Bring it back with `lamp restore {backup} --data NEW`.")?;
            }
            Format::Json => write_json(&Outcome { backup, beside }, out)?,
        }
        Ok(Exit::Done)
    }
}

async fn make(store: &Store, data: &Path, to: &Path) -> anyhow::Result<Vec<&'static str>> {
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Occupied(to.to_owned()).into());
    }
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs_err::create_dir_all(parent)?;
    // Removed again if anything fails on the way.
    let owner_only = Permissions::from_mode(0o700);
    let begun = tempfile::Builder::new()
        .prefix(".lamp-backup-")
        .permissions(owner_only.clone())
        .tempdir_in(parent)?;
    let whole = begun.path().join("whole");
    store.back_up(&whole).await?;
    fs_err::set_permissions(&whole, owner_only)?;
    let beside = belongings::copy_out(data, &whole)?;
    files::sync_directory(&whole)?;
    #[expect(clippy::disallowed_methods, reason = "a whole directory, and its files are synced")]
    fs_err::rename(&whole, to)?;
    files::sync_directory(parent)?;
    Ok(beside)
}
