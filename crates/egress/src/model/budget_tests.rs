//! Money, by stories and by a property.

use proptest::{collection, prelude::*};

use super::*;

fn account(scope: BudgetScope, period: Option<BudgetPeriod>, limit: Money) -> Account {
    Account { scope, whose: "x".to_owned(), period, limit }
}

fn price() -> Price {
    Price { input: 1_000_000, output: 1_000_000, cache_read: 0, cache_write: 0 }
}

const NOON: Timestamp = Timestamp::from_millis(1_794_830_400_000);

fn micros(amount: u64) -> (Money, Price) {
    (Money::from_micros(amount), price())
}

#[test]
fn a_budget_refuses_when_it_is_used_up_and_goes_on_when_it_is_raised() {
    let mut purses = Purses::default();
    let mut task = account(BudgetScope::Task, None, Money::from_micros(1_000));
    let first = purses.reserve(std::slice::from_ref(&task), micros(600), 10, NOON).unwrap();
    let over = purses.reserve(std::slice::from_ref(&task), micros(600), 10, NOON).unwrap_err();
    insta::assert_snapshot!(over, @"the budget of the task `x` is $0.0010; $0.00 is spent, $0.0006 is set aside for requests under way, and this one may cost $0.0006");
    let usage = Usage { input_tokens: 1_000, complete: true, ..Usage::default() };
    assert_eq!(purses.settle(first, Some(&usage), 0), Money::from_micros(1_000));
    assert!(purses.reserve(std::slice::from_ref(&task), micros(1), 1, NOON).is_err());
    task.limit = Money::from_micros(2_000);
    let again = purses.reserve(std::slice::from_ref(&task), micros(600), 10, NOON).unwrap();
    purses.release(again);
    assert_eq!(purses.spent(&task, NOON), Money::from_micros(1_000));
}

#[test]
fn what_counts_for_nobody_any_more_is_not_kept() {
    let mut purses = Purses::default();
    let all = [
        account(BudgetScope::Task, None, Money::from_dollars(1)),
        account(BudgetScope::Person, Some(BudgetPeriod::Day), Money::from_dollars(1)),
        account(BudgetScope::Person, Some(BudgetPeriod::Month), Money::from_dollars(1)),
    ];
    let spent = purses.reserve(&all, micros(100), 200, NOON).unwrap();
    purses.settle(spent, None, 1_000_000);
    let left = |purses: &Purses| purses.kept().len();
    let day = 24 * 60 * 60 * 1000;
    purses.forget_before(Timestamp::from_millis(NOON.as_millis() + day));
    assert_eq!(left(&purses), 3, "yesterday's");
    purses.forget_before(Timestamp::from_millis(NOON.as_millis() + 2 * day));
    assert_eq!(left(&purses), 2, "the month goes on");
    purses.forget(BudgetScope::Task, "y");
    purses.forget(BudgetScope::Person, "y");
    assert_eq!(left(&purses), 2, "those of others");
    purses.forget(BudgetScope::Task, "x");
    assert_eq!(left(&purses), 1);
}

#[test]
fn a_day_a_week_and_a_month_begin_anew() {
    let day = 24 * 60 * 60 * 1000;
    let names = |millis: i64| {
        let now = Timestamp::from_millis(millis);
        BudgetPeriod::ALL.map(|period| name(period, now)).join(", ")
    };
    let told =
        [0, NOON.as_millis(), NOON.as_millis() + 6 * day, 951_782_400_000, 1_709_164_800_000 - 1];
    insta::assert_snapshot!(told.map(names).join("\n"), @r"
    1970-01-01, 1969-12-29 (week), 1970-01
    2026-11-16, 2026-11-16 (week), 2026-11
    2026-11-22, 2026-11-16 (week), 2026-11
    2000-02-29, 2000-02-28 (week), 2000-02
    2024-02-28, 2024-02-26 (week), 2024-02
    ");
    let mut purses = Purses::default();
    let daily = account(BudgetScope::Person, Some(BudgetPeriod::Day), Money::from_micros(100));
    let spent = purses.reserve(std::slice::from_ref(&daily), micros(100), 200, NOON).unwrap();
    purses.settle(spent, None, 1_000_000);
    assert!(purses.reserve(std::slice::from_ref(&daily), micros(100), 1, NOON).is_err());
    let tomorrow = Timestamp::from_millis(NOON.as_millis() + day);
    assert!(purses.reserve(std::slice::from_ref(&daily), micros(100), 1, tomorrow).is_ok());
    assert_eq!(Purses::from_kept(purses.kept()).spent(&daily, NOON), Money::from_micros(100));
}

#[test]
fn a_request_whose_cost_nobody_tells_costs_what_went_over_the_wire() {
    let mut purses = Purses::default();
    let task = account(BudgetScope::Task, None, Money::from_dollars(1));
    let reserve = |purses: &mut Purses| {
        purses.reserve(std::slice::from_ref(&task), micros(10_000), 2_000, NOON).unwrap()
    };
    let cut = reserve(&mut purses);
    assert_eq!(purses.settle(cut, None, 0), Money::from_micros(1_000));
    let flooded = reserve(&mut purses);
    assert_eq!(purses.settle(flooded, None, u64::MAX), Money::from_micros(10_000));
    let told = reserve(&mut purses);
    let usage = Usage { output_tokens: 20_000, complete: false, ..Usage::default() };
    assert_eq!(purses.settle(told, Some(&usage), 0), Money::from_micros(20_000));
}

#[test]
fn an_estimate_is_never_less_than_a_usual_answer_costs() {
    let prices = Prices::shipped().unwrap();
    let wanted = Wanted {
        model: Some("claude-sonnet-4-5".to_owned()),
        most_output_tokens: Some(1_000),
        body_bytes: 40_000,
    };
    let (most, price) = estimate(&prices, ModelProvider::Anthropic, &wanted);
    let usage = Usage { input_tokens: 10_000, output_tokens: 1_000, ..Usage::default() };
    assert!(price.cost(&usage) < most);
}

proptest! {
    /// Whatever is asked in whatever order, more than the limit is never set aside beside what is spent, but for the one
    /// request that takes the rest.
    #[test]
    fn reservations_stay_within_the_limit(
        limit in 1_u64..1_000,
        asks in collection::vec((1_u64..1_500, any::<bool>(), 0_u64..1_500), 1..30),
    ) {
        let task = account(BudgetScope::Task, None, Money::from_micros(limit));
        let mut purses = Purses::default();
        let mut open = Vec::new();
        for (amount, settles, cost) in asks {
            if let Ok(reservation) = purses.reserve(std::slice::from_ref(&task), micros(amount), 0, NOON) {
                open.push(reservation);
                let set_aside: Money = open.iter().map(|it: &Reservation| it.amount).sum();
                let spent = purses.spent(&task, NOON);
                prop_assert!(spent < task.limit);
                prop_assert!(spent + set_aside <= task.limit || open.len() == 1);
                prop_assert!(amount <= limit);
            }
            if settles && let Some(reservation) = open.pop() {
                let before = purses.spent(&task, NOON);
                let usage = Usage { input_tokens: cost, complete: true, ..Usage::default() };
                let charged = purses.settle(reservation, Some(&usage), 0);
                prop_assert_eq!(purses.spent(&task, NOON), before + charged);
            }
        }
        for reservation in open {
            purses.release(reservation);
        }
        prop_assert!(purses.purses.values().all(|purse| purse.reserved == Money::ZERO));
    }
}
