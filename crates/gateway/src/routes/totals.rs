//! What is asked about all tasks: what they cost, where a line is from, and which repositories there are.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use domain::money::Money;
use engine::Line;
use store::{Filter, Page, TaskView};
use wire::{
    task::{
        shown::{KnownRepository, Repositories},
        usage::{Share, Usage, UsageQuery},
    },
    why::{Why, WhyQuery},
};

use super::named;
use crate::{
    extract::{NoWords, Words, bad},
    problem::Answer,
    task_door::Behind,
    task_shapes,
};

/// The newest tasks that are counted: more are a question for a database.
const COUNTED: usize = 10_000;

/// Shows what all tasks spent, by repository, agent and person
#[utoipa::path(
    get,
    path = "/v1/usage",
    tag = "tasks",
    operation_id = "usage_of_all",
    params(UsageQuery),
    responses((status = 200, description = "The sum over the newest 10,000 tasks", body = Usage))
)]
pub(crate) async fn usage(
    State(behind): State<Behind>,
    Words(query): Words<UsageQuery>,
) -> Answer<Json<Usage>> {
    let repository = query.repository.as_deref().map(named::repository).transpose()?;
    let filter = Filter { repository, ..Filter::default() };
    let store = behind.store();
    let mut page = Page { before: None, size: Page::LONGEST };
    let mut sums = Sums::default();
    loop {
        let views = store.tasks(&filter, page).await?;
        for view in &views {
            let person = behind.person(view.person);
            sums.add(view, person.name.unwrap_or(person.id));
        }
        let Some(last) = views.last() else { break };
        page.before = Some(last.task);
        if sums.tasks >= COUNTED {
            break;
        }
    }
    let cut =
        sums.tasks >= COUNTED && !store.tasks(&filter, Page { size: 1, ..page }).await?.is_empty();
    Ok(Json(Usage {
        spent: task_shapes::money(sums.spent),
        tasks: count(sums.tasks),
        repositories: shares(sums.repositories),
        agents: shares(sums.agents),
        people: shares(sums.people),
        cut,
    }))
}

#[derive(Default)]
struct Sums {
    spent: Money,
    tasks: usize,
    repositories: BTreeMap<String, (usize, Money)>,
    agents: BTreeMap<String, (usize, Money)>,
    people: BTreeMap<String, (usize, Money)>,
}

impl Sums {
    fn add(&mut self, view: &TaskView, person: String) {
        self.tasks += 1;
        self.spent = self.spent + view.spent;
        for (sums, name) in [
            (&mut self.repositories, view.repository.to_string()),
            (&mut self.agents, view.agent.clone()),
            (&mut self.people, person),
        ] {
            let (tasks, spent) = sums.entry(name).or_default();
            *tasks += 1;
            *spent = *spent + view.spent;
        }
    }
}

/// The most expensive first.
fn shares(sums: BTreeMap<String, (usize, Money)>) -> Vec<Share> {
    let mut shares: Vec<(String, (usize, Money))> = sums.into_iter().collect();
    shares.sort_by_key(|(_, (_, spent))| std::cmp::Reverse(*spent));
    let share = |(name, (tasks, spent)): (String, (usize, Money))| Share {
        name,
        tasks: count(tasks),
        spent: task_shapes::money(spent),
    };
    shares.into_iter().map(share).collect()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Says where a line is from: its commit, and the task, plan and approval behind it
#[utoipa::path(
    get,
    path = "/v1/why",
    tag = "pulls",
    params(WhyQuery),
    responses((status = 200, description = "What is known of the line", body = Why))
)]
pub(crate) async fn why(
    State(behind): State<Behind>,
    Words(query): Words<WhyQuery>,
) -> Answer<Json<Why>> {
    let repository = named::repository(&query.repository)?;
    if query.line == 0 {
        return Err(bad("lines are counted from 1"));
    }
    let path = &query.path;
    let climbs = path.split('/').any(|part| matches!(part, "" | "." | ".."));
    if climbs || path.len() > wire::PATH_LIMIT || path.contains('\0') {
        return Err(bad("`path` is a file inside the repository, like `src/login.rs`"));
    }
    let line = Line { repository, path: query.path, number: query.line };
    let why = behind.front().why(&line).await?;
    Ok(Json(task_shapes::why(why, line, &|id| behind.person(id))))
}

/// Lists the repositories that this server knows
#[utoipa::path(
    get,
    path = "/v1/repositories",
    tag = "pulls",
    responses((status = 200, description = "By name", body = Repositories))
)]
pub(crate) async fn repositories(
    State(behind): State<Behind>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Repositories>> {
    let known = behind.front().repositories().await?.into_iter();
    let repositories =
        known.map(|it| KnownRepository { name: it.name.to_string(), url: it.url }).collect();
    Ok(Json(Repositories { repositories }))
}
