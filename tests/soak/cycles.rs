//! Whoever uses the sandboxes: opens one, runs something in it, destroys it, and asks again when the server dies in between.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    dice::Dice,
    server_process::{Desk, Refused},
};

/// How often a request is repeated before it counts as failed.
const TRIES: u32 = 40;

/// What fails longer than this after the last kill fails by itself.
const AFTERMATH: Duration = Duration::from_secs(5);

/// How many sandboxes live longer than their cycle, so that restarts find some.
const LINGERING: usize = 6;

#[derive(Debug)]
pub(crate) struct Cycles {
    total: usize,
    desk: Desk,
    next: AtomicUsize,
    gave_up: AtomicBool,
    disturbed: AtomicUsize,
    progress: Mutex<Progress>,
    moved: Condvar,
}

#[derive(Debug)]
struct Progress {
    done: usize,
    last_kill: Option<Instant>,
    lingering: VecDeque<(u128, String)>,
    /// Their end was acknowledged.
    destroyed: BTreeSet<u128>,
    failures: Vec<String>,
}

impl Cycles {
    pub(crate) fn new(total: usize, desk: Desk) -> Self {
        let progress = Progress {
            done: 0,
            last_kill: None,
            lingering: VecDeque::new(),
            destroyed: BTreeSet::new(),
            failures: Vec::new(),
        };
        Self {
            total,
            desk,
            next: AtomicUsize::new(0),
            gave_up: AtomicBool::new(false),
            disturbed: AtomicUsize::new(0),
            progress: Mutex::new(progress),
            moved: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays cycles until there are none left.
    pub(crate) fn work(&self, mut dice: Dice) {
        while !self.gave_up.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.total {
                return;
            }
            let played = self.play(number, &mut dice);
            let mut progress = self.lock();
            progress.failures.extend(played.err());
            progress.done += 1;
            drop(progress);
            self.moved.notify_all();
        }
    }

    fn play(&self, number: usize, dice: &mut Dice) -> Result<(), String> {
        let id = 1_000 + 2 * number as u128;
        let word = format!("word-{number}");
        self.ask(id, &format!("open {id}"))?;
        self.says(id, &format!("write-{number}"), &format!("echo {word} > file; cat file"), &word)?;
        match dice.throw(12) {
            0 => {
                self.ask(id, &format!("freeze {id}"))?;
                self.ask(id, &format!("thaw {id}"))?;
            }
            1 => drop(self.ask(id, &format!("freeze {id}"))?),
            2 => drop(self.ask(id, &format!("rest {id}"))?),
            3 => {
                let copy = id + 1;
                self.ask(id, &format!("fork {id} {copy}"))?;
                self.says(copy, &format!("copy-{number}"), "cat file", &word)?;
                self.destroy(copy)?;
            }
            _plain => return self.destroy(id),
        }
        // Those with a story stay for a while.
        let oldest = {
            let mut progress = self.lock();
            progress.lingering.push_back((id, word));
            let many = progress.lingering.len() > LINGERING;
            if many { progress.lingering.pop_front() } else { None }
        };
        let Some((id, word)) = oldest else { return Ok(()) };
        self.says(id, &format!("again-{number}"), "cat file", &word)?;
        self.destroy(id)
    }

    fn says(&self, id: u128, name: &str, script: &str, word: &str) -> Result<(), String> {
        let said = self.ask(id, &format!("run {id} {name} {script}"))?;
        // One that was answered already does not say it again.
        if said == format!("0 {word}\\n") || said == "0 " {
            return Ok(());
        }
        Err(format!("`{script}` in {id} said `{said}` instead of `{word}`"))
    }

    fn destroy(&self, id: u128) -> Result<(), String> {
        self.ask(id, &format!("destroy {id}"))?;
        self.lock().destroyed.insert(id);
        Ok(())
    }

    /// Asks until it is done. `id` is opened again when it was lost.
    fn ask(&self, id: u128, request: &str) -> Result<String, String> {
        let mut last = String::new();
        for attempt in 0..TRIES {
            if attempt == 1 {
                self.disturbed.fetch_add(1, Ordering::Relaxed);
            }
            match self.desk.ask(request) {
                Ok(told) => return Ok(told),
                Err(Refused::Killed) => "the server was killed".clone_into(&mut last),
                Err(Refused::Failed(reason)) => {
                    if self.gave_up.load(Ordering::Relaxed) || !self.is_aftermath() {
                        return Err(format!("undisturbed, but: {reason}"));
                    }
                    last = reason;
                    if attempt > 0 {
                        // What is wrong may be that its guest was killed.
                        let _ = self.desk.ask(&format!("open {id}"));
                    }
                }
            }
        }
        Err(format!("in vain: {request}: {last}"))
    }

    fn is_aftermath(&self) -> bool {
        self.lock().last_kill.is_some_and(|last| last.elapsed() < AFTERMATH)
    }

    /// Somebody is about to be killed, or just was.
    pub(crate) fn excuse(&self) {
        self.lock().last_kill = Some(Instant::now());
    }

    /// Waits until so many cycles are done; says whether that many were wanted.
    pub(crate) fn until(&self, number: usize) -> bool {
        let mut progress = self.lock();
        while progress.done < number.min(self.total) && !self.gave_up.load(Ordering::Relaxed) {
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        number < self.total
    }

    pub(crate) fn give_up(&self) {
        self.gave_up.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    pub(crate) fn disturbed(&self) -> usize {
        self.disturbed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_destroyed(&self, id: u128) -> bool {
        self.lock().destroyed.contains(&id)
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        self.lock().failures.clone()
    }
}
