//! Whatever can happen can be stored and read again.

use std::{collections::BTreeSet, time::Duration};

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use super::{strategies::any_event, *};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_event_survives_storage(event in any_event()) {
        let Stored { kind, version, body } = encode(&event);
        let read = decode(kind, version, &body).unwrap();
        prop_assert_eq!(&read, &event);
        prop_assert_eq!(encode(&read).body, body, "one event has one spelling");
    }

    /// PostgreSQL refuses a NUL, and a log with bodies should stay one line each.
    #[test]
    fn a_body_is_one_line_without_control_characters(event in any_event()) {
        let body = encode(&event).body;
        prop_assert!(body.chars().all(|c| c >= ' '), "{}", body);
    }
}

#[test]
fn the_strategies_leave_no_kind_out() {
    let mut runner = TestRunner::deterministic();
    let strategy = any_event();
    let tried: BTreeSet<&str> =
        (0..2_000).map(|_| strategy.new_tree(&mut runner).unwrap().current().kind()).collect();
    assert_eq!(tried, v1::KINDS.iter().copied().collect());
}

/// An approval names the hash of the plan as it was before it was stored.
#[test]
fn a_plan_keeps_its_hash_though_its_estimate_is_rounded() {
    let mut plan = samples::plan();
    for time in [Duration::from_nanos(1_999_999), Duration::MAX] {
        plan.estimate.time = Some(time);
        let stored = encode(&Event::PlanSubmitted { plan: plan.clone(), session: None });
        let read = decode(stored.kind, stored.version, &stored.body).unwrap();
        let Event::PlanSubmitted { plan: read, .. } = read else { panic!("{read:?}") };
        assert_eq!(read.hash(), plan.hash());
    }
}
