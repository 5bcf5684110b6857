//! Repositories, from their mirrors on the host into a sandbox.
//!
//! Their objects are shown read-only; the files are checked out inside, by the sandbox's own git. An image that was
//! built with the same commit has them already, and then nothing is left to do.

use std::{sync::Arc, time::Duration};

use contracts::sandbox::{Checkout, SandboxError, Spec, User};

use super::{
    Inner, Sandbox,
    errand::{self, Errand},
};
use crate::{
    body::Body,
    repositories::{Checkouts, Head, Place, Step},
    stack::Stack,
};

/// How many repositories a sandbox may have: the skeleton has a place for each.
const MOST: usize = images::base::skeleton::MIRRORS;

const PATIENCE: Duration = Duration::from_mins(10);

impl Inner {
    /// Adds the mirrors' objects to what is shown inside.
    pub(crate) async fn show_sources(
        &self,
        sources: &[Checkout],
        stack: &mut Stack,
    ) -> Result<(), SandboxError> {
        if sources.len() > MOST {
            let reason = format!("{} repositories, and at most {MOST} fit", sources.len());
            return Err(SandboxError::Limit { reason });
        }
        for (source, place) in sources.iter().zip(Checkouts::default().places(sources)) {
            let wrong = |reason: String| SandboxError::Source {
                repository: source.repository.to_string(),
                reason,
            };
            let known = self.mirrors.has(&source.repository, &source.commit).await;
            if !known.map_err(|error| wrong(error.to_string()))? {
                return Err(wrong(format!("it has no commit {}", source.commit)));
            }
            let objects = self.mirrors.objects(&source.repository);
            stack.binds.push((objects.to_string_lossy().into_owned(), place.objects));
        }
        Ok(())
    }

    pub(super) async fn check_out(
        &self,
        sandbox: &Arc<Sandbox>,
        spec: &Spec,
    ) -> Result<(), SandboxError> {
        if spec.sources.is_empty() {
            return Ok(());
        }
        let body = sandbox.body()?;
        let inside = sandbox.lock().record.stack.sources.clone();
        self.check_out_in(&body, &spec.sources, &inside).await
    }

    /// Brings each source to its commit. `inside` are those that the image has, in its order.
    pub(crate) async fn check_out_in(
        &self,
        body: &Body,
        sources: &[Checkout],
        inside: &[String],
    ) -> Result<(), SandboxError> {
        let checkouts = Checkouts::default();
        for (number, place) in checkouts.places(sources).iter().enumerate() {
            let prefix = format!("{}@", place.repository);
            let wanted = format!("{prefix}{}", place.commit);
            let steps = match inside.iter().position(|source| source.starts_with(&prefix)) {
                Some(at) if at == number && inside.get(at) == Some(&wanted) => Vec::new(),
                Some(_) => place.renewed(&Head::Detached),
                None => place.fresh(&Head::Detached),
            };
            self.take_steps(body, place, steps).await?;
        }
        Ok(())
    }

    pub(crate) async fn take_steps(
        &self,
        body: &Body,
        place: &Place,
        steps: Vec<Step>,
    ) -> Result<(), SandboxError> {
        let wrong =
            |reason| SandboxError::Source { repository: place.repository.to_string(), reason };
        for step in steps {
            let outcome = match &step {
                Step::Write { path, content, mode } => {
                    errand::write(body, path, content, *mode).await
                }
                Step::Run { argv, directory, environment } => {
                    let user = User::Agent;
                    let errand = Errand { argv, directory, environment, user, limit: PATIENCE };
                    errand::run(body, &errand, None).await
                }
            };
            let outcome = outcome.map_err(|error| wrong(error.to_string()))?;
            if let Some(trouble) = outcome.trouble() {
                return Err(wrong(trouble));
            }
        }
        Ok(())
    }
}
