//! The storm itself: submit, kill, start again, steer; then wait for calm and look at the damage.

use std::{
    fmt,
    time::{Duration, Instant},
};

use domain::{
    id::TaskId,
    task::{Ask, Standing},
};
use store::{Filter, Page};
use testkit::{ann, bob, inspect::Verdict};
use tests::{
    arena::{Arena, Ground, pause},
    player::{Doom, Player, Program},
};

use crate::{Arguments, dice::Dice};

const SCRIPTS: [&str; 8] = [
    "fix the login",
    "fix the login",
    "question",
    "red 1",
    "faults 1",
    "busy 2",
    "question; red 2; faults 1; busy 1",
    "broken",
];

/// How long the engines may take to clean up behind those that came back late.
const TIDYING: Duration = Duration::from_secs(30);

/// How many engines share the database. SQLite has one server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engines {
    One,
    Three,
}

pub(crate) struct Report {
    pub(crate) verdict: Verdict,
    kills: u32,
    freezes: u32,
    steered: u32,
    took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, kills, freezes, steered, took } = self;
        write!(
            f,
            "{verdict}\n  after {kills} kills, {freezes} freezes, {steered} people stepping in, in {} s",
            took.as_secs()
        )
    }
}

pub(crate) async fn rage(
    ground: Ground,
    engines: Engines,
    arguments: &Arguments,
    seed: u64,
) -> anyhow::Result<Report> {
    let started = Instant::now();
    let arena = Arena::new(ground).await?;
    let mut storm = Storm::new(&arena, engines, seed)?;
    let mut tasks = Vec::with_capacity(arguments.tasks);
    for number in 0..arguments.tasks {
        let script = storm.dice.pick(&SCRIPTS).copied().unwrap_or_default();
        tasks.push(arena.submit_stubbornly(number, script).await?);
        if number % 20 == 19 {
            storm.strike(&tasks).await?;
        }
    }
    let deadline = started + Duration::from_secs(arguments.patience);
    while storm.goes_on(&tasks).await? && Instant::now() < deadline {
        storm.strike(&tasks).await?;
        let calm = Duration::from_millis(100 + storm.dice.throw(500));
        pause(calm).await;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    // Calm: whatever is frozen comes back, nobody is killed any more.
    storm.calm()?;
    let waited = wait_for_calm(&arena, &tasks, left).await;
    let verdict = arena.inspect_patiently(&tasks, TIDYING).await?;
    if verdict.is_clean() {
        waited?;
    }
    let Storm { kills, freezes, steered, .. } = storm;
    Ok(Report { verdict, kills, freezes, steered, took: started.elapsed() })
}

/// People resume what still rests, until everything is over.
async fn wait_for_calm(arena: &Arena, tasks: &[TaskId], at_most: Duration) -> anyhow::Result<()> {
    let resuming = async {
        loop {
            resume_all(arena).await;
            pause(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        waited = arena.wait(tasks, at_most) => waited,
        () = resuming => Ok(()),
    }
}

async fn resume_all(arena: &Arena) {
    let paused = Filter { stage: Some("paused".to_owned()), ..Filter::default() };
    let page = Page { before: None, size: Page::LONGEST };
    for view in arena.store().tasks(&paused, page).await.unwrap_or_default() {
        // Someone may have been faster.
        drop(arena.engine.ask(view.task, bob(), Ask::Resume).await);
    }
}

struct Storm<'a> {
    arena: &'a Arena,
    program: Program,
    names: Vec<&'static str>,
    players: Vec<Option<Player>>,
    frozen: Vec<bool>,
    dice: Dice,
    kills: u32,
    freezes: u32,
    steered: u32,
    /// The first task that may still be under way.
    first_open: usize,
}

impl<'a> Storm<'a> {
    fn new(arena: &'a Arena, engines: Engines, seed: u64) -> anyhow::Result<Self> {
        let names = match engines {
            Engines::One => vec!["one"],
            Engines::Three => vec!["one", "two", "three"],
        };
        let mut storm = Self {
            arena,
            program: Program::beside_us()?,
            players: names.iter().map(|_| None).collect(),
            frozen: vec![false; names.len()],
            names,
            dice: Dice::new(seed),
            kills: 0,
            freezes: 0,
            steered: 0,
            first_open: 0,
        };
        storm.start_missing()?;
        Ok(storm)
    }

    fn start_missing(&mut self) -> anyhow::Result<()> {
        for (name, player) in self.names.iter().zip(&mut self.players) {
            if let Some(player) = player {
                anyhow::ensure!(player.is_running()?, "engine `{name}` ended by itself");
            } else {
                *player = Some(self.program.start(self.arena, name, Doom::Never)?);
            }
        }
        Ok(())
    }

    /// One thing goes wrong, and someone may step in.
    async fn strike(&mut self, tasks: &[TaskId]) -> anyhow::Result<()> {
        self.start_missing()?;
        let victim = usize::try_from(self.dice.throw(self.players.len() as u64))?;
        match self.dice.throw(4) {
            0 | 1 => self.kill(victim)?,
            2 if self.players.len() > 1 => self.freeze_or_thaw(victim)?,
            _luck => {}
        }
        if self.dice.throw(3) == 0 {
            self.step_in(tasks).await;
        }
        if self.dice.throw(4) == 0 {
            resume_all(self.arena).await;
        }
        Ok(())
    }

    fn kill(&mut self, victim: usize) -> anyhow::Result<()> {
        if let Some(player) = self.players.get_mut(victim).and_then(Option::take) {
            player.kill()?;
            self.kills += 1;
        }
        if let Some(frozen) = self.frozen.get_mut(victim) {
            *frozen = false;
        }
        Ok(())
    }

    fn freeze_or_thaw(&mut self, victim: usize) -> anyhow::Result<()> {
        let (Some(Some(player)), Some(frozen)) =
            (self.players.get(victim), self.frozen.get_mut(victim))
        else {
            return Ok(());
        };
        if *frozen {
            player.thaw()?;
        } else {
            player.freeze()?;
            self.freezes += 1;
        }
        *frozen = !*frozen;
        Ok(())
    }

    /// A person pauses a task, or cancels one now and then.
    async fn step_in(&mut self, tasks: &[TaskId]) {
        let Some(task) = self.dice.pick(tasks).copied() else { return };
        let ask = if self.dice.throw(8) == 0 { Ask::Cancel } else { Ask::Pause };
        if self.arena.engine.ask(task, ann(), ask).await.is_ok() {
            self.steered += 1;
        }
    }

    /// Whether there is anything left to disturb.
    async fn goes_on(&mut self, tasks: &[TaskId]) -> anyhow::Result<bool> {
        while let Some(task) = tasks.get(self.first_open) {
            let found = self.arena.store().history(*task).await?.task();
            if found.is_none_or(|task| task.stage.standing() != Standing::Over) {
                // The last tenth is left in peace, so that the storm ends.
                return Ok(self.first_open < tasks.len() - tasks.len() / 10);
            }
            self.first_open += 1;
        }
        Ok(false)
    }

    fn calm(&mut self) -> anyhow::Result<()> {
        for (player, frozen) in self.players.iter().zip(&mut self.frozen) {
            if let (Some(player), true) = (player, *frozen) {
                player.thaw()?;
            }
            *frozen = false;
        }
        self.start_missing()
    }
}
