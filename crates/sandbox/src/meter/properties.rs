//! Whatever happens in whichever order: no reading is ever below an earlier one.

use contracts::sandbox::Owner;
use domain::{cost::Cost, id::SandboxId, time::Timestamp};
use proptest::prelude::*;

use super::{Disk, Ledger, Meter, Standing};
use crate::control_groups::Counters;

#[derive(Debug, Clone)]
enum Event {
    /// The body used more, and is sampled after so many milliseconds; the clock may jump back.
    Sample {
        more: u32,
        memory: u32,
        passed: i32,
    },
    Save,
    /// The server dies and comes back with the last copy that it saved.
    Crash,
    Rest,
    Wake,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let sample = (0..5_000_000_u32, any::<u32>(), -500..60_000_i32)
        .prop_map(|(more, memory, passed)| Event::Sample { more, memory, passed });
    let event = prop_oneof![
        6 => sample,
        3 => Just(Event::Save),
        1 => Just(Event::Crash),
        1 => Just(Event::Rest),
        1 => Just(Event::Wake),
    ];
    proptest::collection::vec(event, 0..60)
}

/// A sandbox, its server and its ledger, as far as they matter here.
struct World {
    ledger: Ledger,
    meter: Meter,
    counters: Counters,
    now: i64,
    bodies: u32,
    alive: bool,
}

const SANDBOX: SandboxId = SandboxId::from_u128(7);

fn owner() -> Owner {
    Owner::Person("ann".to_owned())
}

impl World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    fn save(&self, standing: Standing) -> Cost {
        self.ledger.write(&owner(), SANDBOX, &self.meter, 0, standing).unwrap();
        self.ledger.bill(&owner()).unwrap()
    }

    /// The server finds the living body again, or sees that it is gone.
    fn come_back(&mut self) {
        let saved = self.ledger.row(&owner(), SANDBOX).unwrap();
        self.meter = saved.map(|row| row.meter).unwrap_or_default();
        if self.alive {
            self.meter.begin(&format!("body {}", self.bodies), self.now());
        } else {
            self.meter.settle();
        }
    }

    fn play(&mut self, event: &Event) {
        match event {
            Event::Sample { more, memory, passed } => {
                self.now += i64::from(*passed);
                if self.alive {
                    self.counters.cpu_micros += u64::from(*more);
                    self.counters.memory_bytes = u64::from(*memory);
                }
                self.meter.sample(&self.counters, self.now());
            }
            Event::Save => {
                self.save(Standing::Live);
            }
            Event::Crash => self.come_back(),
            Event::Rest => {
                self.meter.settle();
                self.alive = false;
                self.save(Standing::Live);
            }
            Event::Wake => {
                if !self.alive {
                    (self.alive, self.bodies) = (true, self.bodies + 1);
                    self.counters = Counters::default();
                }
                self.meter.begin(&format!("body {}", self.bodies), self.now());
            }
        }
    }
}

fn at_least(later: Cost, earlier: Cost) -> bool {
    earlier.since(later) == Cost::ZERO
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bill_is_ever_below_an_earlier_one(events in events()) {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let mut world = World {
            ledger, meter: Meter::default(), counters: Counters::default(), now: 0, bodies: 0, alive: false,
        };
        let (mut billed, mut used) = (Cost::ZERO, 0);
        for event in &events {
            let before = (world.meter.cost(), world.counters.cpu_micros);
            world.play(event);
            let bill = world.ledger.bill(&owner()).unwrap();
            prop_assert!(at_least(bill, billed), "{event:?}: {bill:?} after {billed:?}");
            billed = bill;
            if !matches!(event, Event::Crash) {
                prop_assert!(at_least(world.meter.cost(), before.0), "{event:?}");
            }
            used += world.counters.cpu_micros.saturating_sub(before.1);
        }
        let last = world.meter.reading(Disk::default());
        let bill = world.save(Standing::Final);
        prop_assert!(at_least(bill, last.cost) && at_least(bill, billed));
        prop_assert!(bill.cpu_millis <= used / 1_000, "nothing is billed that was not used");
        prop_assert_eq!(world.save(Standing::Final), bill);
    }

    #[test]
    fn a_meter_reads_back_as_it_was_saved(events in events()) {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let mut world = World {
            ledger, meter: Meter::default(), counters: Counters::default(), now: 0, bodies: 0, alive: false,
        };
        for event in &events {
            world.play(event);
        }
        let text = serde_json::to_string(&world.meter).unwrap();
        prop_assert_eq!(serde_json::from_str::<Meter>(&text).unwrap(), world.meter);
    }
}
