//! What was promised of the journey, and whether this run kept it.

use std::time::Duration;

use super::{
    Idle, Measured,
    play::Played,
    shares::{PARTS, Part, Share},
};
use crate::{
    report::{Figure, Goal, Report},
    spread::{Short, Spread},
};

/// The most that an idle server may have, in MiB: its own process, without its gateway.
const IDLE: f64 = 50.0;

pub fn tell(report: &mut Report, measured: &Measured) -> anyhow::Result<()> {
    let Measured { by_hand, cold, command, builtin, idle } = measured;
    report.section("Journey: from handing a task over to the agent's first words")?;
    let hand = spread(by_hand, |it| it.first_word);
    add(report, "by hand: the same program, in a checkout", hand, by_hand.len())?;
    let warm = spread(command, |it| it.first_word);
    add(report, "ours, warm: the server knows the repository", warm, command.len())?;
    add(report, "ours, cold: first task of a new server", spread(cold, |it| *it), cold.len())?;
    let asked = spread(builtin, |it| it.first_word);
    add(report, "ours, warm: the built-in agent, its model is asked too", asked, builtin.len())?;

    report.section(
        "Journey: a whole task, from handing over to its pull request, without the person's time",
    )?;
    let program = spread(by_hand, |it| it.program);
    add(report, "by hand: the program alone, four times", program, by_hand.len())?;
    let whole = spread(by_hand, |it| it.whole);
    add(report, "by hand: with checkout, tests twice, and a commit", whole, by_hand.len())?;
    for (agent, played) in [("without a model", command), ("built-in", builtin)] {
        tell_shares(report, agent, played)?;
    }

    report.section("Journey: memory of a server that has nothing to do")?;
    idle.iter().try_for_each(|idle| tell_idle(report, idle))
}

/// What a server and its gateway had while nothing happened.
pub fn tell_idle(report: &mut Report, idle: &Idle) -> anyhow::Result<()> {
    let Idle { after_tasks, server, gateway } = idle;
    let when = match after_tasks {
        0 => "after its start".to_owned(),
        tasks => format!("after {tasks} tasks"),
    };
    for (who, memory, goal) in
        [("server", server, Goal::AtMost(IDLE)), ("its gateway", gateway, Goal::None)]
    {
        let figure = Figure::new(format!("{who}, {when}"), mib(memory.resident), "MiB");
        let own = mib(memory.own);
        report.add(
            figure
                .goal(goal)
                .note(format_args!("{own:.1} MiB without pages of files, such as its program")),
        )?;
    }
    Ok(())
}

/// The table by phase: all of it, the agent's part, and ours.
fn tell_shares(report: &mut Report, agent: &str, played: &[Played]) -> anyhow::Result<()> {
    for part in PARTS {
        let of_part = |of: fn(&Share) -> Duration| {
            let shares = played.iter().flat_map(|it| &it.shares).filter(|it| it.part == part);
            Spread::of(shares.map(of).collect()).p50
        };
        if part == Part::Person {
            continue;
        }
        let figure = Figure::new(
            format!("agent {agent}: {part}"),
            millis(of_part(|share| share.whole)),
            "ms p50",
        );
        let (working, ours) = (of_part(|share| share.agent), of_part(Share::ours));
        report.add(figure.note(format_args!("agent {}, ours {}", Short(working), Short(ours))))?;
    }
    let whole = spread(played, |it| sum(it, |share| share.whole));
    let working = spread(played, |it| sum(it, |share| share.agent));
    let ours = spread(played, |it| sum(it, Share::ours));
    add(report, &format!("agent {agent}: whole task"), whole, played.len())?;
    add(report, &format!("agent {agent}: the agent's own time"), working, played.len())?;
    let ratio = whole.p50.as_secs_f64() / working.p50.as_secs_f64();
    let figure =
        Figure::new(format!("agent {agent}: the platform adds"), millis(ours.p50), "ms p50");
    report.add(
        figure.note(format_args!("whole ÷ agent's own: {ratio:.1}; the checks' time is in it")),
    )?;
    Ok(())
}

/// Of all parts but the person's.
fn sum(played: &Played, of: fn(&Share) -> Duration) -> Duration {
    played.shares.iter().filter(|share| share.part != Part::Person).map(of).sum()
}

fn add(report: &mut Report, what: &str, spread: Spread, count: usize) -> anyhow::Result<()> {
    let figure = Figure::new(what, millis(spread.p50), "ms p50");
    // Of so few, the slowest is told and not a percentile.
    Ok(report.add(figure.note(format_args!("slowest {}; n {count}", Short(spread.p99))))?)
}

fn spread<T>(all: &[T], of: impl Fn(&T) -> Duration) -> Spread {
    Spread::of(all.iter().map(of).collect())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "no machine has that much memory")]
pub fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}
