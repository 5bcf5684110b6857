//! Repositories, from their mirrors on the host into a sandbox.
//!
//! Their objects are shown read-only; the files are checked out inside, by the sandbox's own git. An image that was
//! built with the same commit has them already, and then nothing is left to do.

use std::{sync::Arc, time::Duration};

use contracts::sandbox::{Checkout, SandboxError, Spec, User};
use domain::{agent::Tier, code::RepositoryName, id::SandboxId};

use super::{
    Inner, Sandbox,
    boot::Blueprint,
    errand::{self, Errand},
};
use crate::{
    body::Body,
    repositories::{Checkouts, Head, Place, Step},
    stack::Stack,
};

/// How many repositories a sandbox may have: the skeleton has a place for each.
const MOST: usize = images::base::skeleton::MIRRORS;

pub(super) const PATIENCE: Duration = Duration::from_mins(10);

/// Somebody waits for the end, so a hook before it has less.
const TEAR_DOWN: Duration = Duration::from_secs(30);

/// How long git may look at what a waiting computer holds.
const LOOK: Duration = Duration::from_secs(30);

/// A look at 50,000 files took 48 MiB of it, which the kernel takes back when there is need.
const ENOUGH_MEMORY_MIB: u32 = 512;

impl Inner {
    /// Where a sandbox sees the objects of a repository.
    pub(crate) fn objects_inside(
        &self,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<String, SandboxError> {
        let objects = self.mirrors.objects(repository);
        let sandbox = self.get(sandbox)?;
        let entry = sandbox.lock();
        let mut binds = entry.record.stack.binds.iter();
        let found = binds.find(|(outside, _)| std::path::Path::new(outside) == objects);
        found.map(|(_, inside)| inside.clone()).ok_or_else(|| SandboxError::Source {
            repository: repository.to_string(),
            reason: "the sandbox was opened without it".to_owned(),
        })
    }

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

    /// Has git look at the repositories of a computer that waits, once. The kernel makes its notes about a file when
    /// somebody first looks at it in a sandbox, which takes three times as long as every look after that.
    ///
    /// What fails here only makes the first look slow.
    pub(super) async fn look_around(&self, body: &Body, blueprint: &Blueprint) {
        let Blueprint { stack, tier, compute, .. } = blueprint;
        let is_cheap = match tier {
            Tier::Verified | Tier::Standard => compute.memory_mib >= ENOUGH_MEMORY_MIB,
            // There it takes many seconds.
            Tier::Untrusted => false,
        };
        if !is_cheap {
            return;
        }
        for place in Checkouts::default().places(&stack.checkouts()) {
            let Step::Run { argv, directory, environment } = place.seen() else { return };
            let errand = Errand {
                argv: &argv,
                directory: &directory,
                environment: &environment,
                user: User::Agent,
                limit: LOOK,
            };
            tokio::select! {
                looked = errand::run(body, &errand, None) => match looked {
                    Ok(outcome) => {
                        if let Some(trouble) = outcome.trouble() {
                            tracing::debug!(%trouble, "git did not look around");
                        }
                    }
                    Err(error) => tracing::debug!(%error, "git did not look around"),
                },
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Runs a hook of the sandbox, if it has it (IM4).
    pub(super) async fn hook(
        &self,
        sandbox: &Sandbox,
        body: &Body,
        spec: &Spec,
        hook: &str,
        script: &str,
    ) -> Result<(), SandboxError> {
        if script.trim().is_empty() {
            return Ok(());
        }
        let failed = |reason| SandboxError::Hook { hook: hook.to_owned(), reason };
        let places = Checkouts::default().places(&spec.sources);
        let directory = places.first().map_or("/workspace", |place| place.directory.as_str());
        let argv = ["/bin/sh", "-eu", "-c", script].map(str::to_owned);
        // As every other command it finds the way out, and what its owner set.
        let mut environment = sandbox.lock().road.clone();
        environment.insert("LAMP_HOOK".to_owned(), hook.to_owned());
        let errand = Errand {
            argv: &argv,
            directory,
            environment: &environment,
            user: User::Agent,
            limit: PATIENCE,
        };
        let outcome = errand::run(body, &errand, None).await;
        let outcome = outcome.map_err(|error| failed(error.to_string()))?;
        outcome.trouble().map_or(Ok(()), |trouble| Err(failed(trouble)))
    }

    /// Before everything is stopped. What fails here stops nothing.
    pub(super) async fn tear_down(&self, sandbox: &Sandbox) {
        let (body, spec) = {
            let entry = sandbox.lock();
            (entry.body.clone(), entry.record.spec.clone())
        };
        let Some(body) = body.filter(|_| !spec.hooks.pre_teardown.trim().is_empty()) else {
            return;
        };
        // A frozen one hears nothing. It is stopped next in any case.
        let _ = body.group.thaw();
        let running = self.hook(sandbox, &body, &spec, "pre_teardown", &spec.hooks.pre_teardown);
        match tokio::time::timeout(TEAR_DOWN, running).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(sandbox = %sandbox.id, %error, "a hook failed"),
            Err(_late) => tracing::warn!(sandbox = %sandbox.id, "the hook `pre_teardown` hangs"),
        }
    }

    /// Brings each source to its commit. `inside` are those that the image has, in its order.
    pub(crate) async fn check_out_in(
        &self,
        body: &Body,
        sources: &[Checkout],
        inside: &[String],
    ) -> Result<(), SandboxError> {
        for (place, steps) in steps(sources, inside) {
            let is_told = steps.is_empty();
            self.take_steps(body, &place, steps).await?;
            // An image that was built with the same commit has been told.
            if !is_told {
                let wrong = |error: git::MirrorError| SandboxError::Source {
                    repository: place.repository.to_string(),
                    reason: error.to_string(),
                };
                let known = self.mirrors.references(&place.repository).await.map_err(wrong)?;
                self.take_steps(body, &place, place.told(&known)).await?;
            }
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

/// What is to be done for each source. `inside` are those that the image has, in its order.
pub(super) fn steps(sources: &[Checkout], inside: &[String]) -> Vec<(Place, Vec<Step>)> {
    let places = Checkouts::default().places(sources).into_iter().enumerate();
    let steps = |(number, place): (usize, Place)| {
        let prefix = format!("{}@", place.repository);
        let wanted = format!("{prefix}{}", place.commit);
        let steps = match inside.iter().position(|source| source.starts_with(&prefix)) {
            Some(at) if at == number && inside.get(at) == Some(&wanted) => Vec::new(),
            Some(_) => place.renewed(&Head::Detached),
            None => place.fresh(&Head::Detached),
        };
        (place, steps)
    };
    places.map(steps).collect()
}
