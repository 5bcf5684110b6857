//! Nothing is read and thrown away: with many tasks, every list, the queue and the outbox are still
//! found by an index.
//!
//! Plans are compared and not times, so that a busy machine changes nothing.

use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection,
};

use domain::code::RepositoryName;

use crate::{
    DataDirectory, Filter,
    operations::claim::{DUE, SWEEP},
    queries::{
        places::{RUNNING, WAITING},
        queue::NEXT_DUE,
        tasks, transcript,
    },
};

/// Half of the tasks wait in the queue, most others are done; few hold a place or wait for approval.
/// The outbox holds as many timers for later, and a few steps that are due. One task has talked a lot, many a little.
const FILL: &str = "
    INSERT INTO tasks (task, seq, stage, standing, begun, since, repository, person, agent, channel,
                       title, spent, created_at, changed_at, asked_at)
    SELECT ID(n), 1,
           CASE WHEN n % 2 = 0 THEN 'queued' WHEN n < 20 THEN 'preparing'
                WHEN n % 1000 = 1 THEN 'awaiting approval' ELSE 'done' END,
           CASE WHEN n % 2 = 0 THEN 'needs_place' WHEN n < 20 THEN 'holds_place'
                WHEN n % 1000 = 1 THEN 'rests' ELSE 'over' END,
           0, n, 'acme/r' || (n % 50), 'u_' || (n % 20), 'a', 'cli', 'title', 0, n, n, n
    FROM numbers;
    INSERT INTO outbox (task, seq, step, lane, span, due_at, lease_until, superseded)
    SELECT ID(n), 1, 'time_up/approval', 'timer', 'stage',
           CASE WHEN n % 500 = 0 THEN n ELSE 9000000 + n END,
           CASE WHEN n % 1000 = 0 THEN 500000 ELSE 0 END, CASE WHEN n % 900 = 0 THEN 1 ELSE 0 END
    FROM numbers;
    INSERT INTO transcript (task, number, run, attempt, at, kind, version, body)
    SELECT ID(n), m, 3, m / 10000 + 1, m,
           CASE WHEN m % 10000 < 3 THEN 'briefed' ELSE 'message' END, 1, 'body'
    FROM (SELECT 5001 AS n, n AS m FROM numbers) AS words ORDER BY m;
    INSERT INTO transcript (task, number, run, attempt, at, kind, version, body)
    SELECT ID(n), 1, 3, 1, n, 'briefed', 1, 'body'
    FROM (SELECT n + 10000 AS n FROM numbers) AS others;
";

struct Question {
    sql: &'static str,
    /// As SQL has them.
    values: Vec<String>,
    /// How many rows it may look at and not return.
    spare: u64,
}

fn questions(choose: impl Fn(crate::database::Sql) -> &'static str) -> Vec<Question> {
    let text = |text: &str| format!("'{text}'");
    let number = |number: i64| number.to_string();
    let choices = [None, Some(())];
    let mut all = Vec::new();
    for repository in choices.map(|it| it.map(|()| "acme/r7".parse().unwrap())) {
        for person in choices.map(|it| it.map(|()| domain::id::PersonId::from_u128(7))) {
            for stage in choices.map(|it| it.map(|()| "awaiting approval".to_owned())) {
                let filter = Filter { repository: repository.clone(), person, stage };
                let mut values = vec![text("~"), number(50)];
                let parts = [
                    filter.repository.as_ref().map(RepositoryName::as_str),
                    filter.person.map(|_| "u_7"),
                    filter.stage.as_deref(),
                ];
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                values.extend((!parts.is_empty()).then(|| text(&parts.join(" "))));
                all.push(Question { sql: tasks::statement(&filter), values, spare: 0 });
            }
        }
    }
    let task = text(&format!("t_{:026}", 5_001));
    let now = number(400_000);
    all.push(Question { sql: tasks::INBOX, values: vec![number(50)], spare: 0 });
    all.push(Question { sql: tasks::INBOX_BEHIND, values: vec![task, number(50)], spare: 0 });
    all.push(Question { sql: RUNNING, values: Vec::new(), spare: 0 });
    all.push(Question { sql: choose(WAITING), values: vec![number(5)], spare: 10 });
    all.push(Question { sql: choose(DUE), values: vec![now.clone(), number(50)], spare: 500 });
    all.push(Question { sql: choose(SWEEP), values: vec![now], spare: 200 });
    all.push(Question { sql: NEXT_DUE, values: Vec::new(), spare: 10 });
    let talker = || text(&format!("t_{:026}", 5_001));
    let values = vec![talker(), number(40_000), number(50)];
    all.push(Question { sql: transcript::AFTER, values, spare: 0 });
    all.push(Question { sql: transcript::LAST, values: vec![talker(), number(50)], spare: 0 });
    let values = vec![talker(), number(3), number(40_000), number(50)];
    all.push(Question { sql: transcript::OF_RUN, values, spare: 0 });
    let values = vec![talker(), number(3), number(50)];
    all.push(Question { sql: transcript::LAST_OF_RUN, values, spare: 0 });
    all.push(Question { sql: transcript::BRIEFING, values: vec![talker(), number(50)], spare: 0 });
    all
}

fn unnumbered(values: &[String]) -> String {
    if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) }
}

#[tokio::test]
async fn sqlite_finds_everything_by_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path());
    crate::open(&place.sqlite_url(), &place).await.unwrap().close().await;
    let mut connection = SqliteConnection::connect(&place.sqlite_url()).await.unwrap();
    let fill = FILL.replace("ID(n)", "printf('t_%026d', n)");
    let numbers = "CREATE TEMP TABLE numbers AS WITH RECURSIVE c(n) AS \
                   (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000) SELECT n FROM c;";
    connection.execute(AssertSqlSafe(format!("{numbers} BEGIN; {fill} COMMIT;"))).await.unwrap();
    for question in questions(|sql| sql.sqlite) {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", question.sql));
        let rows = connection.fetch_all(explain).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let told = format!("{}\n  {}", question.sql, plan.join("\n  "));
        for line in &plan {
            // What is in a partial index is all wanted; `lines` are the few that it found.
            let small = ["tasks_that_hold_a_place", "tasks_that_need_a_place", "SCAN lines"];
            let outbox_in_order = line.contains("SCAN o USING INDEX outbox_by_time");
            let fine = small.iter().any(|name| line.contains(name)) || outbox_in_order;
            assert!(!line.starts_with("SCAN") || fine || line == "SCAN CONSTANT ROW", "{told}");
            assert!(!line.contains("TEMP B-TREE"), "{told}");
        }
    }
}

#[tokio::test]
async fn postgresql_finds_everything_by_an_index() {
    let server = testkit::postgres::Postgres::start().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = server.new_database("plans").unwrap();
    let store = crate::open(&url, &DataDirectory::new(directory.path())).await.unwrap();
    store.close().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let fill = FILL.replace("ID(n)", "'t_' || lpad(n::text, 26, '0')");
    let numbers = "CREATE TEMP TABLE numbers AS SELECT generate_series(1, 50000) AS n;";
    connection.execute(AssertSqlSafe(format!("{numbers} {fill}"))).await.unwrap();
    // Without a look at the values, which is how PostgreSQL plans what is asked often.
    connection.execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    connection.execute("ANALYZE").await.unwrap();
    for question in questions(|sql| sql.postgres) {
        let Question { sql, values, spare } = &question;
        let values = unnumbered(values);
        let explain = format!(
            "BEGIN; PREPARE asked AS {sql}; \
             EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE asked{values}; \
             DEALLOCATE asked; ROLLBACK"
        );
        let rows = connection.fetch_all(AssertSqlSafe(explain)).await.unwrap();
        let plan: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
        let told = format!("{sql}\n  {}", plan.join("\n  "));
        assert!(!plan.is_empty(), "{told}");
        for line in &plan {
            assert!(!line.contains("Seq Scan"), "{told}");
            if let Some((_, removed)) = line.split_once("Rows Removed by Filter: ") {
                assert!(removed.parse::<u64>().unwrap() <= *spare, "{told}");
            }
        }
    }
}
