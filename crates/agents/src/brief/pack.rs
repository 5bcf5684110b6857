//! The startup pack (CX1): all that an agent is told before it is told what to do, within limits.

use std::collections::BTreeSet;

use contracts::agent::{Brief, InFlight};
use domain::{code::CommitId, transcript::shortened};
use serde::Serialize;

use super::{
    quote::{Quotes, Room, TEXTS, fenced, fenced_list, line, quoted},
    words,
};

/// Repositories, commits, issues and works in flight that are told.
const LIST: usize = 20;

/// Bytes of the request. Requests are not longer than this; whoever makes a [`Brief`] by hand may try.
const REQUEST: usize = 64 * 1024;

const CHECKS: usize = 8 * 1024;
const INSTRUCTIONS: Room = Room { most: 50, each: 16 * 1024, together: 48 * 1024 };

/// What is in a repository, as it was found. Not trusted, and of any size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    pub name: String,
    /// Where it is, as the agent sees it.
    pub directory: String,
    /// `AGENTS.md` and `CLAUDE.md`, wherever they are.
    pub instructions: Vec<Instruction>,
    /// Where these notes are from, if not from the checkout, which is then at a change that was made since.
    pub base: Option<CommitId>,
    /// Notes that the change touched: data, as the rest of it.
    pub touched: Vec<String>,
    /// The latest commits, one line each, the newest first.
    pub commits: Vec<String>,
}

/// Notes in a repository for those who work in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Relative to the root of the repository.
    pub path: String,
    pub text: String,
}

/// What an agent is told about the world: bounded, and everything that others wrote in its fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pack {
    author: String,
    request: String,
    guidance: Quotes,
    quotes: Quotes,
    repositories: Vec<Repository>,
    base_checks: String,
    issues: String,
    in_flight: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Repository {
    name: String,
    directory: String,
    commits: String,
    instructions: Vec<Told>,
    left_out: String,
    base: String,
    touched: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Told {
    path: String,
    text: String,
}

/// Puts together what an agent is told about the world. The same sources give the same pack.
pub fn pack(brief: &Brief, repositories: &[RepositoryFacts]) -> Pack {
    let around = &brief.surroundings;
    let mut room = INSTRUCTIONS;
    let in_flight: Vec<String> = around.in_flight.iter().take(LIST + 1).map(work).collect();
    Pack {
        author: author(&brief.author),
        request: quoted(&shortened(brief.request.clone(), REQUEST)),
        guidance: words::guidance(brief),
        quotes: TEXTS.first(&brief.quotes, quoted),
        repositories: repositories.iter().take(LIST).map(|it| repository(it, &mut room)).collect(),
        base_checks: around.base_checks.as_deref().map_or_else(String::new, checks),
        issues: fenced_list(&around.issues, LIST),
        in_flight: fenced_list(&in_flight, LIST),
    }
}

fn author(name: &str) -> String {
    let name = line(name);
    if name.is_empty() { "Someone who may instruct you".to_owned() } else { name }
}

fn checks(state: &str) -> String {
    quoted(&shortened(state.to_owned(), CHECKS))
}

fn work(it: &InFlight) -> String {
    let mut text = format!("{} (branch {})", line(&it.title), line(&it.branch));
    if !it.paths.is_empty() {
        let paths: Vec<String> = it.paths.iter().take(LIST).map(|path| line(path)).collect();
        let more = if it.paths.len() > LIST { ", …" } else { "" };
        text = format!("{text}: {}{more}", paths.join(", "));
    }
    text
}

fn repository(facts: &RepositoryFacts, room: &mut Room) -> Repository {
    let (mut told, mut left_out) = (Vec::new(), Vec::new());
    for it in nearest_first(&facts.instructions) {
        let piece = if told.len() < room.most { room.piece(&it.text) } else { None };
        match piece {
            Some(text) if text.trim().is_empty() => {}
            Some(text) => told.push(Told { path: line(&it.path), text: fenced("markdown", &text) }),
            None => left_out.push(it.path.as_str()),
        }
    }
    Repository {
        name: line(&facts.name),
        directory: line(&facts.directory),
        commits: fenced_list(&facts.commits, LIST),
        instructions: told,
        left_out: fenced_list(&left_out, LIST),
        base: facts.base.as_ref().map_or_else(String::new, ToString::to_string),
        touched: fenced_list(&facts.touched, LIST),
    }
}

/// Those that count, the nearest to the root first. `CLAUDE.md` counts where there is no `AGENTS.md` beside it.
fn nearest_first(instructions: &[Instruction]) -> Vec<&Instruction> {
    let with_agents: BTreeSet<&str> =
        instructions.iter().map(place).filter(|it| it.1 == "AGENTS.md").map(|it| it.0).collect();
    let counts = |it: &&Instruction| match place(it) {
        (_, "AGENTS.md") => true,
        (directory, "CLAUDE.md") => !with_agents.contains(directory),
        _ => false,
    };
    let mut counting: Vec<&Instruction> = instructions.iter().filter(counts).collect();
    counting.sort_by_key(|it| (it.path.matches('/').count(), it.path.as_str()));
    counting
}

/// Its directory and its name.
fn place(it: &Instruction) -> (&str, &str) {
    it.path.rsplit_once('/').unwrap_or(("", &it.path))
}
