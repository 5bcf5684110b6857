//! What agents said and did, from any number on.

use domain::{
    digest::{Digest, Fingerprint},
    id::TaskId,
    time::Timestamp,
    transcript::AgentEvent,
};

use crate::{
    Briefing, Said, StoreError,
    database::{Database, Row, Value, number},
    stored,
};

/// Events of one answer at most: they can be large.
const PAGE: i64 = 1_000;

pub(crate) const AFTER: &str = "SELECT number, run, attempt, at, kind, version, body \
                                FROM transcript WHERE task = $1 AND number > $2 \
                                ORDER BY number LIMIT $3";

pub(crate) const LAST: &str = "SELECT number, run, attempt, at, kind, version, body \
                               FROM transcript WHERE task = $1 ORDER BY number DESC LIMIT $2";

pub(crate) const OF_RUN: &str = "SELECT number, run, attempt, at, kind, version, body \
                                 FROM transcript WHERE task = $1 AND run = $2 AND number > $3 \
                                 ORDER BY number LIMIT $4";

pub(crate) const LAST_OF_RUN: &str = "SELECT number, run, attempt, at, kind, version, body \
                                      FROM transcript WHERE task = $1 AND run = $2 \
                                      ORDER BY number DESC LIMIT $3";

pub(crate) const BRIEFING: &str = "SELECT number, run, attempt, at, kind, version, body \
                                   FROM transcript WHERE task = $1 AND kind = 'briefed' \
                                   AND attempt = (SELECT attempt FROM transcript \
                                       WHERE task = $1 AND kind = 'briefed' \
                                       ORDER BY attempt DESC LIMIT 1) \
                                   ORDER BY number LIMIT $2";

pub(crate) async fn read_after(
    database: &Database,
    task: TaskId,
    cursor: u64,
    most: i64,
) -> Result<Vec<Said>, StoreError> {
    let values = [Value::Owned(task.to_string()), number(cursor), page(most)];
    database.rows(AFTER, &values).await?.iter().map(said).collect()
}

/// Of every row as it is kept, in order. A row is bound to its place by its number and by the length of its body.
pub(crate) async fn digest(database: &Database, task: TaskId) -> Result<Digest, StoreError> {
    let mut hash = Fingerprint::of_kind("lamplighter transcript 1");
    let mut cursor = 0;
    loop {
        let values = [Value::Owned(task.to_string()), number(cursor), page(PAGE)];
        let rows = database.rows(AFTER, &values).await?;
        let Some(last) = rows.last() else { return Ok(hash.finish()) };
        cursor = said(last)?.number;
        for row in &rows {
            let Said { number, run, attempt, at, event } = said(row)?;
            let stored = stored::transcript::encode(&event);
            let at = u64::try_from(at.as_millis()).unwrap_or_default();
            hash = hash.number(number).number(run).number(attempt).number(at);
            hash = hash.text(stored.kind).text(&stored.body);
        }
    }
}

/// The newest `most`, oldest first.
pub(crate) async fn read_last(
    database: &Database,
    task: TaskId,
    most: i64,
) -> Result<Vec<Said>, StoreError> {
    let values = [Value::Owned(task.to_string()), page(most)];
    database.rows(LAST, &values).await?.iter().rev().map(said).collect()
}

/// The same of one run alone.
pub(crate) async fn read_run_after(
    database: &Database,
    (task, run): (TaskId, u64),
    cursor: u64,
    most: i64,
) -> Result<Vec<Said>, StoreError> {
    let values = [Value::Owned(task.to_string()), number(run), number(cursor), page(most)];
    database.rows(OF_RUN, &values).await?.iter().map(said).collect()
}

/// The newest `most` of one run, oldest first.
pub(crate) async fn read_last_of_run(
    database: &Database,
    (task, run): (TaskId, u64),
    most: i64,
) -> Result<Vec<Said>, StoreError> {
    let values = [Value::Owned(task.to_string()), number(run), page(most)];
    database.rows(LAST_OF_RUN, &values).await?.iter().rev().map(said).collect()
}

/// What the newest attempt was told, if one was told anything.
pub(crate) async fn briefing(
    database: &Database,
    task: TaskId,
) -> Result<Option<Briefing>, StoreError> {
    let values = [Value::Owned(task.to_string()), Value::Number(PAGE)];
    let rows = database.rows(BRIEFING, &values).await?;
    let parts = rows.iter().map(said).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first() else { return Ok(None) };
    let (run, attempt, at) = (first.run, first.attempt, first.at);
    // The parts of one text follow one another; something was said before the next.
    let mut texts: Vec<String> = Vec::new();
    let mut last = 0;
    for told in parts {
        let AgentEvent::Briefed { text, .. } = told.event else { continue };
        match texts.last_mut().filter(|_| told.number == last + 1) {
            Some(whole) => whole.push_str(&text),
            None => texts.push(text),
        }
        last = told.number;
    }
    Ok(Some(Briefing { run, attempt, at, texts }))
}

fn page(most: i64) -> Value<'static> {
    Value::Number(most.clamp(0, PAGE))
}

fn said(row: &Row) -> Result<Said, StoreError> {
    let (kind, version, body) = (row.text("kind")?, row.number("version")?, row.text("body")?);
    let count =
        |column| Ok::<_, StoreError>(u64::try_from(row.number(column)?).unwrap_or_default());
    Ok(Said {
        number: count("number")?,
        run: count("run")?,
        attempt: count("attempt")?,
        at: Timestamp::from_millis(row.number("at")?),
        event: stored::transcript::decode(&kind, version, &body)?,
    })
}
