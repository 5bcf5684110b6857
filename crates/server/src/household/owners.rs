//! Agents that repositories define themselves: read from the objects of a mirror, on the default branch, and remembered for their tasks.
//!
//! ```text
//!  mirror ── default branch, one commit ── agents/*.yaml ──▶ Offers ──▶ order ──▶ its text, by its hash, in the store
//!                                                                                          │
//!  outfits, posts ◀── the server's files, with this one agent ◀── definition of the task ◀─┘
//! ```
//!
//! **Invariant:** a branch that a task made is never read for agents, so no change configures a run. How many files are read, and how
//! much of each, has a limit; what is no plain file is not followed.

use std::sync::Arc;

use contracts::{order::OrderError, outfit::Wanted};
use domain::{
    code::{BranchName, RepositoryName},
    definition::Definition,
};
use git::{Filed, MirrorError, Mirrors};
use provision::{
    offers::{self, DIRECTORY, LONGEST, MOST, Offer, Offers},
    roster,
    server_files::ServerFiles,
};
use store::Blobs;

use super::wardrobe::Kept;

/// What `repository` offers now. It was fetched a moment ago.
pub(crate) async fn offers(
    mirrors: &Mirrors,
    repository: &RepositoryName,
) -> Result<Offers, OrderError> {
    let broken = |error: MirrorError| OrderError::Broken { reason: error.to_string() };
    let branch = mirrors.default_branch(repository).await.map_err(broken)?;
    // By its name: what is checked out may be another branch a moment later.
    let revision = branch.as_ref().map_or("HEAD".to_owned(), |it| format!("refs/heads/{it}"));
    let commit = mirrors.resolve(repository, &revision).await.map_err(broken)?;
    if let Some(branch) = branch.filter(|it| it.starts_with(BranchName::PREFIX)) {
        if mirrors.ever_had(repository, &commit, DIRECTORY).await.map_err(broken)? {
            return Err(OrderError::Agent { reason: task_branch(repository, &branch) });
        }
        return Ok(Offers { repository: repository.clone(), commit, files: Vec::new() });
    }
    let there = mirrors.folder(repository, &commit, DIRECTORY).await.map_err(broken)?;
    let named: Vec<Filed> = there.into_iter().filter(|it| is_named_so(&it.name)).collect();
    if named.len() > MOST {
        let reason = format!(
            "`{repository}` has more than {MOST} files `{DIRECTORY}/*.yaml`; remove some, or name an agent of the server with `--agent`"
        );
        return Err(OrderError::Agent { reason });
    }
    let mut offered = Vec::new();
    for one in named {
        let text = text(mirrors, repository, &one).await.map_err(broken)?;
        offered.push(Offer { name: one.name, text });
    }
    Ok(Offers { repository: repository.clone(), commit, files: offered })
}

fn task_branch(repository: &RepositoryName, branch: &str) -> String {
    format!(
        "`{repository}` is on `{branch}`, which a task made, and a change does not say how agents work on it; check out the branch that people merge into, or name an agent of the server with `--agent`"
    )
}

/// Plain letters only: it is shown to people, and stands in events.
fn is_named_so(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let stem = name.strip_suffix(".yaml").unwrap_or_default();
    name.len() <= 100 && !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain)
}

async fn text(
    mirrors: &Mirrors,
    repository: &RepositoryName,
    filed: &Filed,
) -> Result<Result<String, String>, MirrorError> {
    if !filed.mode.is_file() {
        return Ok(Err("it is no plain file; write the agent into a file of its own".to_owned()));
    }
    if filed.bytes.is_none_or(|bytes| bytes > LONGEST) {
        let most = LONGEST >> 10;
        return Ok(Err(format!("it is larger than {most} KiB; make it shorter")));
    }
    let bytes = mirrors.content(repository, &filed.object, LONGEST).await?;
    Ok(String::from_utf8(bytes)
        .map_err(|_wrong| "it is not UTF-8 text; save it as such".to_owned()))
}

/// By which definition the task's agent works from now on. A reload changes nothing for a task that runs; when a person takes it up
/// again, the server's file counts as it is then. A repository's does not: what was merged since is for new tasks.
pub(crate) fn definition(
    wanted: &Wanted<'_>,
    kept: &Kept,
    said: &ServerFiles,
    texts: &Blobs,
) -> Result<Option<Definition>, String> {
    let begun = wanted.request.definition.clone();
    if kept.taken_up == wanted.taken_up && kept.definition.is_some() {
        return kept.definition();
    }
    match &begun {
        Some(Definition::BuiltIn | Definition::Server { .. }) if wanted.taken_up > 0 => {}
        Some(Definition::BuiltIn | Definition::Server { .. } | Definition::Repository { .. })
        | None => return Ok(begun),
    }
    let member = roster::member(said, &wanted.request.agent)?;
    if let Some(written) = member.written {
        let kept = texts.put(written.text.as_bytes());
        kept.map_err(|error| format!("the agent's file cannot be kept: {error}"))?;
    }
    Ok(Some(member.definition()))
}

/// The files of the server as they are now, with the agent that a task was begun with. A sentence, where that cannot be had any more.
pub(crate) fn as_begun(
    said: &Arc<ServerFiles>,
    definition: Option<&Definition>,
    texts: &Blobs,
) -> Result<Arc<ServerFiles>, String> {
    let text = match definition {
        // It is older than definitions, and goes by the name.
        None => return Ok(Arc::clone(said)),
        Some(Definition::BuiltIn) => Vec::new(),
        Some(Definition::Server { digest, .. } | Definition::Repository { digest, .. }) => {
            texts.get(*digest).map_err(|error| {
                format!("the file that the task's agent was begun with cannot be read: {error}")
            })?
        }
    };
    let Some(definition) = definition else { return Ok(Arc::clone(said)) };
    offers::frozen(said, definition, &String::from_utf8_lossy(&text)).map(Arc::new)
}
