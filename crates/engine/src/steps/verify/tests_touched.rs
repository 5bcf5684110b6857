//! What the change does to the tests themselves (FB4), and how much of it they run (FB5).

use contracts::{
    compiled::compiled,
    forge::{FileVersion, Forges as _},
};
use domain::code::CommitId;
use feedback::verdict::{
    Verdict,
    coverage::{self, ChangedLines, Summary},
    weakened::{self, FileChange, Version},
};

use super::{
    super::{Scene, Trouble, open::forge_trouble},
    Head,
    choice::Chosen,
};
use crate::{Hands, touched::Touched};

pub(super) async fn look<H: Hands>(
    scene: &Scene<'_, H>,
    chosen: &Chosen,
    verdict: &Verdict,
    (base, commit): (&CommitId, &CommitId),
    head: &Head,
) -> Result<Touched, Trouble> {
    let compared = scene.hands().forges().compare(scene.repository()?, base, commit).await;
    let compared = compared.map_err(|error| forge_trouble(scene, &error))?;
    let changes: Vec<FileChange<'_>> = compared
        .files
        .iter()
        .map(|file| FileChange { old: version(file.old.as_ref()), new: version(file.new.as_ref()) })
        .collect();
    let mut weakened = weakened::in_files(&changes);
    let no_sources = compared.files.iter().filter_map(|file| {
        let new = file.new.as_ref()?;
        let what = compiled(&new.path, new.bytes.as_deref().unwrap_or_default())?;
        Some((new.path.as_str(), what))
    });
    for more in [
        weakened::lost_checks(&chosen.checks, &chosen.after),
        weakened::behind_checks(&chosen.checks, &chosen.files.contents, &changes),
        weakened::not_sources(no_sources),
    ] {
        weakened.weakened.extend(more.weakened);
        weakened.left_off += more.left_off;
    }
    weakened.join_runs(weakened::in_runs(verdict));
    let lines = ChangedLines::of_diff(&String::from_utf8_lossy(&compared.patch.text));
    let coverage = covered(head, &lines);
    Ok(Touched { weakened, coverage })
}

/// A file that is too large to be read is taken for an empty one, which is told as unread where it is a test.
fn version(file: Option<&FileVersion>) -> Option<Version<'_>> {
    file.map(|file| Version { path: &file.path, bytes: file.bytes.as_deref().unwrap_or_default() })
}

fn covered(head: &Head, changed: &ChangedLines) -> Option<Summary> {
    let mut all = None::<coverage::Coverage>;
    for (place, bytes) in &head.coverage {
        let Ok(read) = coverage::read(bytes, &place.workspace()) else { continue };
        match &mut all {
            None => all = Some(read),
            Some(all) => drop(all.join(read)),
        }
    }
    coverage::of_changes(&all?, changed)
}
