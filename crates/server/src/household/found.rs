//! Installs what a project needs where nobody wrote a setup: as its own files say, at the commit that the task starts from.
//!
//! ```text
//!  files of the commit ──▶ proposal ──▶ registries allowed? ──▶ image, found again by base, script, manifests and lockfiles
//!                                            │ no: a person is asked once        │ it fails
//!                                            ▼                                    ▼
//!                                     the task pauses                  the task goes on without it, and says so
//! ```
//!
//! **Invariant:** what was only guessed ends no task. Whoever is asked to allow something and goes on without it is not asked again.

use contracts::{
    outfit::{OutfitError, SetupNews, Wanted},
    sandbox::{Base, Compute, Recipe, SandboxError},
};
use domain::{task::Purpose, time::Timestamp};
use images::detect::Proposal;
use provision::{found_setup, outfit::Sketch};
use tokio::sync::mpsc;

use super::{
    account,
    outfits::{Found, Outfitter, busy, tell},
    wardrobe::{self, FailedSetup, FoundSetup},
};
use crate::trail::books::Books;

impl Outfitter {
    pub(super) async fn found_setup(
        &self,
        sketch: &Sketch<'_>,
        base: &Base,
        compute: Compute,
    ) -> Result<Found, OutfitError> {
        let wanted = &Wanted { news: listener(sketch.wanted), ..*sketch.wanted };
        let sources = self.sources(wanted).await?;
        let Some(first) = sources.first() else { return Ok(Found::Nothing) };
        let proposal = match self.sandboxes.proposed_setup(first).await {
            Ok(Some(proposal)) => proposal,
            Ok(None) => return Ok(Found::Nothing),
            Err(error) => {
                tracing::warn!(task = %wanted.task, %error, "cannot find out how a project is set up");
                return Ok(Found::Nothing);
            }
        };
        let kept = self.wardrobe.read(wanted.task).map_err(|error| busy(&error))?.found;
        if let Some(failed) = kept.failed.as_ref().filter(|failed| counts(failed, wanted.purpose)) {
            return Ok(Found::Unready(failed.reason.clone()));
        }
        let network = match found_setup::network(sketch, &proposal.registries) {
            Ok(network) => network,
            Err(missing) => return self.asked(wanted, &kept, &missing.sentence).await,
        };
        let Proposal { script, commands, because, .. } = proposal;
        tell(wanted.news, SetupNews::Found { commands, because }).await;
        let recipe = Recipe {
            base: base.clone(),
            sources,
            setup: Some(found_setup::with_variables(&script, &sketch.variables())),
            compute,
            network: Some(network),
        };
        match self.prepare(&recipe, wanted.news).await {
            Ok(image) => {
                self.keep(wanted.task, |kept| kept.found = FoundSetup::default())?;
                tell(wanted.news, SetupNews::Ready { image: image.key.to_string() }).await;
                Ok(Found::Ready(image))
            }
            Err(OutfitError::Image(error)) => self.failed(wanted, &kept, error).await,
            Err(error) => Err(error),
        }
    }

    /// It could not be installed: because of a host that a person may allow, or for good.
    async fn failed(
        &self,
        wanted: &Wanted<'_>,
        kept: &FoundSetup,
        error: SandboxError,
    ) -> Result<Found, OutfitError> {
        if is_passing(&error) {
            return Err(OutfitError::Image(error));
        }
        let hosts = self.refused_since(wanted).await?;
        if hosts.is_empty() {
            return self.without(wanted, error.to_string()).await;
        }
        let names: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
        let rules: Vec<String> = hosts.iter().map(|host| format!("'{host}'")).collect();
        let sentence = format!(
            "{error}; the gateway refused {}, and the server's policy.yaml has to say `egress: {{ setup: {{ allow: [{}] }} }}`",
            names.join(", "),
            rules.join(", ")
        );
        self.asked(wanted, kept, &sentence).await
    }

    /// A person is asked, once: whoever resumes the task without allowing it goes on without what it needs.
    async fn asked(
        &self,
        wanted: &Wanted<'_>,
        kept: &FoundSetup,
        sentence: &str,
    ) -> Result<Found, OutfitError> {
        let now = wanted.asked_at.as_millis();
        if kept.asked_at.is_some_and(|before| before != now) {
            return self.without(wanted, sentence.to_owned()).await;
        }
        self.keep(wanted.task, |kept| kept.found.asked_at = Some(now))?;
        let reason = format!(
            "{sentence}; then `lamp policy reload` and `lamp resume`. `lamp resume` alone goes on without it"
        );
        tell(wanted.news, SetupNews::Failed { reason: reason.clone() }).await;
        Err(OutfitError::Blocked { reason })
    }

    async fn without(&self, wanted: &Wanted<'_>, reason: String) -> Result<Found, OutfitError> {
        let reason = format!("{reason}; `lamp log {}` shows what it printed", wanted.task);
        let purpose = wardrobe::name(wanted.purpose).to_owned();
        let failed = FailedSetup { purpose, reason: reason.clone() };
        self.keep(wanted.task, |kept| kept.found.failed = Some(failed))?;
        tell(wanted.news, SetupNews::Failed { reason: reason.clone() }).await;
        Ok(Found::Unready(reason))
    }

    async fn refused_since(&self, wanted: &Wanted<'_>) -> Result<Vec<String>, OutfitError> {
        let books = Books::beside(&self.networks.log);
        let (task, since): (_, Timestamp) = (wanted.task, wanted.asked_at);
        let looking = tokio::task::spawn_blocking(move || account::refused(&books, task, since));
        let found = looking.await.map_err(|error| busy(&error))?;
        let hosts = found.map_err(|error| busy(&error))?;
        Ok(hosts.into_iter().map(|refused| refused.host).take(5).collect())
    }
}

/// Checks and reviews stand on what was told before.
const fn listener<'a>(wanted: &Wanted<'a>) -> Option<&'a mpsc::Sender<SetupNews>> {
    match wanted.purpose {
        Purpose::Research | Purpose::Implement => wanted.news,
        Purpose::Verify | Purpose::Review => None,
    }
}

/// Whether one that failed before says it all. The network may have been away then, so whoever changes something tries once more.
fn counts(failed: &FailedSetup, purpose: Purpose) -> bool {
    match purpose {
        Purpose::Implement => failed.purpose == wardrobe::name(Purpose::Implement),
        Purpose::Research | Purpose::Verify | Purpose::Review => true,
    }
}

/// Whether it is to be tried again by itself.
const fn is_passing(error: &SandboxError) -> bool {
    match error {
        SandboxError::Busy { .. } | SandboxError::NoRoom { .. } | SandboxError::Resting { .. } => {
            true
        }
        SandboxError::NotFound { .. }
        | SandboxError::Destroyed { .. }
        | SandboxError::NameTaken { .. }
        | SandboxError::TierMissing { .. }
        | SandboxError::Limit { .. }
        | SandboxError::Image { .. }
        | SandboxError::Setup { .. }
        | SandboxError::Source { .. }
        | SandboxError::Hook { .. }
        | SandboxError::ProgramMissing { .. }
        | SandboxError::Directory { .. }
        | SandboxError::Unsupported { .. }
        | SandboxError::Lost { .. } => false,
    }
}
