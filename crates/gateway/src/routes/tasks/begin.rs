//! Handing over a task, once for each key.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
};
use contracts::order::{Order, Wish, WishedRepository};
use domain::{
    agent::{AgentName, AgentNameError},
    code::Access,
    id::TaskId,
    money::Money,
    request::ChannelKind,
};
use wire::{
    error::{Code, Problem},
    task::new::{self, BegunTasks, NewRepository, NewTask, PARALLEL, REPOSITORIES},
};

use super::super::named;
use super::look;
use crate::{
    extract::{Asked, NoWords, Words, bad},
    problem::Answer,
    task_door::Behind,
    task_ids::{self, Key},
};

/// What a request with the longest text may have: each of its bytes may be written as six.
const LONGEST: usize = 512 * 1024;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Browsers set it, and no page can.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What was begun, and where it is.
type Begun = (StatusCode, [(HeaderName, HeaderValue); 1], Json<BegunTasks>);

/// Hands over a task
///
/// With a header `Idempotency-Key` the call can be repeated after an answer that was lost: the same key with the same task begins nothing
/// new, with another task it is refused. A key that is a UUID of version 7 is remembered for ever, any other for a day.
#[utoipa::path(
    post,
    path = "/v1/tasks",
    tag = "tasks",
    params((
        "Idempotency-Key" = String,
        Header,
        description = "Names this call, so that it can be repeated",
        min_length = 1,
        max_length = 255,
        pattern = "^[!-~]{1,255}$",
        example = "0192f1a2-b3c4-7d5e-8f90-123456789abc"
    )),
    request_body = NewTask,
    responses((status = 201, description = "What was begun, now or before with this key", body = BegunTasks))
)]
pub(crate) async fn begin(
    State(behind): State<Behind>,
    headers: HeaderMap,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<NewTask, LONGEST>,
) -> Answer<Begun> {
    let key = key(&headers)?;
    check(&wish)?;
    // Before anybody has to wait: a repository may be far away.
    let orders = ordered(&behind, door(&headers), &wish).await?;
    let begun = match key {
        None => {
            let base = task_ids::attempt(behind.new_task(), 0);
            submit(&behind, orders, base).await?
        }
        Some(key) => {
            let turn = behind.keyed.acquire().await.map_err(|_| stopped())?;
            let base = known_or_new(&behind, &key).await?;
            let begun = submit(&behind, orders, base).await?;
            drop(turn);
            begun
        }
    };
    let mut tasks = Vec::new();
    for task in begun {
        let view = behind.store().task(task).await?;
        let view = view.ok_or(store::StoreError::NoTask { task })?;
        tasks.push(look::page_of(&behind, &view).await?);
    }
    let place = tasks.first().map(|task| format!("/v1/tasks/{}", task.id)).unwrap_or_default();
    let place =
        HeaderValue::try_from(place).unwrap_or_else(|_| HeaderValue::from_static("/v1/tasks"));
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(BegunTasks { tasks })))
}

/// By which door somebody comes, as far as it can be told: browsers say where a page is from, and `lamp` says its name. Whoever shows
/// the token may say anything, so this tells people apart who want to be, and keeps nobody out.
fn door(headers: &HeaderMap) -> ChannelKind {
    let says = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if says(header::ORIGIN).is_some() || says(FETCH_SITE).is_some() {
        return ChannelKind::Web;
    }
    match says(header::USER_AGENT) {
        Some(name) if name.starts_with(wire::CLI) => ChannelKind::Cli,
        Some(_) | None => ChannelKind::Api,
    }
}

fn key(headers: &HeaderMap) -> Answer<Option<Key>> {
    let mut given = headers.get_all(KEY).iter();
    let Some(first) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(bad("there can be only one idempotency key"));
    }
    let text = first.to_str().unwrap_or_default();
    text.parse().map(Some).map_err(|error: task_ids::KeyError| bad(error.to_string()))
}

/// What can be said without looking at the server's files.
fn check(wish: &NewTask) -> Answer<()> {
    if wish.text.trim().is_empty() {
        return Err(bad("there is nothing to do: the request has no text"));
    }
    if wish.repositories.is_empty() {
        return Err(bad("a task needs a repository to work in; name one"));
    }
    if wish.repositories.len() > REPOSITORIES {
        return Err(bad(format!("a task can name {REPOSITORIES} repositories at most")));
    }
    let parallel = wish.parallel.is_none_or(|count| (1..=PARALLEL).contains(&count));
    if !parallel || wish.variants.len() > usize::from(PARALLEL) {
        return Err(bad(format!("`parallel` is between 1 and {PARALLEL}, as many as `variants`")));
    }
    if !wish.attempts.is_none_or(|count| (1..=100).contains(&count)) {
        return Err(bad("`attempts` is between 1 and 100"));
    }
    if wish.budget_micros == Some(0) {
        return Err(bad("a task without any money cannot begin: `budget_micros` is at least 1"));
    }
    let most = |what: &str, text: Option<&str>, limit: usize| match text {
        Some(text) if text.is_empty() || text.len() > limit => {
            Err(bad(format!("`{what}` has 1 to {limit} bytes")))
        }
        Some(_) | None => Ok(()),
    };
    let models = wish.variants.iter().map(|variant| &variant.model).chain([&wish.model]);
    for model in models {
        most("model", model.as_deref(), 200)?;
    }
    for repository in &wish.repositories {
        named::repository(&repository.name)?;
        most("url", Some(&repository.url), 4096)?;
        most("revision", repository.revision.as_deref(), 200)?;
    }
    let agents = wish.variants.iter().map(|variant| &variant.agent).chain([&wish.agent]);
    for agent in agents.flatten() {
        agent_name(agent)?;
    }
    Ok(())
}

/// What one attempt is to be, in the words of the rules.
fn parsed(behind: &Behind, door: ChannelKind, wish: NewTask) -> Answer<Wish> {
    let NewTask { text, repositories, agent, model, attempts, budget_micros, .. } = wish;
    let repository = |wished: NewRepository| {
        Ok(WishedRepository {
            name: named::repository(&wished.name)?,
            url: wished.url,
            revision: wished.revision,
            access: wished.access.map(|access| match access {
                new::Access::Read => Access::Read,
                new::Access::Write => Access::Write,
            }),
        })
    };
    Ok(Wish {
        by: behind.door.person.clone(),
        door,
        text,
        repositories: repositories.into_iter().map(repository).collect::<Answer<_>>()?,
        agent: agent.as_deref().map(agent_name).transpose()?,
        model,
        attempts,
        budget: budget_micros.map(Money::from_micros),
    })
}

fn agent_name(name: &str) -> Answer<AgentName> {
    name.parse().map_err(|error: AgentNameError| bad(error.to_string()))
}

fn stopped() -> Problem {
    Problem::new(Code::Stopped, "the server was stopped meanwhile")
}

/// The first id of what was begun with this key, or is to be.
async fn known_or_new(behind: &Behind, key: &Key) -> Answer<TaskId> {
    let candidates = key.candidates(behind.door.person.id, behind.new_task());
    for candidate in candidates.iter().skip(1).rev() {
        if behind.store().task(*candidate).await?.is_some() {
            return Ok(*candidate);
        }
    }
    candidates.first().copied().ok_or_else(|| {
        Problem::new(Code::BadRequest, "the time in this idempotency key has not come yet")
            .with_help("look at the clock of the computer that made it")
            .into()
    })
}

/// What the engine is given for each attempt.
async fn ordered(behind: &Behind, door: ChannelKind, wish: &NewTask) -> Answer<Vec<Order>> {
    let count = wish.attempts_side_by_side();
    let mut orders = Vec::new();
    for number in 0..count {
        let wish = parsed(behind, door, wish.attempt(number))?;
        let mut order = behind.front().order(&wish).await?;
        if count > 1 {
            // So that another number of attempts is another request.
            let thread = &order.trigger.source.thread;
            order.trigger.source.thread = format!("{thread} (attempt {} of {count})", number + 1);
        }
        orders.push(order);
    }
    Ok(orders)
}

/// Begins each attempt, unless it was begun before.
async fn submit(behind: &Behind, orders: Vec<Order>, base: TaskId) -> Answer<Vec<TaskId>> {
    let mut begun = Vec::new();
    for (number, mut order) in (0..PARALLEL).zip(orders) {
        let task = task_ids::attempt(base, number);
        if number > 0 {
            order.trigger.parent = Some(base);
        }
        behind.front().submit_as(task, order).await?;
        begun.push(task);
    }
    Ok(begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_a_page_and_a_program_come_by_different_doors() {
        let with = |pairs: &[(HeaderName, &'static str)]| {
            let pairs = pairs.iter().cloned();
            door(&pairs.map(|(name, value)| (name, HeaderValue::from_static(value))).collect())
        };
        assert_eq!(with(&[(header::USER_AGENT, wire::USER_AGENT)]), ChannelKind::Cli);
        assert_eq!(with(&[(header::USER_AGENT, "curl/8")]), ChannelKind::Api);
        assert_eq!(with(&[]), ChannelKind::Api);
        let page = [(header::USER_AGENT, wire::USER_AGENT), (FETCH_SITE, "same-origin")];
        assert_eq!(with(&page), ChannelKind::Web);
    }
}
