//! Killing a whole tree of processes, whatever it does meanwhile.
//!
//! All of the tree is below one process that adopts orphans, so that no process of it can get away; but new ones
//! can appear while we look. So all are stopped first, as often as new ones are found, and only then killed: what is
//! stopped cannot fork, and keeps its place under the limit of processes. A round that finds somebody alive is
//! followed by another.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use rustix::{
    fs::{Dir, Mode, OFlags, open, openat},
    io::Errno,
    process::{Pid, Signal, kill_process},
};

/// How many rounds are made before other work gets its turn.
const ROUNDS: usize = 4;

/// How long the killed have to die before we look again.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Sweep {
    /// Below this one; itself it is spared.
    root: Pid,
    stopped: BTreeSet<i32>,
    due: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nobody is left, or only such as are dead and not yet reaped.
    Done,
    GoOn,
}

impl Sweep {
    pub(crate) fn below(root: Pid) -> Self {
        Self { root, stopped: BTreeSet::new(), due: Instant::now() }
    }

    /// When to go on.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Makes some rounds. `spared` are left alone with all that is below them.
    pub(crate) fn go_on(&mut self, spared: &BTreeSet<i32>) -> Progress {
        self.due = Instant::now() + PAUSE;
        for _round in 0..ROUNDS {
            let alive = match living_below(self.root, spared) {
                Ok(alive) => alive,
                Err(_no_descriptors) => return Progress::GoOn,
            };
            if alive.is_empty() {
                return Progress::Done;
            }
            let fresh: Vec<i32> =
                alive.iter().copied().filter(|pid| self.stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                send(&alive, Signal::KILL);
                self.stopped.clear();
                return Progress::GoOn;
            }
            send(&fresh, Signal::STOP);
        }
        Progress::GoOn
    }
}

fn send(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // Gone is as good.
        let _gone = kill_process(pid, signal);
    }
}

fn living_below(root: Pid, spared: &BTreeSet<i32>) -> Result<Vec<i32>, Errno> {
    let mut children: BTreeMap<i32, Vec<(i32, Life)>> = BTreeMap::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = open("/proc", flags, Mode::empty())?;
    for entry in Dir::read_from(&proc)? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let file =
            openat(&proc, format!("{pid}/stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut stat = [0_u8; 512];
        let read = file.and_then(|file| rustix::io::read(file, &mut stat));
        // Who vanished while we looked is not alive.
        let Ok(length) = read else { continue };
        let Some((parent, life)) = parse(stat.get(..length).unwrap_or_default()) else { continue };
        children.entry(parent).or_default().push((pid, life));
    }
    let mut alive = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for (pid, life) in children.remove(&parent).unwrap_or_default() {
            if spared.contains(&pid) {
                continue;
            }
            open.push(pid);
            if life == Life::Alive {
                alive.push(pid);
            }
        }
    }
    Ok(alive)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    Dead,
}

/// `pid (name) state parent …`; the name can hold anything, also `)`.
fn parse(stat: &[u8]) -> Option<(i32, Life)> {
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(stat.get(after + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let life = match fields.next()? {
        "Z" | "X" | "x" => Life::Dead,
        _alive => Life::Alive,
    };
    Some((fields.next()?.parse().ok()?, life))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_hide_a_process() {
        assert_eq!(parse(b"17 (a) Z 1 (b)) S 4 17 17"), Some((4, Life::Alive)));
        assert_eq!(parse(b"17 (x) Z 3 1"), Some((3, Life::Dead)));
        assert_eq!(parse(b"17 (x"), None);
        assert_eq!(parse(b""), None);
    }
}
