//! A thousand tasks that wait and fifty that run: how long until all are done, in how much memory, and how long callers wait meanwhile.
//!
//! ```text
//!  50 that do not end by themselves ──▶ all places are taken
//!  1,000 more, through the API ──▶ all of them wait
//!  look and hand over ──▶ a full house
//!  a word to each of the 50 ──▶ everything flows; look and hand over meanwhile ──▶ all are done
//! ```

use std::{
    fmt,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use contracts::ids::IdSource as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use testkit::{
    ids::SystemIds,
    postgres::{Durability, Postgres},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};
use wire::{
    client::{Client, Endpoint},
    task::{
        ask::SendMessage,
        new::{NewRepository, NewTask},
        shown::TaskQuery,
    },
};

use super::{
    Size,
    door::{CHILD, Plan, READY, SOCKET},
};
use crate::{
    Bench,
    agents::memory,
    report::{Figure, Report},
    sandbox::ground::rest,
    spread::{Short, Spread},
    steps,
};

/// How long they may take until all are done, on one database. What is not done by then is told, and not waited for.
const LONGEST: Duration = Duration::from_mins(4);

/// How long anything before or after that may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Callers who hand tasks over at the same time.
const CALLERS: usize = 8;

/// How often somebody looks at the list, and how often hands over another task, while everything flows.
const LOOK_EVERY: Duration = Duration::from_millis(25);
const LOOKS_PER_TASK: usize = 8;

/// Of one kind, so that places are shared out among several repositories.
const REPOSITORIES: usize = 8;

/// How many there are.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    queued: usize,
    running: usize,
    /// Looks and tasks in a full house.
    looks: usize,
    handed: usize,
}

impl Numbers {
    const fn of(size: Size) -> Self {
        match size {
            Size::Whole => Self { queued: 1_000, running: 50, looks: 200, handed: 50 },
            Size::Quick => Self { queued: 100, running: 10, looks: 50, handed: 10 },
        }
    }
}

/// Where the tasks are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Sqlite,
    Postgres,
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL, fsync on",
        })
    }
}

pub async fn run(bench: &mut Bench, size: Size) -> anyhow::Result<()> {
    for ground in [Ground::Sqlite, Ground::Postgres] {
        Box::pin(on(bench, ground, Numbers::of(size))).await?;
    }
    Ok(())
}

async fn on(bench: &mut Bench, ground: Ground, numbers: Numbers) -> anyhow::Result<()> {
    let Numbers { queued, running, .. } = numbers;
    let title = format!("Journey: {queued} queued and {running} running scripted tasks, {ground}");
    bench.report.section(&title)?;
    let directory = bench.directory()?;
    let (outside, held) = steps::outside(bench)?;
    bench.report.say(format_args!("  (the scripted outside keeps its files {held})"))?;
    let postgres = match ground {
        Ground::Sqlite => None,
        Ground::Postgres => Some(Postgres::start_with(Durability::Kept)?),
    };
    let place = store::DataDirectory::new(directory.path().join("data"));
    let plan = Plan {
        directory: directory.path().to_owned(),
        outside: outside.path().to_owned(),
        database: postgres.as_ref().map_or_else(|| place.sqlite_url(), Postgres::url),
        running,
    };
    let mut server = Server::start(&plan).await?;
    let crowded = timeout(LONGEST + 2 * PATIENCE, server.bear(numbers)).await;
    let crowded = crowded.context("the crowd took too long")??;
    let verdict = if crowded.are_all_done() {
        timeout(PATIENCE, server.close()).await.context("the server does not end")??
    } else {
        drop(server);
        "not all were done in time: what they left was not looked at".to_owned()
    };
    crowded.tell(&mut bench.report, numbers)?;
    Ok(bench.report.say(format_args!("  {verdict}"))?)
}

/// The server, which ends with this.
struct Server {
    child: Child,
    says: BufReader<ChildStdout>,
    client: Client,
}

/// What was measured on one database.
struct Crowded {
    empty_kib: u64,
    full_kib: u64,
    most_kib: u64,
    /// Until all that were to wait had been handed over.
    handed_over: Duration,
    full: Waited,
    flowing: Waited,
    /// From letting them go until all were done, or there was no more time.
    took: Duration,
    done: usize,
    tasks: usize,
}

/// How long callers waited.
#[derive(Debug, Default)]
struct Waited {
    looking: Vec<Duration>,
    handing: Vec<Duration>,
}

impl Server {
    async fn start(plan: &Plan) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(CHILD).args(plan.arguments()).kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut says = BufReader::new(child.stdout.take().context("no way to hear the server")?);
        let mut line = String::new();
        says.read_line(&mut line).await?;
        ensure!(line.trim() == READY, "the server does not start: {line}");
        let client = Client::new(Endpoint::Unix(plan.directory.join(SOCKET)));
        Ok(Self { child, says, client })
    }

    async fn bear(&mut self, numbers: Numbers) -> anyhow::Result<Crowded> {
        let Numbers { queued, running, looks, handed } = numbers;
        let process = self.child.id().context("the server has ended")?;
        let client = &self.client;
        let empty_kib = memory::resident(process)?;
        // The first word of their request keeps them at work until somebody speaks to them.
        let at_work = hand_over(client, running, "endless").await?;
        until(client, "researching", running).await?;
        let begun = Instant::now();
        hand_over(client, queued, "fix the login").await?;
        let handed_over = begun.elapsed();
        until(client, "queued", queued).await?;
        ensure!(count(client, "researching").await? == running, "not all places are taken");
        let full = a_full_house(client, looks, handed).await?;
        let full_kib = memory::resident(process)?;

        let begun = Instant::now();
        for task in &at_work {
            client.message(task, &SendMessage { text: "go on".to_owned() }).await?;
        }
        let flowing = while_they_flow(client, begun + LONGEST, handed).await?;
        let tasks = running + queued + handed + flowing.handing.len();
        let mut done = count(client, "done").await?;
        while done < tasks && begun.elapsed() < LONGEST {
            rest(Duration::from_millis(100)).await;
            done = count(client, "done").await?;
        }
        let took = begun.elapsed();
        let most_kib = memory::most_resident(process)?;
        Ok(Crowded { empty_kib, full_kib, most_kib, handed_over, full, flowing, took, done, tasks })
    }

    /// Ends it, and says what it found in the end.
    async fn close(mut self) -> anyhow::Result<String> {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.says.read_to_string(&mut said).await?;
        let status = self.child.wait().await?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(said.trim().to_owned())
    }
}

/// Callers come one after the other while nothing else happens.
async fn a_full_house(client: &Client, looks: usize, handed: usize) -> anyhow::Result<Waited> {
    let mut waited = Waited::default();
    for _ in 0..looks {
        waited.looking.push(look(client).await?);
    }
    for _ in 0..handed {
        waited.handing.push(hand_over_one(client).await?);
    }
    Ok(waited)
}

/// Somebody looks often, and hands over so many tasks meanwhile, until nobody waits for a place.
async fn while_they_flow(client: &Client, end: Instant, handed: usize) -> anyhow::Result<Waited> {
    let mut waited = Waited::default();
    while Instant::now() < end {
        for _ in 0..LOOKS_PER_TASK {
            waited.looking.push(look(client).await?);
            rest(LOOK_EVERY).await;
        }
        if count(client, "queued").await? == 0 {
            break;
        }
        if waited.handing.len() < handed {
            waited.handing.push(hand_over_one(client).await?);
        }
    }
    Ok(waited)
}

async fn look(client: &Client) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    client.tasks(&TaskQuery::default()).await?;
    Ok(begun.elapsed())
}

async fn hand_over_one(client: &Client) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    begin(client, "fix the login", 0).await?;
    Ok(begun.elapsed())
}

/// Several callers hand over so many; gives their ids.
async fn hand_over(client: &Client, tasks: usize, text: &str) -> anyhow::Result<Vec<String>> {
    let begun = stream::iter((0..tasks).map(|number| begin(client, text, number)));
    begun.buffer_unordered(CALLERS).try_collect().await
}

async fn begin(client: &Client, text: &str, number: usize) -> anyhow::Result<String> {
    let repository = NewRepository {
        name: format!("acme/web-{}", number % REPOSITORIES),
        url: "file:///nowhere".to_owned(),
        revision: None,
        access: None,
    };
    let wish =
        NewTask { text: text.to_owned(), repositories: vec![repository], ..NewTask::default() };
    let begun = client.begin_task(&wish, &format!("bench-{:x}", SystemIds.next())).await?;
    Ok(begun.into_iter().next().context("nothing was begun")?.id)
}

/// Waits until so many tasks are in this state.
async fn until(client: &Client, state: &str, wanted: usize) -> anyhow::Result<()> {
    while count(client, state).await? != wanted {
        rest(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn count(client: &Client, state: &str) -> anyhow::Result<usize> {
    let mut query =
        TaskQuery { state: Some(state.to_owned()), limit: Some(500), ..TaskQuery::default() };
    let mut found = 0;
    loop {
        let page = client.tasks(&query).await?;
        found += page.tasks.len();
        let Some(next) = page.next else { return Ok(found) };
        query.after = Some(next);
    }
}

impl Crowded {
    const fn are_all_done(&self) -> bool {
        self.done == self.tasks
    }

    fn tell(self, report: &mut Report, numbers: Numbers) -> anyhow::Result<()> {
        let Self { empty_kib, full_kib, most_kib, .. } = self;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a few thousand tasks, and no machine has that much memory"
        )]
        let (queued, done, mib) =
            (numbers.queued as f64, self.done as f64, |kib: u64| kib as f64 / 1_024.0);
        let rate = queued / self.handed_over.as_secs_f64();
        let figure = Figure::new("handed over, 8 callers at once", rate, "tasks/s");
        report.add(figure.note(format_args!("all in {}", Short(self.handed_over))))?;
        let what = if self.are_all_done() {
            "let go, until all are done"
        } else {
            "let go, NOT all are done"
        };
        for (when, waited) in [("full house", self.full), ("flowing", self.flowing)] {
            for (what, times) in
                [("a page of 50 tasks", waited.looking), ("handing over a task", waited.handing)]
            {
                let count = times.len();
                let spread = Spread::of(times);
                let millis = spread.p50.as_secs_f64() * 1_000.0;
                let figure = Figure::new(format!("{when}: {what}"), millis, "ms p50");
                report.add(figure.note(format_args!("p99 {}; n {count}", Short(spread.p99))))?;
            }
        }
        let figure = Figure::new(what, self.took.as_secs_f64(), "s");
        let each_minute = done / self.took.as_secs_f64() * 60.0;
        report.add(figure.note(format_args!(
            "{} of {} tasks, {each_minute:.0} per minute",
            self.done, self.tasks
        )))?;
        let figure = Figure::new("memory: full house", mib(full_kib), "MiB");
        report.add(figure.note(format_args!(
            "{:.1} MiB empty; {:.1} MiB at most in the end",
            mib(empty_kib),
            mib(most_kib)
        )))?;
        Ok(())
    }
}
