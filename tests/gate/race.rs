//! Going on after the answer (GA2): what an agent leaves behind is not there when the gate opens.

use std::time::Instant;

use tests::internet::breathe;
use wire::{error::Code, task::plan::Conditions};

use crate::{
    house::{House, PATIENCE},
    journey::{Journey, Script, code, refusal},
};

/// Starts a daemon that would do the agent's work as soon as the repository can be written to. It cannot be told to end.
const LURK: &str = r#"
lurker = '''
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        open(sys.argv[1], "w").write("evil")
    except OSError:
        pass
    time.sleep(0.01)
'''
subprocess.Popen(["setsid", "python3", "-c", lurker, f"{repo}/MARK.txt", "MARK-" + mode],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"#;

/// Tells what is left of an earlier run, and waits a little, so that somebody outside can look.
const LOOK: &str = r"
import time
left = []
for process in os.listdir('/proc'):
    try:
        told = open(f'/proc/{process}/cmdline', 'rb').read().replace(b'\0', b' ')
    except OSError:
        continue
    if b'MARK-' in told:
        left.append(told.decode(errors='replace')[-40:])
report('lurkers of earlier runs', left, left)
report('a file of a lurker', os.path.exists(f'{repo}/MARK.txt'))
";

const PAUSE: &str = "import time\ntime.sleep(5)\n";

/// The processes of this host that carry the mark.
fn lurkers(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let told = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let told = String::from_utf8_lossy(&told).replace('\0', " ");
        // Not whoever is told about it, as a request or a script.
        if told.contains(&format!("{mark}-")) && told.starts_with("python3 -c") {
            found.push(told);
        }
    }
    found
}

fn until(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        breathe();
    }
    false
}

#[test]
fn what_an_agent_leaves_running_does_not_live_to_see_the_gate_open() {
    let house = House::start();
    let mark = format!("lurker{}", std::process::id());
    let own = |text: &str| text.replace("MARK", &mark);
    let research = own(&format!("{LURK}{PAUSE}{LOOK}"));
    let plan = own(&format!("{LOOK}{LURK}"));
    let implement = own(&format!("{LOOK}mend()\n"));
    let script =
        Script { research: &research, plan: &plan, implement: &implement, ..Script::default() };
    let journey = Journey::begin(&house, &script);
    assert!(
        until(|| !lurkers(&mark).is_empty()),
        "the control: while it runs, it is seen from here"
    );
    let task = journey.rest();
    assert_eq!(task.state, "awaiting approval", "{:?}", task.failure);
    let hash = task.plan_waiting.unwrap();
    assert!(until(|| lurkers(&mark).is_empty()), "{:?}", lurkers(&mark));
    journey.approve(&hash, Conditions::default()).unwrap();
    let task = journey.rest();
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    assert_eq!(task.plan_approved, Some(hash));

    for tried in journey.tried() {
        let is_control = tried.mode == "research" && tried.name == "lurkers of earlier runs";
        assert_eq!(tried.worked, is_control, "{tried:?}");
    }
    let sandboxes = journey.sandboxes();
    assert_eq!(sandboxes.len(), 2);
    assert_ne!(sandboxes[0], sandboxes[1], "research and work share no computer");
    let gone = refusal(house.wait(house.client.sandbox(&sandboxes[0])));
    assert!([Code::Gone, Code::NotFound].contains(&code(gone)));
    let changed = house.git(&["show", "--name-only", "--format=", &task.commit.unwrap()]);
    assert_eq!(changed.trim(), "calc.py");
    assert!(until(|| lurkers(&mark).is_empty()));
}

#[test]
fn a_task_that_is_cancelled_at_the_gate_leaves_nothing() {
    let house = House::start();
    let mark = format!("cancelled{}", std::process::id());
    let plan = LURK.replace("MARK", &mark);
    let (journey, hash) = Journey::to_gate(&house, &Script { plan: &plan, ..Script::default() });
    house.wait(house.client.cancel_task(&journey.id)).unwrap();
    let sandbox = journey.sandboxes().remove(0);
    assert!(until(|| lurkers(&mark).is_empty()), "{:?}", lurkers(&mark));
    let is_gone = || house.wait(house.client.sandbox(&sandbox)).is_err();
    assert!(until(is_gone), "its sandbox goes with it");
    assert_eq!(code(journey.approve(&hash, Conditions::default())), Code::NotNow);
    assert_eq!(house.refs().lines().count(), 1, "only `main`");
}
