//! A thousand sandboxes under random kills of server, guests and launcher leave nothing on the host.
//!
//! `make soak` plays the same for longer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot begin fails; the seed and what was killed are always told"
)]

mod cycles;
#[path = "../chaos/dice.rs"]
mod dice;
mod host;
mod keeper;
mod server_process;
mod storm;

use std::{path::PathBuf, sync::Mutex};

use contracts::clock::{Clock as _, SystemClock};
use unsupported::unsupported;

use crate::{
    keeper::{Keeper, Victim},
    server_process::{Desk, Refused},
    storm::Orders,
};

const CYCLES: usize = 1_000;

/// Each test looks at all that this process has started, so there is one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn orders() -> Orders {
    Orders {
        cycles: CYCLES,
        at_once: 6,
        seed: SystemClock.now().as_millis().unsigned_abs(),
        server: PathBuf::from(env!("CARGO_BIN_EXE_sandbox-server")),
        waiting: 2,
    }
}

#[test]
fn a_thousand_sandboxes_under_random_kills_leave_nothing() {
    let _alone = ALONE.lock().unwrap();
    if !rustix::process::geteuid().is_root() {
        unsupported!("only root sees all that a sandbox could leave");
    }
    let orders = orders();
    println!("seed {}", orders.seed);
    let report = storm::rage(&orders).unwrap();
    println!("{report}");
    for what in &report.unsupported {
        unsupported::part("what the pool leaves", what);
    }
    assert!(report.leaks.is_empty(), "{report}");
    for victim in Victim::ALL {
        assert!(report.killed(victim) > 0, "nobody was killed as {victim:?}: {report}");
    }
    let kills: u32 = Victim::ALL.iter().map(|victim| report.killed(*victim)).sum();
    assert!(kills >= 60, "too few were killed to show anything: {report}");
}

#[test]
fn a_command_goes_on_when_its_server_is_killed() {
    let _alone = ALONE.lock().unwrap();
    let directory = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let desk = Desk::new();
    let mut keeper =
        Keeper::new(&Orders { waiting: 0, ..orders() }, directory.path(), desk.clone());
    keeper.start().unwrap();
    keeper.desk.ask_first("open 1").unwrap();
    let run =
        "run 1 long echo begun >> begun; while test ! -e go; do sleep 0.02; done; echo end; exit 7";
    let caller = std::thread::spawn(move || desk.ask_first(run));
    // A name that was answered is answered the same again, so each look has its own.
    let mut looks = 0;
    while keeper.desk.ask_first(&format!("run 1 look-{looks} test -e begun")).unwrap() != "0 " {
        looks += 1;
        assert!(looks < 1_000, "it does not begin");
    }
    keeper.kill_server().unwrap();
    assert!(matches!(caller.join().unwrap(), Err(Refused::Killed)));
    keeper.start().unwrap();
    keeper.desk.ask_first("run 1 go touch go").unwrap();
    assert_eq!(keeper.desk.ask_first(run).unwrap(), "7 end\\n");
    assert_eq!(keeper.desk.ask_first("run 1 count cat begun").unwrap(), "0 begun\\n");
    keeper.end().unwrap();
}
