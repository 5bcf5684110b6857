//! Who has a place, and who waits for one, as it is written down.

use domain::{
    queue::{Begun, Running, Waiting},
    time::Timestamp,
};

use crate::{
    StoreError,
    database::{Row, Sql},
};

pub(crate) const RUNNING: &str =
    "SELECT repository, person FROM tasks WHERE standing = 'holds_place'";

/// Of each person in each repository no more than could get a place, found line by line: a long queue
/// stays cheap.
pub(crate) const WAITING: Sql = Sql {
    sqlite: "WITH RECURSIVE lines(line) AS ( \
                 SELECT MIN(line) FROM tasks WHERE standing = 'needs_place' \
                 UNION ALL \
                 SELECT (SELECT MIN(line) FROM tasks \
                         WHERE standing = 'needs_place' AND line > lines.line) \
                 FROM lines WHERE line IS NOT NULL) \
             SELECT t.task, t.repository, t.person, t.since, t.begun \
             FROM lines CROSS JOIN tasks t \
             WHERE lines.line IS NOT NULL AND t.task IN (SELECT w.task FROM tasks w \
                 WHERE w.standing = 'needs_place' AND w.line = lines.line \
                 ORDER BY w.begun DESC, w.since, w.task LIMIT $1)",
    postgres: "WITH RECURSIVE lines(line) AS ( \
                   SELECT MIN(line) FROM tasks WHERE standing = 'needs_place' \
                   UNION ALL \
                   SELECT (SELECT MIN(line) FROM tasks \
                           WHERE standing = 'needs_place' AND line > lines.line) \
                   FROM lines WHERE line IS NOT NULL) \
               SELECT t.task, t.repository, t.person, t.since, t.begun \
               FROM lines CROSS JOIN LATERAL (SELECT * FROM tasks w \
                   WHERE w.standing = 'needs_place' AND w.line = lines.line \
                   ORDER BY w.begun DESC, w.since, w.task LIMIT $1) t \
               WHERE lines.line IS NOT NULL",
};

pub(crate) fn read_running(row: &Row) -> Result<Running, StoreError> {
    Ok(Running { repository: row.parsed("repository")?, person: row.parsed("person")? })
}

pub(crate) fn read_waiting(row: &Row) -> Result<Waiting, StoreError> {
    Ok(Waiting {
        task: row.parsed("task")?,
        repository: row.parsed("repository")?,
        person: row.parsed("person")?,
        since: Timestamp::from_millis(row.number("since")?),
        begun: if row.number("begun")? == 0 { Begun::No } else { Begun::Yes },
    })
}
