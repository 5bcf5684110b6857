//! Agents that a repository defines itself, and those that a task was begun with.
//!
//! ```text
//!  default branch, at a commit ── agents/*.yaml, as text ──▶ Offers ──▶ Staff of this one order ──▶ Definition, in the first event
//!                                                                                                          │
//!  every later sandbox and run of the task ◀── Staff of that definition's text, and of nothing else ◀──────┘
//! ```
//!
//! **Invariants:** a repository adds names and takes none: what the server calls an agent stays what it is. A task works by the text that
//! it was begun with, whatever was merged or reloaded since, so no change configures its own run. What the server grants and allows is
//! asked anew each time.

use config::owned::{self, Granted};
use domain::{
    agent::AgentName,
    code::{CommitId, RepositoryName},
    definition::Definition,
    digest::Digest,
};

use crate::{
    agents::{Broken, Owner, Staff, Written, meant},
    files,
    narrow::narrowed,
    server_files::ServerFiles,
};

/// Where a repository keeps its agents.
pub const DIRECTORY: &str = "agents";

/// Files of one repository that are looked at. More are a mistake, or worse.
pub const MOST: usize = 50;

/// Bytes of one of them.
pub const LONGEST: u64 = 64 << 10;

/// What was found in one repository, at one commit of its default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offers {
    pub repository: RepositoryName,
    pub commit: CommitId,
    /// Below [`DIRECTORY`], in the order of their names.
    pub files: Vec<Offer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `fix.yaml`
    pub name: String,
    /// Or why it cannot be read.
    pub text: Result<String, String>,
}

impl Offers {
    fn written(&self, offer: &Offer, said: &ServerFiles) -> Result<Written, String> {
        let place = format!("{DIRECTORY}/{}", offer.name);
        let text = offer.text.clone().map_err(|why| format!("{}: {why}", self.shown(&place)))?;
        let file = owned::check(&self.shown(&place), &text, &granted(said, &self.repository));
        let file = file.map_err(|invalid| invalid.to_string())?;
        Ok(Written {
            definition: Definition::Repository {
                repository: self.repository.clone(),
                commit: self.commit.clone(),
                file: place.clone(),
                digest: Digest::of(text.as_bytes()),
            },
            file: narrowed(file, &said.server.defaults),
            place: self.shown(&place),
            text,
        })
    }

    fn shown(&self, place: &str) -> String {
        shown(&self.repository, &self.commit, place)
    }
}

/// `acme/web@0123456789ab:agents/fix.yaml`: what to open, and at which commit.
fn shown(repository: &RepositoryName, commit: &CommitId, place: &str) -> String {
    let commit: String = commit.as_str().chars().take(12).collect();
    format!("{repository}@{commit}:{place}")
}

/// The same server, for a task in the repository that makes these offers.
pub fn with_offers(said: &ServerFiles, offers: &Offers) -> ServerFiles {
    let is_ours = |offer: &&Offer| offer.text.as_deref().map_or(true, owned::is_ours);
    let mut own = Staff::default();
    for offer in offers.files.iter().filter(is_ours) {
        match offers.written(offer, said) {
            Ok(written) => own.take(written, Owner::Repository),
            Err(problem) => own.broken.push(Broken {
                place: offers.shown(&format!("{DIRECTORY}/{}", offer.name)),
                name: meant(&offer.name, offer.text.as_deref().ok()),
                problem,
                owner: Owner::Repository,
            }),
        }
    }
    let mut staff = said.staff.clone();
    let is_servers = |name: &AgentName| is_known(&said.staff, name);
    for (name, written) in own.written.extract_if(.., |name, _| is_servers(name)) {
        staff.hidden.push((name, written.place));
    }
    own.broken.retain(|it| it.name.as_ref().is_none_or(|name| !is_servers(name)));
    staff.only = only(&own, offers);
    staff.written.extend(own.written);
    staff.broken.extend(own.broken);
    ServerFiles { staff, ..said.clone() }
}

/// Whether the server has an agent of that name, right or wrong.
pub fn is_known(staff: &Staff, name: &AgentName) -> bool {
    staff.why_broken(name).is_some() || staff.member(name).is_some()
}

/// The one that is meant where nobody says who. A wrong file counts, so that nobody works in its place unasked; one that could not be read
/// does not: it may be anybody's.
fn only(own: &Staff, offers: &Offers) -> Option<AgentName> {
    let was_read = |it: &&Broken| {
        let mut read = offers.files.iter().filter(|offer| offer.text.is_ok());
        read.any(|offer| it.place == offers.shown(&format!("{DIRECTORY}/{}", offer.name)))
    };
    let broken = own.broken.iter().filter(was_read).filter_map(|it| it.name.as_ref());
    let mut names: Vec<&AgentName> = own.written.keys().chain(broken).collect();
    names.sort();
    names.dedup();
    match names.as_slice() {
        [only] => Some((*only).clone()),
        [] | [_, _, ..] => None,
    }
}

/// The same server, for a task that was begun with `definition`. `text` is what the definition's hash stands for.
pub fn frozen(
    said: &ServerFiles,
    definition: &Definition,
    text: &str,
) -> Result<ServerFiles, String> {
    let (place, file) = match definition {
        Definition::BuiltIn => return Ok(ServerFiles { staff: Staff::default(), ..said.clone() }),
        Definition::Server { file, .. } => {
            let read = files::agent_of(file, text).map_err(|error| error.whole())?;
            (file.clone(), read)
        }
        Definition::Repository { repository, commit, file, .. } => {
            let place = shown(repository, commit, file);
            let read = owned::check(&place, text, &granted(said, repository));
            let read = read.map_err(|invalid| invalid.to_string())?;
            (place, narrowed(read, &said.server.defaults))
        }
    };
    let mut staff = Staff::default();
    let text = text.to_owned();
    staff.take(Written { place, file, text, definition: definition.clone() }, Owner::Server);
    Ok(ServerFiles { staff, ..said.clone() })
}

/// What the server grants the agents of a repository. Its own default is everybody's.
fn granted(said: &ServerFiles, repository: &RepositoryName) -> Granted {
    let named = said.server.repositories.iter().find(|it| it.name == *repository);
    let mut images = vec![said.server.defaults.base.clone()];
    images.extend(named.iter().flat_map(|it| it.images.iter().cloned()));
    Granted {
        repository: repository.clone(),
        secrets: named.map(|it| it.secrets.clone()).unwrap_or_default(),
        images,
    }
}

#[cfg(test)]
#[path = "offers_tests.rs"]
mod tests;
