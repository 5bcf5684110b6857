//! What was promised of the way out, and whether this run kept it.

use std::time::Duration;

use super::{
    clients::Way,
    policy::Judgements,
    race::{Carried, Crowd, Slow, Times},
};
use crate::{
    report::{Figure, Goal, Report},
    spread::Short,
};

/// What our gateway may add to a short answer over a kept connection, in milliseconds, at the median.
const ADDED: f64 = 0.5;
/// What one core carries that looks at nothing, in Gbit/s.
const PER_CORE: f64 = 2.0;
/// What readers that do not read may take in the gateway, in MiB, all of them together.
const SLOW: f64 = 32.0;
/// The same in the kernel's sockets of the gateway.
const SLOW_SOCKETS: f64 = 128.0;
/// What one judgement may take, in microseconds, at the median.
const JUDGEMENT: f64 = 10.0;

/// Whether somebody promises anything about this way.
const fn is_ours(way: Way) -> bool {
    match way {
        Way::OursSpliced | Way::OursIntercepted => true,
        Way::Direct | Way::Squid | Way::MitmproxySpliced | Way::MitmproxyIntercepted => false,
    }
}

const fn goal(way: Way, goal: Goal) -> Goal {
    if is_ours(way) { goal } else { Goal::None }
}

const WAYS: [Way; 5] = [
    Way::OursSpliced,
    Way::OursIntercepted,
    Way::Squid,
    Way::MitmproxySpliced,
    Way::MitmproxyIntercepted,
];

/// What every way adds to the direct one.
pub fn added(report: &mut Report, what: &str, times: &Times, promised: Goal) -> anyhow::Result<()> {
    let Some((direct, count)) = times.spread(Way::Direct) else { return Ok(()) };
    let figure = Figure::new(format!("{what}: direct"), millis(direct.p50), "ms p50");
    report.add(figure.note(format_args!("p99 {}; n {count}", Short(direct.p99))))?;
    for way in WAYS {
        let Some((spread, count)) = times.spread(way) else { continue };
        let added = millis(spread.p50) - millis(direct.p50);
        let figure = Figure::new(format!("{what}: added by {}", way.name()), added, "ms p50");
        let note = format!(
            "p99 added {:.2} ms; {spread}; n {count}",
            millis(spread.p99) - millis(direct.p99)
        );
        report.add(figure.goal(goal(way, promised)).note(note))?;
    }
    Ok(())
}

pub const fn kept() -> Goal {
    Goal::AtMost(ADDED)
}

/// What a core carries.
pub fn carried(report: &mut Report, carried: &Carried) -> anyhow::Result<()> {
    let Carried { way, time, processor, .. } = carried;
    let gigabits = gigabits(carried.bytes);
    let by_clock = gigabits / time.as_secs_f64();
    let size = carried.bytes / (1_024 * 1_024);
    let figure = match processor {
        None => Figure::new(way.name(), by_clock, "Gbit/s").note(format_args!("{size} MiB")),
        Some(processor) => {
            let seconds = processor.as_secs_f64().max(0.01);
            let promised = match way {
                Way::OursSpliced => Goal::AtLeast(PER_CORE),
                Way::Direct
                | Way::OursIntercepted
                | Way::Squid
                | Way::MitmproxySpliced
                | Way::MitmproxyIntercepted => Goal::None,
            };
            let figure = Figure::new(way.name(), gigabits / seconds, "Gbit/s per core");
            figure.goal(promised).note(format_args!(
                "{size} MiB with {seconds:.2} s of processor; {by_clock:.1} Gbit/s by the clock"
            ))
        }
    };
    Ok(report.add(figure)?)
}

#[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
fn gigabits(bytes: usize) -> f64 {
    bytes as f64 * 8.0 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a thousand")]
pub fn crowd(report: &mut Report, crowd: &Crowd, wanted: usize) -> anyhow::Result<()> {
    let Crowd { way, answered, opening, answering, grown_kib } = crowd;
    let promised = goal(*way, Goal::AtLeast(wanted as f64));
    let figure = Figure::new(way.name(), *answered as f64, "answer").goal(promised);
    let figure = figure.note(format_args!(
        "opened in {}; all asked and answered in {}",
        Short(*opening),
        Short(*answering)
    ));
    // Only ours is a new process: one that has had memory before grows by less than it needs.
    let each = *grown_kib as f64 / (*answered).max(1) as f64;
    let figure =
        if is_ours(*way) { figure.note(format_args!("{each:.1} KiB each")) } else { figure };
    Ok(report.add(figure)?)
}

pub fn slow(report: &mut Report, slow: &Slow) -> anyhow::Result<()> {
    let Slow { way, readers, grown_kib, sockets_kib } = slow;
    let figure = Figure::new(format!("{}: the process", way.name()), mib(*grown_kib), "MiB grown");
    report.add(figure.goal(goal(*way, Goal::AtMost(SLOW))).note(format_args!("n {readers}")))?;
    let Some(sockets_kib) = sockets_kib else {
        return Ok(report.say("  its sockets: not measured, because `ss` does not tell")?);
    };
    let figure = Figure::new(format!("{}: its sockets", way.name()), mib(*sockets_kib), "MiB");
    Ok(report.add(figure.goal(goal(*way, Goal::AtMost(SLOW_SOCKETS))))?)
}

pub fn judgements(report: &mut Report, judgements: &Judgements) -> anyhow::Result<()> {
    let Judgements { compiled, allowed, refused, walked } = judgements;
    for (what, spread) in [("allowed", allowed), ("refused", refused)] {
        let figure = Figure::new(format!("one judgement, {what}"), micros(spread.p50), "µs p50");
        let note = format!("p99 {:.1} µs", micros(spread.p99));
        report.add(figure.goal(Goal::AtMost(JUDGEMENT)).note(note))?;
    }
    let figure = Figure::new("beside it: walking through the rules", micros(walked.p50), "µs p50");
    report.add(figure)?;
    let figure =
        Figure::new("laid out for looking up, once per change", millis(compiled.p50), "ms");
    report.add(figure)?;
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000_000.0
}

#[expect(clippy::cast_precision_loss, reason = "no machine has that much memory")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}
