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
    /// Tasks older than this one.
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
    ($condition:literal) => {
        concat!(
            "SELECT task, seq, title, stage, since, repository, person, agent, channel, parent, ",
            "plan, failure, pull_request, spent, created_at, changed_at FROM tasks ",
            $condition
        )
    };
}

pub(crate) async fn list(
    database: &Database,
    filter: &Filter,
    page: Page,
) -> Result<Vec<TaskView>, StoreError> {
    // The most telling condition picks the index; the others are checked on its rows. `~` sorts after
    // every id.
    let sql = match filter {
        Filter { stage: Some(_), .. } => select!(
            "WHERE stage = $5 AND task < $1 AND ($3 = '' OR repository = $3) \
             AND ($4 = '' OR person = $4) ORDER BY stage DESC, task DESC LIMIT $2"
        ),
        Filter { person: Some(_), .. } => select!(
            "WHERE person = $4 AND task < $1 AND ($3 = '' OR repository = $3) \
             AND ($5 = '' OR stage = $5) ORDER BY person DESC, task DESC LIMIT $2"
        ),
        Filter { repository: Some(_), .. } => select!(
            "WHERE repository = $3 AND task < $1 AND ($4 = '' OR person = $4) \
             AND ($5 = '' OR stage = $5) ORDER BY repository DESC, task DESC LIMIT $2"
        ),
        Filter { repository: None, person: None, stage: None } => select!(
            "WHERE task < $1 AND $3 = '' AND $4 = '' AND $5 = '' ORDER BY task DESC LIMIT $2"
        ),
    };
    let text = |value: Option<String>| Value::Owned(value.unwrap_or_default());
    let values = [
        Value::Owned(page.before.map_or_else(|| "~".to_owned(), |task| task.to_string())),
        Value::Number(i64::from(page.size.min(Page::LONGEST))),
        text(filter.repository.as_ref().map(ToString::to_string)),
        text(filter.person.map(|person| person.to_string())),
        text(filter.stage.clone()),
    ];
    let rows = database.rows(sql, &values).await?;
    rows.iter().map(view).collect()
}

pub(crate) async fn one(database: &Database, task: TaskId) -> Result<Option<TaskView>, StoreError> {
    let rows = database.rows(select!("WHERE task = $1"), &[Value::Owned(task.to_string())]).await?;
    rows.first().map(view).transpose()
}

/// Plans that wait for someone's decision, those that wait longest first.
pub(crate) async fn inbox(database: &Database, page: Page) -> Result<Vec<TaskView>, StoreError> {
    let sql =
        select!("WHERE stage = 'awaiting approval' AND task > $1 ORDER BY stage, task LIMIT $2");
    let after = page.before.map(|task| task.to_string()).unwrap_or_default();
    let size = Value::Number(i64::from(page.size.min(Page::LONGEST)));
    let rows = database.rows(sql, &[Value::Owned(after), size]).await?;
    rows.iter().map(view).collect()
}

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
