//! What was promised of sandboxes, and whether this run kept it.
//!
//! A line says what is required, as every figure does, and whether the aim beyond it was reached.

use std::{fmt::Write as _, time::Duration};

use super::{
    floor::Way,
    race::{Mark, On, Times},
};
use crate::{
    report::{Figure, Goal, Report},
    spread::{Short, Spread},
};

const DOCKER: &str = "docker run --rm --network none";

/// What is required, and what we aim at.
struct Bar {
    required: Goal,
    aim: f64,
}

const fn at_most(required: f64, aim: f64) -> Bar {
    Bar { required: Goal::AtMost(required), aim }
}

const fn at_least(required: f64, aim: f64) -> Bar {
    Bar { required: Goal::AtLeast(required), aim }
}

fn judged(figure: Figure, bar: &Bar) -> Figure {
    let reached = match bar.required {
        Goal::None => true,
        Goal::AtLeast(_) => figure.value >= bar.aim,
        Goal::AtMost(_) => figure.value <= bar.aim,
    };
    let word = if reached { "reached" } else { "not reached" };
    let note = format!("aim {}: {word}", bar.aim);
    let Figure { what, value, unit, note: before, .. } = figure;
    let judged = Figure::new(what, value, unit).note(note).goal(bar.required);
    if before.is_empty() { judged } else { judged.note(before) }
}

/// The times of everything, as times and as multiples of the floor.
pub fn beside(
    report: &mut Report,
    times: &Times,
    rivals: &[(&'static str, &'static str)],
) -> anyhow::Result<()> {
    let floor = times.spread(Mark::Floor(Way::ForkExec));
    let own = [
        ("posix_spawn /bin/true", Mark::Floor(Way::PosixSpawn)),
        ("fork + exec /bin/true", Mark::Floor(Way::ForkExec)),
        ("ours, cold: create → first exit, `host` base", Mark::Cold(On::Host)),
        ("ours, cold: create → first exit, image with 50,000 files", Mark::Cold(On::Image)),
        ("   of which create, `host` base", Mark::Open(On::Host)),
        ("   of which create, image", Mark::Open(On::Image)),
        ("ours, warm: claim → first exit, `host` base", Mark::Warm(On::Host)),
        ("ours, warm: claim → first exit, image", Mark::Warm(On::Image)),
        ("ours, exec with output in a running one, `host` base", Mark::Running(On::Host)),
        ("ours, exec with output in a running one, image", Mark::Running(On::Image)),
    ];
    for (what, mark) in own {
        report.add(time(what, times, mark, floor))?;
    }
    for (name, lacks) in rivals {
        let figure = time(name, times, Mark::Rival(name), floor);
        report.add(if lacks.is_empty() { figure } else { figure.note(lacks) })?;
    }
    Ok(())
}

fn time(what: &str, times: &Times, mark: Mark, floor: Spread) -> Figure {
    let spread = times.spread(mark);
    let multiple = ratio(spread.p50, floor.p50);
    Figure::new(what, millis(spread.p50), "ms p50").note(format_args!(
        "p99 {}; {multiple:.1} × fork + exec; n {}",
        Short(spread.p99),
        times.count(mark)
    ))
}

/// What the issue of the sandbox asks for.
pub fn promised(report: &mut Report, times: &Times) -> anyhow::Result<()> {
    report.section("Sandboxes: promised")?;
    let spread = |mark| times.spread(mark);
    let (spawn, fork) = (spread(Mark::Floor(Way::PosixSpawn)), spread(Mark::Floor(Way::ForkExec)));
    let against = |mark, floor: Spread| {
        let one = spread(mark);
        (ratio(one.p50, floor.p50), format!("p99 ÷ p99 {:.1}", ratio(one.p99, floor.p99)))
    };
    let mut ratios = |what: &str, (value, note): (f64, String), unit, bar: &Bar| {
        report.add(judged(Figure::new(what, value, unit).note(note), bar))
    };
    let cold = &at_most(6.0, 4.0);
    ratios("cold create → exit, image", against(Mark::Cold(On::Image), fork), "× fork", cold)?;
    ratios("cold create → exit, `host`", against(Mark::Cold(On::Host), fork), "× fork", cold)?;
    let warm = &at_most(2.5, 1.5);
    ratios("warm claim → exit, image", against(Mark::Warm(On::Image), spawn), "× spawn", warm)?;
    ratios("warm claim → exit, `host`", against(Mark::Warm(On::Host), spawn), "× spawn", warm)?;
    let running = &at_most(2.0, 1.3);
    ratios("exec, image", against(Mark::Running(On::Image), spawn), "× spawn", running)?;
    ratios("exec, `host`", against(Mark::Running(On::Host), spawn), "× spawn", running)?;
    let status = &at_most(2.0, 1.5);
    let on_host = spread(Mark::HostStatus);
    let claimed = ratio(spread(Mark::ClaimedStatus).p50, on_host.p50);
    let beside = (claimed, beside_host(times, Mark::ClaimedStatus));
    ratios("first `git status` in 50,000 files, claimed", beside, "× host", status)?;
    let first = ratio(spread(Mark::FirstStatus).p50, on_host.p50);
    let second = ratio(spread(Mark::SecondStatus).p50, on_host.p50);
    let mut note = format!("{}; second {second:.2} ×", beside_host(times, Mark::FirstStatus));
    if times.count(Mark::SnapshotStatus) > 0 {
        let snapshot = spread(Mark::SnapshotStatus).p50;
        let of_snapshot = ratio(spread(Mark::FirstStatus).p50, snapshot);
        let _ = write!(
            note,
            "; {of_snapshot:.2} × that in a new snapshot on the host ({})",
            Short(snapshot)
        );
    }
    ratios("the same where none waited", (first, note), "× host", status)?;

    let docker = spread(Mark::Rival(DOCKER));
    if times.count(Mark::Rival(DOCKER)) == 0 {
        report.say("  docker run ÷ cold create → exit: not measured, because docker is missing")?;
    } else {
        let faster = ratio(docker.p50, spread(Mark::Cold(On::Image)).p50);
        let figure = Figure::new("docker run ÷ cold create → exit, image", faster, "×");
        report.add(judged(figure, &at_least(50.0, 80.0)))?;
    }

    let added = spread(Mark::Open(On::Image)).p50.saturating_sub(spread(Mark::Open(On::Host)).p50);
    let figure =
        Figure::new("50,000-file workspace ready: what it adds to a create", millis(added), "ms");
    let whole = format!("the whole create: {}", spread(Mark::Open(On::Image)));
    report.add(judged(figure.note(whole), &at_most(5.0, 0.5)))?;
    let single = [
        ("destroy acknowledged", Mark::Destroy, at_most(5.0, 1.0)),
        ("freeze", Mark::Freeze, at_most(5.0, 1.0)),
        ("thaw", Mark::Thaw, at_most(5.0, 1.0)),
        ("hibernate → resume → exec", Mark::Resume, at_most(300.0, 50.0)),
    ];
    for (what, mark, bar) in single {
        let one = spread(mark);
        let figure = Figure::new(what, millis(one.p50), "ms p50");
        report.add(judged(figure.note(format_args!("p99 {}", Short(one.p99))), &bar))?;
    }
    Ok(())
}

pub fn memory(private_kib: u64) -> Figure {
    let figure =
        Figure::new("private memory of an idle one, guest included", mib(private_kib), "MiB");
    judged(figure, &at_most(2.0, 0.5))
}

pub fn rate(callers: usize, per_second: f64) -> Figure {
    let plural = if callers == 1 { "" } else { "s" };
    let figure =
        Figure::new(format!("create + destroy, {callers} caller{plural}"), per_second, "/s");
    judged(figure.note("until nothing is left"), &at_least(100.0, 150.0))
}

#[expect(clippy::cast_precision_loss, reason = "a thousand")]
pub fn parked(many: usize, taken_kib: u64) -> Figure {
    let each = mib(taken_kib) / many as f64;
    let figure = Figure::new("parked at once", many as f64, "").goal(Goal::AtLeast(1_000.0));
    figure.note(format_args!("{each:.2} MiB of the machine's memory each, the server's included"))
}

fn beside_host(times: &Times, mark: Mark) -> String {
    let p50 = |mark| Short(times.spread(mark).p50);
    format!("{} inside, {} on the host", p50(mark), p50(Mark::HostStatus))
}

fn ratio(one: Duration, other: Duration) -> f64 {
    if other.is_zero() { 0.0 } else { one.as_secs_f64() / other.as_secs_f64() }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "no machine has that much memory")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}
