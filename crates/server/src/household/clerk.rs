//! Which tasks may be begun here: [`contracts::order::Orders`] by the server's files, its mirrors and its broker.

use std::sync::Arc;

use contracts::order::{KnownRepository, Order, OrderError, Orders, Taken, Wish, WishedRepository};
use domain::{id::TaskId, money::Money, request::Trigger};
use egress::broker::Broker;
use provision::{offers, order, server_files::ServerFiles};

use super::owners;
use crate::{provider::Mirrored, reload::Reloader};

/// Takes wishes, and says what they become.
#[derive(Debug)]
pub(crate) struct Clerk {
    pub(super) reloader: Arc<Reloader>,
    pub(super) broker: Arc<Broker>,
    pub(super) mirrored: Mirrored,
}

impl Orders for Clerk {
    async fn order(&self, wish: &Wish) -> Result<Order, OrderError> {
        let (said, layers) = (self.reloader.said(), self.reloader.layers());
        let known = self.known()?;
        let is_servers = wish.agent.as_ref().is_some_and(|it| offers::is_known(&said.staff, it));
        if is_servers {
            // It is the server's whatever the repository says, so what is wrong is told before anything is fetched.
            let ordered = order::order(&said, &layers, wish)?;
            all_are_known(&ordered.trigger, wish, &known)?;
            self.bring(wish, &known).await?;
            return self.remembered(&said, ordered);
        }
        self.bring(wish, &known).await?;
        let said = match wish.repositories.first() {
            Some(first) => {
                let mirrors = self.mirrored.0.mirrors();
                offers::with_offers(&said, &owners::offers(mirrors, &first.name).await?)
            }
            None => ServerFiles::clone(&said),
        };
        let ordered = order::order(&said, &layers, wish)?;
        all_are_known(&ordered.trigger, wish, &known)?;
        self.remembered(&said, ordered)
    }

    async fn repositories(&self) -> Result<Vec<KnownRepository>, OrderError> {
        self.known()
    }

    fn largest_budget(&self) -> Money {
        self.reloader.layers().policy().ceilings.budget
    }

    fn allow(&self, task: TaskId, budget: Money) {
        if let Err(error) = self.broker.allow(task, budget) {
            tracing::warn!(%task, %error, "the larger budget holds from the next sandbox on");
        }
    }
}

impl Clerk {
    /// What cannot be read now is told now.
    async fn bring(&self, wish: &Wish, known: &[KnownRepository]) -> Result<(), OrderError> {
        for WishedRepository { name, url, .. } in &wish.repositories {
            let brought = self.mirrored.bring_up_to_date(name, url, None).await;
            brought.map_err(|error| OrderError::Unreadable {
                error,
                taken: taken(wish, known).map(Box::new),
            })?;
        }
        Ok(())
    }

    /// Keeps the very text that the task's agent is defined by, before an event speaks of it.
    fn remembered(&self, said: &ServerFiles, ordered: Order) -> Result<Order, OrderError> {
        let member = said.staff.member(&ordered.trigger.agent);
        if let Some(written) = member.and_then(|member| member.written) {
            let kept = self.reloader.texts().put(written.text.as_bytes());
            kept.map_err(|error| OrderError::Broken { reason: error.to_string() })?;
        }
        Ok(ordered)
    }

    fn known(&self) -> Result<Vec<KnownRepository>, OrderError> {
        self.mirrored.known().map_err(|error| OrderError::Broken { reason: error.to_string() })
    }
}

/// The first whose name stands for another repository, with a name of its own.
fn taken(wish: &Wish, known: &[KnownRepository]) -> Option<Taken> {
    let is_known = |name: &str| known.iter().any(|it| it.name.as_str() == name);
    let wished = wish
        .repositories
        .iter()
        .find(|wished| known.iter().any(|it| it.name == wished.name && it.url != wished.url))?;
    let mut names = (2..).map(|number| format!("{}-{number}", wished.name));
    let free = names.find(|name| !is_known(name)).unwrap_or_default();
    Some(Taken { free, url: wished.url.clone() })
}

/// Those of the agent's file are where somebody said before. The wish does not say it, and nobody else can.
fn all_are_known(
    trigger: &Trigger,
    wish: &Wish,
    known: &[KnownRepository],
) -> Result<(), OrderError> {
    let mut used = trigger.repositories.iter().map(|used| &used.name);
    let unknown = used.find(|name| {
        let is_wished = wish.repositories.iter().any(|it| it.name == **name);
        !is_wished && known.iter().all(|it| it.name != **name)
    });
    unknown.map_or(Ok(()), |name| Err(OrderError::Unplaced { repository: name.clone() }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::{
        code::Access,
        id::PersonId,
        people::{Person, Role},
        request::{ChannelKind, RepositoryUse, Source, Triggerer},
    };

    use super::*;

    fn ann() -> Person {
        Person { id: PersonId::from_u128(1), role: Role::Admin, teams: BTreeSet::new() }
    }

    fn wish(name: &str, url: &str) -> Wish {
        let (name, url) = (name.parse().unwrap(), url.to_owned());
        Wish {
            by: ann(),
            door: ChannelKind::Cli,
            text: "fix it".to_owned(),
            repositories: vec![WishedRepository { name, url, revision: None, access: None }],
            agent: None,
            model: None,
            attempts: None,
            budget: None,
        }
    }

    fn known(name: &str, url: &str) -> KnownRepository {
        KnownRepository { name: name.parse().unwrap(), url: url.to_owned() }
    }

    #[test]
    fn a_repository_of_the_file_that_nobody_ever_named_is_asked_for() {
        let used = |name: &str| RepositoryUse { name: name.parse().unwrap(), access: Access::Read };
        let trigger = Trigger {
            by: Triggerer::Person(ann()),
            text: "fix it".to_owned(),
            source: Source { channel: ChannelKind::Cli, thread: String::new() },
            repositories: vec![used("web"), used("api")],
            agent: "fix".parse().unwrap(),
            definition: None,
            model: None,
            quotes: Vec::new(),
            parent: None,
        };
        let wish = wish("web", "/srv/web");
        let told = all_are_known(&trigger, &wish, &[]).unwrap_err();
        assert_eq!(
            told.to_string(),
            "the agent's file lists `api`, and this server does not know where it is"
        );
        assert!(all_are_known(&trigger, &wish, &[known("api", "/srv/api")]).is_ok());
    }

    #[test]
    fn a_second_clone_is_told_the_name_that_works() {
        let wish = wish("acme/web", "/home/ann/web");
        let others = [known("acme/web", "/srv/web"), known("acme/web-2", "/srv/two")];
        let free = Taken { free: "acme/web-3".to_owned(), url: "/home/ann/web".to_owned() };
        assert_eq!(taken(&wish, &others), Some(free));
        assert_eq!(taken(&wish, &[known("acme/web", "/home/ann/web")]), None);
    }
}
