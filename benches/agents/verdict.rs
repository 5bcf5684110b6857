//! What was promised of agents in our house, and whether this run kept it.

use std::time::Duration;

use super::cast::Actor;
use crate::{
    report::{Figure, Goal, Report},
    spread::Spread,
};

/// What our house may add until the model is asked first, in milliseconds, at the median.
const ADDED: f64 = 1_000.0;

/// When things happened, from the moment in which somebody wanted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// What it is told is made; then its files are brought in, and it is started. Only in our house.
    pub briefed: Option<Duration>,
    /// Its model is asked for the first time.
    pub asked: Duration,
    /// It has said something.
    pub spoke: Duration,
}

/// What is in memory while a program waits for its model, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighed {
    /// The processes on the host.
    pub bare: u64,
    /// The processes in the sandbox, ours included.
    pub inside: u64,
    /// What the sandbox is charged for.
    pub charged: u64,
    /// What the server has grown by.
    pub server: u64,
}

/// All that was measured of one program.
#[derive(Debug)]
pub struct Measured {
    title: String,
    pub bare: Vec<Times>,
    pub ours: Vec<Times>,
    pub weighed: Vec<Weighed>,
}

impl Measured {
    pub fn of(actor: Actor) -> Self {
        let (bare, ours, weighed) = (Vec::new(), Vec::new(), Vec::new());
        Self { title: actor.title(), bare, ours, weighed }
    }
}

pub fn tell(report: &mut Report, measured: &Measured) -> anyhow::Result<()> {
    let Measured { title, bare, ours, weighed } = measured;
    report.section(&format!("Agents: {title}"))?;
    let briefed = spread(ours, |times| times.briefed.unwrap_or_default());
    let figure =
        Figure::new("ours: it is briefed, and started next", millis(briefed.p50), "ms p50");
    report.add(figure.note(note(briefed, ours.len())))?;
    let asked = Beside { bare: spread(bare, |it| it.asked), ours: spread(ours, |it| it.asked) };
    asked.tell(report, "its model is asked", ours.len(), Goal::AtMost(ADDED))?;
    let spoke = Beside { bare: spread(bare, |it| it.spoke), ours: spread(ours, |it| it.spoke) };
    spoke.tell(report, "it speaks", ours.len(), Goal::None)?;

    let memory = |what: &str, of: fn(&Weighed) -> u64| {
        let kib = median(weighed.iter().map(of).collect());
        Figure::new(what, mib(kib), "MiB")
    };
    let looks = format!("n {}", weighed.len());
    report.add(memory("memory, bare: its processes", |it| it.bare).note(&looks))?;
    report.add(memory("memory, ours: the processes in the sandbox", |it| it.inside))?;
    report.add(memory("memory, ours: all that the sandbox is charged for", |it| it.charged))?;
    report.add(memory("memory, ours: the server has grown by", |it| it.server))?;
    Ok(())
}

/// The same on both sides.
struct Beside {
    bare: Spread,
    ours: Spread,
}

impl Beside {
    fn tell(
        &self,
        report: &mut Report,
        what: &str,
        count: usize,
        promised: Goal,
    ) -> anyhow::Result<()> {
        let Self { bare, ours } = *self;
        for (side, spread) in [("bare", bare), ("ours", ours)] {
            let figure = Figure::new(format!("{side}: {what}"), millis(spread.p50), "ms p50");
            report.add(figure.note(note(spread, count)))?;
        }
        let added = millis(ours.p50) - millis(bare.p50);
        let ratio = ours.p50.as_secs_f64() / bare.p50.as_secs_f64();
        let figure = Figure::new(format!("added until {what}"), added, "ms p50");
        Ok(report.add(figure.goal(promised).note(format_args!("{ratio:.2} × bare")))?)
    }
}

fn spread(times: &[Times], of: impl Fn(&Times) -> Duration) -> Spread {
    Spread::of(times.iter().map(of).collect())
}

/// Of so few, the slowest is told and not a percentile.
fn note(spread: Spread, count: usize) -> String {
    format!("slowest {}; n {count}", crate::spread::Short(spread.p99))
}

fn median(mut sizes: Vec<u64>) -> u64 {
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "no machine has that much memory")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_the_middle_is_told() {
        assert_eq!(median(vec![9, 1, 5]), 5);
        assert_eq!(median(Vec::new()), 0);
    }
}
