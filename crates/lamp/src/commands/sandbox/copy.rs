//! `lamp sandbox cp`

use std::{
    io::{self, Write},
    os::fd::OwnedFd,
    path::Path,
};

use anyhow::{Context as _, bail};
use files::{Durability, Unfinished};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
    report::Hint,
};
use wire::{
    client::Client,
    error::Code,
    exec::User,
    files::{Entry, EntryKind, PathQuery},
};

use super::wishes::user;
use crate::{
    amount::{self, Size},
    copy::{
        pack::pack,
        place::{Place, last_word, parent},
        reader,
        unpack::{Limits, Unpacked, unpack},
        writer,
    },
};

/// The most entries that are taken out at once.
const ENTRIES: u64 = 1_000_000;

/// Copy files into a sandbox or out of it
///
/// As `cp -r` does: into a directory that exists, or else under the new name. What comes out is not trusted: names
/// that lead out of the target, devices and the like are refused; links that lead out are left out; setuid bits
/// are stripped.
#[derive(Debug, clap::Args)]
pub(super) struct Copy {
    /// A path here, or `SANDBOX:/path`
    #[arg(value_name = "FROM")]
    from: Place,

    /// A path here, or `SANDBOX:/path`
    #[arg(value_name = "TO")]
    to: Place,

    /// With whose rights inside: `agent`, or `root` of the sandbox's own files
    #[arg(long, value_name = "USER", default_value = "agent", value_parser = user)]
    user: User,

    /// The most bytes to take out
    #[arg(long, value_name = "SIZE", default_value = "16GiB")]
    most: Size,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, serde::Serialize)]
struct Copied {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links_left_out: Option<u64>,
}

impl Copy {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let unpacked = match (&self.from, &self.to) {
            (Place::Inside { sandbox, path }, Place::Here(to)) => {
                Some(self.take_out(client, sandbox, path, to).await?)
            }
            (Place::Here(from), Place::Inside { sandbox, path }) => {
                self.bring_in(client, from, sandbox, path).await?;
                None
            }
            (Place::Here(_), Place::Here(_)) | (Place::Inside { .. }, Place::Inside { .. }) => {
                bail!(Hint::new(
                    "one of the two must be in a sandbox, and the other here",
                    "write `SANDBOX:/path` for a path inside"
                ));
            }
        };
        match (self.format.format(), unpacked) {
            (Format::Json, unpacked) => write_json(
                &Copied {
                    version: 1,
                    files: unpacked.map(|it| it.files),
                    bytes: unpacked.map(|it| it.bytes),
                    links_left_out: unpacked.map(|it| it.links_left_out),
                },
                out,
            )?,
            (Format::People, Some(Unpacked { files, bytes, links_left_out })) => {
                let (files, bytes) = (amount::count(files, "file"), amount::bytes(bytes));
                writeln!(out, "Copied {files}, {bytes}.")?;
                if links_left_out > 0 {
                    writeln!(
                        err,
                        "note: left out {} to places outside of the target.",
                        amount::count(links_left_out, "link")
                    )?;
                }
            }
            (Format::People, None) => writeln!(out, "Copied.")?,
        }
        Ok(Exit::Done)
    }

    fn at(&self, path: &str) -> PathQuery {
        PathQuery { path: path.to_owned(), user: self.user }
    }

    async fn take_out(
        &self,
        client: &Client,
        sandbox: &str,
        path: &str,
        to: &Path,
    ) -> anyhow::Result<Unpacked> {
        let found = client.entry(sandbox, &self.at(path)).await.explained()?;
        let target = match found.kind {
            // An archive of a directory has names relative to it.
            EntryKind::Directory if to.is_dir() => match last_word(path) {
                Some(word) => to.join(word),
                None => to.to_owned(),
            },
            EntryKind::Directory => to.to_owned(),
            EntryKind::File | EntryKind::Symlink => {
                return self.take_file(client, sandbox, path, &found, to).await;
            }
            EntryKind::Other => bail!("`{path}` in the sandbox is neither a file nor a directory"),
        };
        fs_err::create_dir_all(&target)?;
        let directory = OwnedFd::from(std::fs::File::open(&target)?);
        let archive = client.tar_out(sandbox, &self.at(path)).await.explained()?;
        let limits = Limits { entries: ENTRIES, bytes: self.most.0 };
        let (from, feeding) = reader(archive);
        let unpacking = tokio::task::spawn_blocking(move || unpack(from, &directory, limits));
        let (unpacked, ()) = tokio::join!(unpacking, feeding);
        unpacked?.with_context(|| format!("cannot unpack into `{}`", target.display()))
    }

    /// One file: written beside its place, and moved there when it is whole.
    async fn take_file(
        &self,
        client: &Client,
        sandbox: &str,
        path: &str,
        found: &Entry,
        to: &Path,
    ) -> anyhow::Result<Unpacked> {
        let to = match last_word(path) {
            Some(word) if to.is_dir() => to.join(word),
            Some(_) | None => to.to_owned(),
        };
        let content = client.read(sandbox, &self.at(path)).await.explained()?;
        let mode = (found.mode & 0o777) | 0o600;
        let most = self.most.0;
        let (from, feeding) = reader(content);
        let to_path = to.clone();
        let writing = tokio::task::spawn_blocking(move || -> io::Result<u64> {
            let mut file = Unfinished::begin(&to_path, mode)?;
            let bytes = io::copy(&mut io::Read::take(from, most + 1), &mut file)?;
            if bytes > most {
                return Err(io::Error::other("it is larger than `--most` allows"));
            }
            file.replace(Durability::Cache)?;
            Ok(bytes)
        });
        let (written, ()) = tokio::join!(writing, feeding);
        let bytes = written?.with_context(|| format!("cannot write `{}`", to.display()))?;
        Ok(Unpacked { files: 1, bytes, links_left_out: 0 })
    }

    async fn bring_in(
        &self,
        client: &Client,
        from: &Path,
        sandbox: &str,
        path: &str,
    ) -> anyhow::Result<()> {
        std::fs::symlink_metadata(from)
            .with_context(|| format!("cannot copy `{}`", from.display()))?;
        let found = match client.entry(sandbox, &self.at(path)).await {
            Ok(found) => Some(found.kind),
            Err(error) if error.problem().is_some_and(|problem| problem.code == Code::Path) => None,
            Err(error) => return Err(error).explained(),
        };
        let own_name = || -> anyhow::Result<String> {
            let absolute = fs_err::canonicalize(from)?;
            let name = absolute.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            name.with_context(|| format!("`{}` has no name to copy it under", from.display()))
        };
        let (below, name) = match found {
            Some(EntryKind::Directory) => (path.to_owned(), own_name()?),
            Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) | None => {
                let name = last_word(path).context("the path in the sandbox has no name")?;
                (parent(path).to_owned(), name.to_owned())
            }
        };
        let (to, archive) = writer();
        let from = from.to_owned();
        let packing = tokio::task::spawn_blocking(move || pack(&from, &name, to));
        let query = self.at(&below);
        let sending = client.tar_in(sandbox, &query, archive);
        let (packed, sent) = tokio::join!(packing, sending);
        // What the sandbox says comes first: when it refuses, packing only finds that nobody takes it.
        sent.explained()?;
        packed?.context("cannot pack what to copy")
    }
}
