//! Tasks for the doors: [`gateway::TaskDesk`] over the engine.

use std::sync::Arc;

use contracts::forge::{Diff, ForgeError, Forges as _};
use domain::{
    id::{PersonId, TaskId},
    limits::Limits,
    people::Person,
    queue::Places,
    request::{ChannelKind, RepositoryUse, Request, Trigger},
    task::{Ask, Refusal, Task},
};
use egress::broker::Broker;
use engine::{Engine, SubmitError};
use evidence::commit::BranchTemplate;
use futures::future::BoxFuture;
use gateway::{SourceResolver as _, TaskChange, TaskDesk};
use store::Store;
use wire::{
    error::{Code, Problem},
    sandbox::Repository,
    task::{new::NewTask, shown::KnownRepository},
    why::{Why, WhyQuery},
};

use super::{Household, house::PlainForge, order, why};
use crate::{provider::Mirrored, reload::Reloader};

/// Has tasks done.
pub(crate) struct Tasks(Parts);

/// What that takes.
pub(crate) struct Parts {
    pub(super) engine: Engine<Household>,
    pub(super) reloader: Arc<Reloader>,
    pub(super) broker: Arc<Broker>,
    pub(super) mirrored: Mirrored,
    pub(super) forge: Arc<PlainForge>,
    /// Whose server it is.
    pub(super) owner: PersonId,
    pub(super) places: Places,
    /// As the engine names branches.
    pub(super) branches: BranchTemplate,
}

impl Tasks {
    pub(super) const fn new(parts: Parts) -> Self {
        Self(parts)
    }

    pub(super) const fn forge(&self) -> &Arc<PlainForge> {
        &self.0.forge
    }
}

impl TaskDesk for Tasks {
    fn store(&self) -> Option<&Arc<Store>> {
        Some(self.0.engine.store())
    }

    fn places(&self) -> Places {
        self.0.places
    }

    fn order<'a>(
        &'a self,
        by: &'a Person,
        door: ChannelKind,
        wish: &'a NewTask,
    ) -> BoxFuture<'a, Result<(Trigger, Limits), Problem>> {
        Box::pin(async move {
            let (said, layers) = (self.0.reloader.said(), self.0.reloader.layers());
            let ordered = order::order((&said, &layers), by, (door, wish))?;
            let known = self.0.mirrored.known()?;
            all_are_known(&ordered.0, wish, &known)?;
            let wanted: Vec<Repository> = wish
                .repositories
                .iter()
                .map(|it| Repository { name: it.name.clone(), url: it.url.clone(), revision: None })
                .collect();
            // What cannot be read now is told now.
            self.0.mirrored.resolve(&wanted).await.map_err(|error| {
                Problem::new(Code::BadRequest, error.to_string()).with_help(remedy(wish, &known))
            })?;
            // A change that could not be delivered is not begun.
            if let Some(first) = ordered.0.repositories.first() {
                self.0
                    .forge
                    .base(&first.name)
                    .await
                    .map_err(|error| on_no_branch(first, &error))?;
            }
            Ok(ordered)
        })
    }

    fn submit_as(
        &self,
        task: TaskId,
        trigger: Trigger,
        limits: Limits,
    ) -> BoxFuture<'_, Result<(), SubmitError>> {
        Box::pin(self.0.engine.submit_as(task, trigger, limits))
    }

    fn ask(&self, task: TaskId, by: Person, ask: Ask) -> BoxFuture<'_, Result<Task, SubmitError>> {
        Box::pin(async move {
            let Ask::RaiseBudget { to } = ask else {
                return self.0.engine.ask(task, by, ask).await;
            };
            let most = self.0.reloader.layers().policy().ceilings.budget;
            if to > most {
                return Err(Refusal::BudgetTooLarge { to, most }.into());
            }
            let raised = self.0.engine.ask(task, by, ask).await?;
            // A sandbox that works now may spend it now. One that rests is told when it wakes.
            if let Err(error) = self.0.broker.allow(task, raised.budget()) {
                tracing::warn!(%task, %error, "the larger budget holds from the next sandbox on");
            }
            Ok(raised)
        })
    }

    fn branch(&self, task: TaskId, request: &Request) -> Option<String> {
        Some(self.0.branches.name(task, &request.text).ok()?.to_string())
    }

    fn diff<'a>(&'a self, change: &'a TaskChange) -> BoxFuture<'a, Result<Diff, Problem>> {
        Box::pin(async move {
            let TaskChange { repository, base, commit, .. } = change;
            let compared = self.0.forge.compare(repository, base, commit).await;
            compared.map(|compared| compared.patch).map_err(|error| unread(&error))
        })
    }

    fn why<'a>(&'a self, query: &'a WhyQuery) -> BoxFuture<'a, Result<Why, Problem>> {
        Box::pin(why::why(self.forge(), (self.0.engine.store(), self.0.owner), query))
    }

    fn repositories(&self) -> BoxFuture<'_, Result<Vec<KnownRepository>, Problem>> {
        Box::pin(async move { self.0.mirrored.known() })
    }
}

/// What helps whoever named a repository that cannot be read: where its name stands for another one, a name of its own.
fn remedy(wish: &NewTask, known: &[KnownRepository]) -> String {
    let is_known = |name: &str| known.iter().any(|it| it.name == name);
    let elsewhere = wish
        .repositories
        .iter()
        .find(|wished| known.iter().any(|it| it.name == wished.name && it.url != wished.url));
    let Some(wished) = elsewhere else {
        return "look at the repository's address, and whether this server may read it".to_owned();
    };
    let names = (2..).map(|number| format!("{}-{number}", wished.name));
    let free = names.into_iter().find(|name| !is_known(name)).unwrap_or_default();
    format!("give it a name of its own: `--repo {free}={}`", wished.url)
}

fn on_no_branch(used: &RepositoryUse, error: &ForgeError) -> Problem {
    match error {
        ForgeError::Rejected { .. } => Problem::new(
            Code::BadRequest,
            format!("`{}` is on no branch that a change could go into: {error}", used.name),
        )
        .with_help("go to a branch there first: `git checkout BRANCH`"),
        ForgeError::NoRepository(_)
        | ForgeError::Busy { .. }
        | ForgeError::Refused { .. }
        | ForgeError::NothingChanged
        | ForgeError::TakenOver { .. } => unread(error),
    }
}

/// Those of the agent's file are where somebody said before. The wish does not say it, and nobody else can.
fn all_are_known(
    trigger: &Trigger,
    wish: &NewTask,
    known: &[KnownRepository],
) -> Result<(), Problem> {
    let is_known = |name: &str| {
        wish.repositories.iter().any(|it| it.name == name) || known.iter().any(|it| it.name == name)
    };
    let mut names = trigger.repositories.iter().map(|used| used.name.as_str());
    let Some(name) = names.find(|name| !is_known(name)) else { return Ok(()) };
    let what =
        format!("the agent's file lists `{name}`, and this server does not know where it is");
    let help =
        format!("name it once with `--repo {name}=ADDRESS`, or take it out of the agent's file");
    Err(Problem::new(Code::BadRequest, what).with_help(help))
}

pub(super) fn unread(error: &ForgeError) -> Problem {
    let code = match error {
        ForgeError::NoRepository(_) => Code::NotFound,
        ForgeError::Busy { .. } => Code::Busy,
        ForgeError::Refused { .. } => Code::BadRequest,
        ForgeError::NothingChanged | ForgeError::Rejected { .. } | ForgeError::TakenOver { .. } => {
            Code::Internal
        }
    };
    Problem::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::{
        code::Access,
        people::Role,
        request::{Source, Triggerer},
    };
    use wire::task::new::NewRepository;

    use super::*;

    #[test]
    fn a_repository_of_the_file_that_nobody_ever_named_is_asked_for() {
        let person =
            Person { id: PersonId::from_u128(1), role: Role::Admin, teams: BTreeSet::new() };
        let used = |name: &str| RepositoryUse { name: name.parse().unwrap(), access: Access::Read };
        let trigger = Trigger {
            by: Triggerer::Person(person),
            text: "fix it".to_owned(),
            source: Source { channel: ChannelKind::Cli, thread: String::new() },
            repositories: vec![used("web"), used("api")],
            agent: "fix".parse().unwrap(),
            model: None,
            quotes: Vec::new(),
            parent: None,
        };
        let (name, url) = ("web".to_owned(), "/srv/web".to_owned());
        let named = NewRepository { name, url, revision: None, access: None };
        let wish = NewTask { repositories: vec![named], ..NewTask::default() };
        let told = all_are_known(&trigger, &wish, &[]).unwrap_err();
        assert_eq!(
            told.message,
            "the agent's file lists `api`, and this server does not know where it is"
        );
        let known = KnownRepository { name: "api".to_owned(), url: "/srv/api".to_owned() };
        assert!(all_are_known(&trigger, &wish, &[known]).is_ok());
    }

    #[test]
    fn a_second_clone_is_told_the_name_that_works() {
        let named =
            |name: &str, url: &str| KnownRepository { name: name.to_owned(), url: url.to_owned() };
        let (name, url) = ("acme/web".to_owned(), "/home/ann/web".to_owned());
        let wished = NewRepository { name, url, revision: None, access: None };
        let wish = NewTask { repositories: vec![wished], ..NewTask::default() };
        let other = named("acme/web", "/srv/web");
        assert_eq!(
            remedy(&wish, &[other.clone(), named("acme/web-2", "/srv/two")]),
            "give it a name of its own: `--repo acme/web-3=/home/ann/web`"
        );
        assert!(remedy(&wish, &[named("acme/web", "/home/ann/web")]).starts_with("look at"));
    }
}
