//! How fast the way out is, beside no way out at all and beside what people use today.
//!
//! ```text
//!                   ┌─ nobody ────────────────────────────────────┐
//!  clients (here) ──┼─ ours: gateway process ◀─▶ broker (here) ────┼──▶ upstream (a process)
//!                   └─ squid, mitmproxy: processes ────────────────┘
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`upstream`] | the host that is asked |
//! | [`clients`] | who asks, and by which way |
//! | [`gateway`] | ours |
//! | [`rivals`] | `squid`, and `mitmproxy` twice: passing on, and looking inside |
//! | [`race`] | all of them, in turn |
//! | [`policy`] | a judgement among ten thousand rules |
//! | [`watch`] | processor and memory of a process |
//! | [`verdict`] | what was promised, and whether it is kept |
//!
//! **Invariant:** whatever happens, no process stays behind.

pub mod clients;
pub mod gateway;
mod nobody;
pub mod policy;
pub mod race;
pub mod rivals;
pub mod upstream;
pub mod verdict;
pub mod watch;

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{task::JoinSet, time::timeout};

use crate::{
    Bench,
    report::{Goal, Report},
    sandbox::rivals::Missing,
};

use clients::{Route, Way};
use gateway::Ours;
use race::Lane;
use upstream::{PLAIN, Upstream};

/// Tunnels that are open at one time, and the sandboxes that they come from: one may have 512.
const TUNNELS: usize = 1_000;
const SANDBOXES: u128 = 4;

/// Readers that do not read, what each asks for, and for how long.
const READERS: usize = 100;
const UNREAD: usize = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest that one measure of one way may take.
const LONGEST: Duration = Duration::from_secs(12);

const MIB: usize = 1024 * 1024;

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    raise_descriptors();
    let at = bench.directory()?;
    let upstream = Upstream::start(at.path())?;
    let (rivals, missing) = rivals::all(&upstream).await;
    let ours = Ours::start(&at.path().join("times"), &upstream, 1).await?;
    // Processes are held here until all is measured, or something went wrong.
    let (_rivals, theirs): (Vec<_>, Vec<Lane>) = rivals.into_iter().unzip();
    let timed = times(bench, &upstream, &ours, &theirs, &missing).await;
    let closed = ours.close().await;
    timed.and(closed)?;
    sizes(bench, at.path(), &upstream, &theirs).await?;
    rules(bench)
}

/// Answers over kept and new connections, and what a large one costs.
async fn times(
    bench: &mut Bench,
    upstream: &Upstream,
    ours: &Ours,
    theirs: &[Lane],
    missing: &[Missing],
) -> anyhow::Result<()> {
    let direct = Route::direct(upstream.address, PLAIN, &upstream.authority)?;
    let mut lanes = vec![
        Lane { way: Way::Direct, routes: vec![direct], process: None },
        ours.lane(Way::OursSpliced, upstream)?,
        ours.lane(Way::OursIntercepted, upstream)?,
    ];
    lanes.extend(theirs.iter().cloned());
    let report = &mut bench.report;
    report.section("The way out: an answer of 100 bytes over HTTPS, all ways in turn")?;
    for Missing { name, reason } in missing {
        report.say(format_args!("  MISSING here, not measured: {name}: {reason}"))?;
    }
    let asked = lanes.clone();
    let kept = apart(async move { race::kept(&asked).await }).await?;
    verdict::added(report, "kept connection", &kept, verdict::kept())?;
    let asked = lanes.clone();
    let fresh = apart(async move { race::fresh(&asked).await }).await?;
    verdict::added(report, "new connection", &fresh, Goal::None)?;

    report.section("The way out: one large answer, by the processor time of who stands between")?;
    for lane in lanes {
        let (way, bytes) = (lane.way, size(lane.way));
        let measured = apart(async move { race::large(&lane, bytes).await });
        tell(bench, way, measured, |report, it| verdict::carried(report, &it)).await?;
    }
    Ok(())
}

/// Python would take the whole run for a gigabyte.
const fn size(way: Way) -> usize {
    match way {
        Way::Direct | Way::OursSpliced | Way::OursIntercepted | Way::Squid => 1_024 * MIB,
        Way::MitmproxySpliced => 256 * MIB,
        Way::MitmproxyIntercepted => 128 * MIB,
    }
}

/// Readers that do not read, and many tunnels. Ours is a new gateway each time: one that has had memory before would grow less.
async fn sizes(
    bench: &mut Bench,
    at: &Path,
    upstream: &Upstream,
    theirs: &[Lane],
) -> anyhow::Result<()> {
    let title = format!(
        "The way out: {READERS} readers ask for {} MiB each and read nothing for {} s",
        UNREAD / MIB,
        PATIENCE.as_secs()
    );
    bench.report.section(&title)?;
    let slow = |lane: Lane| async move { race::slow(&lane, READERS, UNREAD, PATIENCE).await };
    for way in [Way::OursSpliced, Way::OursIntercepted] {
        let ours = Ours::start(&at.join(format!("slow-{}", way.name())), upstream, 1).await?;
        let measured = apart(slow(ours.lane(way, upstream)?));
        let told = tell(bench, way, measured, |report, it| verdict::slow(report, &it)).await;
        let closed = ours.close().await;
        told.and(closed)?;
    }
    for lane in theirs {
        let measured = apart(slow(lane.clone()));
        tell(bench, lane.way, measured, |report, it| verdict::slow(report, &it)).await?;
    }

    let title = format!("The way out: {TUNNELS} tunnels open at once, of {SANDBOXES} sandboxes");
    bench.report.section(&title)?;
    let crowd = |lane: Lane| async move { race::crowd(&lane, TUNNELS).await };
    for way in [Way::OursSpliced, Way::OursIntercepted] {
        let place = at.join(format!("crowd-{}", way.name()));
        let ours = Ours::start(&place, upstream, SANDBOXES).await?;
        let measured = apart(crowd(ours.lane(way, upstream)?));
        let told =
            tell(bench, way, measured, |report, it| verdict::crowd(report, &it, TUNNELS)).await;
        let closed = ours.close().await;
        told.and(closed)?;
    }
    for lane in theirs {
        let measured = apart(crowd(lane.clone()));
        tell(bench, lane.way, measured, |report, it| verdict::crowd(report, &it, TUNNELS)).await?;
    }
    Ok(())
}

/// A judgement among many rules.
fn rules(bench: &mut Bench) -> anyhow::Result<()> {
    let title = format!("The way out: a policy of {} rules", policy::RULES);
    bench.report.section(&title)?;
    let judgements = tokio::task::block_in_place(policy::run)?;
    verdict::judgements(&mut bench.report, &judgements)
}

/// As a server does it: in a task of its own, not on the thread that waits for everything.
async fn apart<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    let mut working = JoinSet::new();
    working.spawn(work);
    working.join_next().await.context("nothing to do")??
}

/// Tells the figures of one way. A rival that fails is told; we must not.
async fn tell<T>(
    bench: &mut Bench,
    way: Way,
    measured: impl Future<Output = anyhow::Result<T>>,
    told: impl FnOnce(&mut Report, T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let late = || format!("{} takes longer than {} s", way.name(), LONGEST.as_secs());
    let measured = match timeout(LONGEST, measured).await {
        Ok(measured) => measured,
        Err(_late) => Err(anyhow::anyhow!(late())),
    };
    match (measured, way) {
        (Ok(measured), _) => told(&mut bench.report, measured)?,
        (Err(error), Way::Squid | Way::MitmproxySpliced | Way::MitmproxyIntercepted) => {
            bench.report.say(format_args!("  {}: no figure: {error:#}", way.name()))?;
        }
        (Err(error), Way::Direct | Way::OursSpliced | Way::OursIntercepted) => return Err(error),
    }
    Ok(())
}

/// A thousand connections have a thousand descriptors. Where that is not allowed, it shows.
fn raise_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
