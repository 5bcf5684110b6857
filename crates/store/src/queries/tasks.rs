//! Lists of tasks, newest first, a page at a time.
//!
//! A page is found by the last task of the page before it, never by counting, so the hundred
//! thousandth task costs as much as the first.

use domain::{
    code::RepositoryName,
    id::{PersonId, TaskId},
    money::Money,
    time::Timestamp,
};

use crate::{
    StoreError,
    database::{Database, Row, Value},
};

/// A task, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    pub task: TaskId,
    pub seq: u64,
    pub title: String,
    /// In words, as [`domain::task::Stage::name`] has it.
    pub stage: String,
    /// Since when the task stands there.
    pub since: Timestamp,
    pub repository: RepositoryName,
    pub person: PersonId,
    pub agent: String,
    pub channel: String,
    pub parent: Option<TaskId>,
    /// The hash of the plan that waits for a decision.
    pub plan: Option<String>,
    /// The name of the failure that stopped the task.
    pub failure: Option<String>,
    pub pull_request: Option<u64>,
    pub spent: Money,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
}

/// Which tasks. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub repository: Option<RepositoryName>,
    pub person: Option<PersonId>,
    pub stage: Option<String>,
}

/// Where a page begins, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The last task of the page before: the page begins behind it.
    pub before: Option<TaskId>,
    /// At most [`Page::LONGEST`].
    pub size: u32,
}

impl Page {
    pub const LONGEST: u32 = 500;
}

impl Default for Page {
    fn default() -> Self {
        Self { before: None, size: 50 }
    }
}

macro_rules! select {
    ($($condition:literal),+) => {
        concat!(
            "SELECT task, seq, title, stage, since, repository, person, agent, channel, parent, ",
            "plan, failure, pull_request, spent, created_at, changed_at FROM tasks ",
            $($condition),+
        )
    };
}

/// The newest tasks whose column is `$3`.
///
/// Written as "between the last task and the first": so the order asks for the index of exactly this
/// column. With `=`, PostgreSQL may prefer to walk through all tasks from the newest on, and that takes
/// long where the last one that fits is old.
macro_rules! newest {
    ($column:literal) => {
        select!(
            "WHERE (",
            $column,
            ", task) < ($3, $1) AND ",
            $column,
            " >= $3 ORDER BY ",
            $column,
            " DESC, task DESC LIMIT $2"
        )
    };
}

pub(crate) async fn list(
    database: &Database,
    filter: &Filter,
    page: Page,
) -> Result<Vec<TaskView>, StoreError> {
    // `~` sorts after every id.
    let before = page.before.map_or_else(|| "~".to_owned(), |task| task.to_string());
    let mut values =
        vec![Value::Owned(before), Value::Number(i64::from(page.size.min(Page::LONGEST)))];
    values.extend(word(filter).map(Value::Owned));
    let rows = database.rows(statement(filter), &values).await?;
    rows.iter().map(view).collect()
}

/// Each has an index of its own, so that nothing is read and thrown away.
pub(crate) const fn statement(filter: &Filter) -> &'static str {
    match (&filter.repository, &filter.person, &filter.stage) {
        (None, None, None) => select!("WHERE task < $1 ORDER BY task DESC LIMIT $2"),
        (Some(_), None, None) => newest!("repository"),
        (None, Some(_), None) => newest!("person"),
        (None, None, Some(_)) => newest!("stage"),
        (Some(_), Some(_), None) => newest!("line"),
        (Some(_), None, Some(_)) => newest!("repository_and_stage"),
        (None, Some(_), Some(_)) => newest!("person_and_stage"),
        (Some(_), Some(_), Some(_)) => newest!("line_and_stage"),
    }
}

/// The word that these tasks have in that column.
fn word(filter: &Filter) -> Option<String> {
    let Filter { repository, person, stage } = filter;
    let parts = [
        repository.as_ref().map(ToString::to_string),
        person.map(|person| person.to_string()),
        stage.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

pub(crate) async fn one(database: &Database, task: TaskId) -> Result<Option<TaskView>, StoreError> {
    let rows = database.rows(select!("WHERE task = $1"), &[Value::Owned(task.to_string())]).await?;
    rows.first().map(view).transpose()
}

/// Plans that wait for someone's decision, those that wait longest first. The page after a task begins
/// where it stood, whether or not it has been decided since.
pub(crate) async fn inbox(database: &Database, page: Page) -> Result<Vec<TaskView>, StoreError> {
    let size = Value::Number(i64::from(page.size.min(Page::LONGEST)));
    let rows = match page.before {
        None => database.rows(INBOX, &[size]).await?,
        Some(last) => database.rows(INBOX_BEHIND, &[Value::Owned(last.to_string()), size]).await?,
    };
    rows.iter().map(view).collect()
}

pub(crate) const INBOX: &str =
    select!("WHERE stage = 'awaiting approval' ORDER BY asked_at, task LIMIT $1");

pub(crate) const INBOX_BEHIND: &str = select!(
    "WHERE stage = 'awaiting approval' \
     AND (asked_at, task) > ((SELECT asked_at FROM tasks WHERE task = $1), $1) \
     ORDER BY asked_at, task LIMIT $2"
);

fn view(row: &Row) -> Result<TaskView, StoreError> {
    let positive = |number: i64| u64::try_from(number).unwrap_or_default();
    let unreadable = |what: &str| StoreError::Unreadable { what: format!("parent `{what}`") };
    Ok(TaskView {
        task: row.parsed("task")?,
        seq: positive(row.number("seq")?),
        title: row.text("title")?,
        stage: row.text("stage")?,
        since: Timestamp::from_millis(row.number("since")?),
        repository: row.parsed("repository")?,
        person: row.parsed("person")?,
        agent: row.text("agent")?,
        channel: row.text("channel")?,
        parent: row
            .maybe_text("parent")?
            .map(|parent| parent.parse().map_err(|_wrong| unreadable(&parent)))
            .transpose()?,
        plan: row.maybe_text("plan")?,
        failure: row.maybe_text("failure")?,
        pull_request: row.maybe_number("pull_request")?.map(positive),
        spent: Money::from_micros(positive(row.number("spent")?)),
        created_at: Timestamp::from_millis(row.number("created_at")?),
        changed_at: Timestamp::from_millis(row.number("changed_at")?),
    })
}
