//! What setups and hooks leave in a checkout, found out before anybody works there.
//!
//! ```text
//!  setup ─▶ look ─▶ tracked files as in the commit ─▶ image, with what is left          (once for an image)
//!  image ─▶ checkout, hooks ─▶ look, if one of them did anything ─▶ record ─▶ the agent (for each sandbox)
//! ```
//!
//! Whoever takes the agent's work out asks for the record. It is written before anything of an agent has run in the sandbox, and kept
//! outside, so that no agent can call its own work a leftover.

use std::{collections::BTreeMap, sync::Arc};

use contracts::sandbox::{Content, HandedOver, Leftover, SandboxError, Spec, User};
use domain::{
    code::{Access, RepositoryName},
    id::SandboxId,
};
use git::{Side, Touched, read_touched};
use images::handed::Handed;
use tokio::sync::mpsc;

use super::{
    Inner, Sandbox,
    errand::{self, Errand},
    sources::{PATIENCE, steps},
};
use crate::{
    body::Body,
    repositories::{Place, Step},
};

/// What a setup left in each repository, by its name; nothing, where there was none.
pub(super) type Left = Option<BTreeMap<String, Handed>>;

/// More than any setup leaves that is not to be ignored by git.
const MOST: usize = 50_000;

/// What git says of so many.
const SAID: usize = 16 << 20;

/// Restored files that are named.
const NAMED: usize = 100;

impl Inner {
    /// Looks at what a setup left, and brings tracked files back to the commit.
    pub(super) async fn after_setup(
        &self,
        body: &Body,
        places: &[Place],
    ) -> Result<Left, SandboxError> {
        let mut left = BTreeMap::new();
        for place in places {
            let looked = look(body, place).await;
            self.take_steps(body, place, place.restored()).await?;
            match looked {
                Ok(found) => left.insert(place.repository.to_string(), (&restored(found)).into()),
                Err(reason) => {
                    // Every sandbox looks for itself then.
                    tracing::warn!(repository = %place.repository, reason, "what a setup left is not known");
                    return Ok(None);
                }
            };
        }
        Ok((!left.is_empty()).then_some(left))
    }

    /// Writes down how each repository is handed over that may be changed. Where it cannot be found out, all that is there counts as the
    /// agent's, and its owner is told in the log.
    pub(super) async fn hand_over(&self, sandbox: &Arc<Sandbox>, body: &Body, spec: &Spec) {
        let stack = sandbox.lock().record.stack.clone();
        let image = stack.image().and_then(|key| self.images.find(&key).ok().flatten());
        let of_setup = image.and_then(|built| built.provenance.left.clone());
        let hooks = [&spec.hooks.post_clone, &spec.hooks.post_start];
        let has_hooks = hooks.iter().any(|script| !script.trim().is_empty());
        let mut handed = BTreeMap::new();
        let all = spec.sources.iter().zip(steps(&spec.sources, &stack.sources));
        let ours = all.filter(|(source, _)| source.access == Access::Write);
        for (source, (place, steps)) in ours {
            let name = source.repository.to_string();
            let known = of_setup.as_ref().and_then(|left| left.get(&name));
            let is_in_image = stack.checkouts().iter().any(|it| it.repository == source.repository);
            let found = match known {
                Some(known) if steps.is_empty() && !has_hooks => known.clone(),
                None if !is_in_image && !has_hooks => Handed::default(),
                Some(_) | None => match look(body, &place).await {
                    Ok(found) => {
                        let before = known.map(HandedOver::from).unwrap_or_default();
                        (&HandedOver { restored: before.restored, ..found }).into()
                    }
                    Err(reason) => {
                        tracing::warn!(sandbox = %sandbox.id, repository = name, reason, "what was handed over is not known");
                        continue;
                    }
                },
            };
            if found != Handed::default() {
                handed.insert(name, found);
            }
        }
        sandbox.lock().record.handed = handed;
    }

    pub(super) fn handed_over(
        &self,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<HandedOver, SandboxError> {
        let sandbox = self.get(sandbox)?;
        let entry = sandbox.lock();
        let handed = entry.record.handed.get(repository.as_str());
        Ok(handed.map(HandedOver::from).unwrap_or_default())
    }
}

/// What is not as in the commit, or why it cannot be found out.
async fn look(body: &Body, place: &Place) -> Result<HandedOver, String> {
    let Step::Run { argv, directory, environment } = place.differences() else {
        return Err("nothing was asked".to_owned());
    };
    let errand = Errand {
        argv: &argv,
        directory: &directory,
        environment: &environment,
        user: User::Agent,
        limit: PATIENCE,
    };
    let (listener, mut saying) = mpsc::channel::<Vec<u8>>(8);
    let listening = async {
        let mut said = Vec::new();
        while let Some(bytes) = saying.recv().await {
            if said.len() <= SAID {
                said.extend(bytes);
            }
        }
        said
    };
    let running = async {
        let outcome = errand::run(body, &errand, Some(&listener)).await;
        drop(listener);
        outcome
    };
    let (outcome, said) = tokio::join!(running, listening);
    let outcome = outcome.map_err(|error| error.to_string())?;
    if let Some(trouble) = outcome.trouble() {
        return Err(trouble);
    }
    if said.len() > SAID {
        return Err("there is too much of it".to_owned());
    }
    let touched = read_touched(&said).map_err(|error| error.to_string())?;
    Ok(handed(touched))
}

/// As it is kept. A path that is no text is nothing that could be told; no repository of people has one.
fn handed(touched: Vec<Touched>) -> HandedOver {
    let content = |side: Side| Content {
        mode: side.mode.to_string(),
        object: side.object.as_str().to_owned(),
    };
    let all = touched.len();
    let kept: Vec<Leftover> = touched
        .into_iter()
        .filter_map(|one| {
            let path = String::from_utf8(one.path).ok()?;
            let (before, after) = (one.before.map(content), one.after.map(content));
            Some(Leftover { path, before, after })
        })
        .take(MOST)
        .collect();
    let left_off = u64::try_from(all.saturating_sub(kept.len())).unwrap_or(u64::MAX);
    HandedOver { touched: kept, restored: Vec::new(), left_off }
}

/// The same, after tracked files were brought back.
fn restored(found: HandedOver) -> HandedOver {
    let (tracked, left): (Vec<Leftover>, Vec<Leftover>) =
        found.touched.into_iter().partition(|one| one.before.is_some());
    let names = tracked.into_iter().map(|one| one.path).take(NAMED);
    HandedOver { touched: left, restored: names.collect(), left_off: found.left_off }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_setup_changed_is_told_apart_from_what_it_left() {
        let (old, new, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100644 {old} {new} M\0README.rst\0:000000 100755 {none} {new} A\0package-lock.json\0\
             :100644 000000 {old} {none} D\0gone\0"
        );
        let found = handed(read_touched(raw.as_bytes()).unwrap());
        assert_eq!(found.touched.len(), 3);
        let after = restored(found);
        assert_eq!(after.restored, ["README.rst", "gone"]);
        let content = Content { mode: "100755".to_owned(), object: new };
        let path = "package-lock.json".to_owned();
        assert_eq!(after.touched, [Leftover { path, before: None, after: Some(content) }]);
    }
}
