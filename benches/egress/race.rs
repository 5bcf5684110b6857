//! All ways side by side: how long an answer takes, what a gigabyte costs, many at once, and readers that do not read.
//!
//! Times are taken in turn, one request by each way in each round, so that all had the same machine.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    clients::{Connection, Route, Way},
    watch::Watched,
};
use crate::{sandbox::ground::rest, spread::Spread};

/// How often everybody is asked, and how long that may take on a busy machine.
const ROUNDS: usize = 1_500;
const LONGEST: Duration = Duration::from_secs(14);

/// Requests that do not count.
const WARM: usize = 50;

/// Python is asked in one of so many rounds: it would take the whole run.
const EVERY: usize = 4;

/// New connections by each way.
const CONNECTIONS: usize = 60;

/// Connections that are being opened at one time.
const OPENING: usize = 64;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

const SMALL: &str = "/small";

/// One way to the host, and the process that carries it.
#[derive(Debug, Clone)]
pub struct Lane {
    pub way: Way,
    /// Used in turn where there are several: one sandbox has not room for everybody.
    pub routes: Vec<Route>,
    /// None where nobody stands between.
    pub process: Option<Watched>,
}

/// Times by each way.
#[derive(Debug, Default)]
pub struct Times(BTreeMap<Way, Vec<Duration>>);

impl Times {
    fn add(&mut self, way: Way, time: Duration) {
        self.0.entry(way).or_default().push(time);
    }

    /// Nothing where the way was not tried.
    pub fn spread(&self, way: Way) -> Option<(Spread, usize)> {
        let times = self.0.get(&way)?;
        Some((Spread::of(times.clone()), times.len()))
    }
}

impl Lane {
    fn route(&self, number: usize) -> anyhow::Result<&Route> {
        self.routes.get(number % self.routes.len().max(1)).context("a way without a route")
    }

    async fn open(&self) -> anyhow::Result<Connection> {
        self.route(0)?.open().await.context(self.way.name())
    }

    fn is_due(&self, round: usize) -> bool {
        match self.way {
            Way::Direct | Way::OursSpliced | Way::OursIntercepted | Way::Squid => true,
            Way::MitmproxySpliced | Way::MitmproxyIntercepted => round.is_multiple_of(EVERY),
        }
    }
}

/// A short answer over a connection that is kept, by all in turn.
pub async fn kept(lanes: &[Lane]) -> anyhow::Result<Times> {
    let mut times = Times::default();
    let mut open = Vec::new();
    for lane in lanes {
        let mut connection = lane.open().await?;
        for _ in 0..WARM {
            connection.get(SMALL).await?;
        }
        open.push(connection);
    }
    let begun = Instant::now();
    for round in 0..ROUNDS {
        for turn in 0..lanes.len() {
            let at = (round + turn) % lanes.len();
            let (Some(lane), Some(connection)) = (lanes.get(at), open.get_mut(at)) else {
                continue;
            };
            if !lane.is_due(round) {
                continue;
            }
            let asked = Instant::now();
            connection.get(SMALL).await.context(lane.way.name())?;
            times.add(lane.way, asked.elapsed());
        }
        if begun.elapsed() > LONGEST {
            break;
        }
    }
    Ok(times)
}

/// A short answer over a new connection, with all its handshakes, by all in turn.
pub async fn fresh(lanes: &[Lane]) -> anyhow::Result<Times> {
    let mut times = Times::default();
    for round in 0..CONNECTIONS {
        for turn in 0..lanes.len() {
            let Some(lane) = lanes.get((round + turn) % lanes.len()) else { continue };
            if !lane.is_due(round) {
                continue;
            }
            let asked = Instant::now();
            lane.open().await?.get(SMALL).await.context(lane.way.name())?;
            times.add(lane.way, asked.elapsed());
        }
    }
    Ok(times)
}

/// What a large answer took.
#[derive(Debug)]
pub struct Carried {
    pub way: Way,
    pub bytes: usize,
    pub time: Duration,
    /// Of whoever stands between.
    pub processor: Option<Duration>,
}

/// One large answer.
pub async fn large(lane: &Lane, bytes: usize) -> anyhow::Result<Carried> {
    let used = || lane.process.map(Watched::processor).transpose();
    let mut connection = lane.open().await?;
    connection.get(SMALL).await?;
    let (before, begun) = (used()?, Instant::now());
    connection.get(&format!("/bytes/{bytes}")).await.context(lane.way.name())?;
    let (time, after) = (begun.elapsed(), used()?);
    let processor = after.zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(Carried { way: lane.way, bytes, time, processor })
}

/// Many tunnels at one time.
#[derive(Debug)]
pub struct Crowd {
    pub way: Way,
    /// How many answered while all were open.
    pub answered: usize,
    pub opening: Duration,
    /// All asked at once, all answered.
    pub answering: Duration,
    pub grown_kib: u64,
}

pub async fn crowd(lane: &Lane, many: usize) -> anyhow::Result<Crowd> {
    let process = lane.process.context("nobody stands between")?;
    let before = process.resident_kib()?;
    let begun = Instant::now();
    let open = open_many(lane, many).await?;
    let opening = begun.elapsed();
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for mut connection in open {
        asking.spawn(async move {
            let answered = connection.get(SMALL).await;
            answered.map(|_| connection)
        });
    }
    let mut open = Vec::new();
    while let Some(asked) = asking.join_next().await {
        open.push(asked?.context(lane.way.name())?);
    }
    let answering = begun.elapsed();
    let grown_kib = process.resident_kib()?.saturating_sub(before);
    Ok(Crowd { way: lane.way, answered: open.len(), opening, answering, grown_kib })
}

async fn open_many(lane: &Lane, many: usize) -> anyhow::Result<Vec<Connection>> {
    let (mut opening, turns) = (JoinSet::new(), Arc::new(Semaphore::new(OPENING)));
    for number in 0..many {
        let (route, turns) = (lane.route(number)?.clone(), Arc::clone(&turns));
        opening.spawn(async move {
            let _turn = turns.acquire().await?;
            route.open().await
        });
    }
    let mut open = Vec::new();
    while let Some(opened) = opening.join_next().await {
        open.push(opened?.context(lane.way.name())?);
    }
    Ok(open)
}

/// Readers that ask for much and read nothing.
#[derive(Debug)]
pub struct Slow {
    pub way: Way,
    pub readers: usize,
    /// The most that the process grew by meanwhile.
    pub grown_kib: u64,
    /// What the kernel holds in its sockets at the end, if it is known.
    pub sockets_kib: Option<u64>,
}

pub async fn slow(
    lane: &Lane,
    readers: usize,
    bytes: usize,
    time: Duration,
) -> anyhow::Result<Slow> {
    let process = lane.process.context("nobody stands between")?;
    let before = process.resident_kib()?;
    let mut open = open_many(lane, readers).await?;
    for connection in &mut open {
        connection.ask(&format!("/bytes/{bytes}")).await?;
    }
    let (begun, mut most) = (Instant::now(), before);
    while begun.elapsed() < time {
        rest(LOOK).await;
        most = most.max(process.resident_kib()?);
    }
    let sockets_kib = process.sockets_kib();
    // They are slow, not forgotten.
    for connection in &mut open {
        connection.begun().await.context(lane.way.name())?;
    }
    ensure!(open.len() == readers, "not all readers got through");
    let grown_kib = most.saturating_sub(before);
    Ok(Slow { way: lane.way, readers, grown_kib, sockets_kib })
}
