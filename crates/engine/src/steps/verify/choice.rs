//! Which checks there are: those that people declared, or those that the files of the base commit tell of.

use std::collections::BTreeSet;

use contracts::{
    forge::{Files, Forges as _},
    outfit::{DeclaredCheck, Outfit},
};
use domain::{code::CommitId, failure::FailureKind};
use feedback::checks::{self, Check, CommandLine, Detection, Directory, LeftOut};

use super::super::{Scene, Trouble, open::forge_trouble};
use crate::Hands;

pub(super) struct Chosen {
    pub(super) checks: Vec<Check>,
    pub(super) origin: Origin,
    /// What looks like a check and is none of them, with the reason.
    pub(super) left_out: Vec<LeftOut>,
    /// Those that the change leaves. Not run, but compared.
    pub(super) after: Vec<Check>,
    /// Of the base commit.
    pub(super) files: Files,
    /// What the change's own commit holds. Such a file was not made by a run.
    tracked: BTreeSet<String>,
}

/// Who says what the checks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// They are declared.
    People,
    Base,
    /// Nobody but whoever is judged by them.
    Change,
}

impl Chosen {
    /// Whether a path of the repository is a part of the change's commit, so that it is there without any run.
    pub(super) fn is_tracked(&self, path: &str) -> bool {
        self.tracked.contains(path)
    }

    /// The name of the Go module in a directory: without it, Go's tests have no files.
    pub(super) fn go_module(&self, directory: &Directory) -> Option<String> {
        let bytes = self.files.contents.get(&directory.file("go.mod"))?;
        let text = std::str::from_utf8(bytes).ok()?;
        let module = text.lines().find_map(|line| line.trim().strip_prefix("module "))?;
        Some(module.trim().to_owned())
    }
}

/// The base's own checks, whatever the change makes of them. Where there was none, those that the change brings are run: they can speak
/// against it, and not for it.
pub(super) async fn choose<H: Hands>(
    scene: &Scene<'_, H>,
    outfit: &Outfit,
    base: &CommitId,
    head: &CommitId,
) -> Result<Chosen, Trouble> {
    let declared = declared(scene, &outfit.checks)?;
    let (files, changed) = (read(scene, base).await?, read(scene, head).await?);
    let (checks, after, origin, left_out) = if declared.is_empty() {
        let (before, after) = (found(&files), found(&changed));
        if before.checks.is_empty() {
            (after.checks.clone(), after.checks, Origin::Change, after.left_out)
        } else {
            (before.checks, after.checks, Origin::Base, before.left_out)
        }
    } else {
        (declared.clone(), declared, Origin::People, Vec::new())
    };
    let tracked = changed.paths.into_iter().collect();
    Ok(Chosen { checks, origin, left_out, after, files, tracked })
}

fn declared<H: Hands>(
    scene: &Scene<'_, H>,
    declared: &[DeclaredCheck],
) -> Result<Vec<Check>, Trouble> {
    let one = |check: &DeclaredCheck| {
        let command: CommandLine = check.command.parse().map_err(|error| {
            let message = format!("the check `{}` of {}: {error}", check.name, check.file);
            scene.failed(FailureKind::SetupFailed, message)
        })?;
        Ok(Check::declared(check.name.clone(), command, check.file.clone()))
    };
    declared.iter().map(one).collect()
}

async fn read<H: Hands>(scene: &Scene<'_, H>, commit: &CommitId) -> Result<Files, Trouble> {
    let files = scene.hands().forges().files(scene.repository()?, commit, checks::is_wanted).await;
    files.map_err(|error| forge_trouble(scene, &error))
}

fn found(files: &Files) -> Detection {
    checks::look(&Seen(files))
}

/// Files as detection sees them: all paths, and the contents of those that were wanted.
struct Seen<'a>(&'a Files);

impl checks::Tree for Seen<'_> {
    fn each_path(&self, told: &mut dyn FnMut(&str)) {
        self.0.paths.iter().for_each(|path| told(path));
    }

    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        self.0.contents.get(path).filter(|bytes| bytes.len() <= limit).cloned()
    }
}
