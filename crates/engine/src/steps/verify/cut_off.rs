//! Whether checks failed because a host was refused. No agent can mend that, so a person is asked, and not the agent again.
//!
//! A host that is refused while checks fail need not be the reason: programs ask for hosts that they can do without. It is taken for the
//! reason where a check that failed names it, or says nothing else that tells why it failed.
//!
//! Checks that fail on the base commit as well keep nobody from a pull request, which says that it is unproven. If that is so because they
//! got nowhere, a person is asked before that, once: whoever goes on then has decided.

use contracts::outfit::Refused;
use domain::{
    failure::{Failure, FailureKind},
    phase::Phase,
    task::Event,
};
use feedback::{
    location::Location,
    verdict::{CheckVerdict, Conclusion, Outcome, Reason, Verdict},
};

use super::super::{Scene, refused};
use crate::{
    Hands,
    captured::{Captured, Ending},
};

/// What stands behind checks that do not pass, if hosts do. `runs` are those on the change.
pub(super) async fn failure<H: Hands>(
    scene: &Scene<'_, H>,
    verdict: &Verdict,
    runs: &[Vec<Captured>],
) -> Option<Failure> {
    let counts = |check: &CheckVerdict| match verdict.conclusion {
        Conclusion::Passes => false,
        Conclusion::Fails => check.blocks(),
        Conclusion::Unproven => !was_told(scene),
    };
    let failed: Vec<(&CheckVerdict, &Captured)> = verdict
        .checks
        .iter()
        .zip(runs)
        .filter_map(|(check, runs)| Some((check, runs.first()?)))
        .filter(|(check, run)| counts(check) && run.ending != Ending::Exited(0))
        .collect();
    if failed.is_empty() {
        return None;
    }
    let hosts = match refused::hosts(scene).await {
        Ok(hosts) => hosts,
        Err(error) => {
            tracing::warn!(task = %scene.lease.task, %error, "cannot tell what was refused");
            return None;
        }
    };
    let (check, run, hosts) = failed
        .into_iter()
        .find_map(|(check, run)| Some((check, run, reasons(check, run, &hosts)?)))?;
    let message = format!("the check `{}` failed", check.check.name);
    let failure = Failure::new(FailureKind::EgressBlocked, scene.phase(), message);
    Some(refused::behind(scene, failure.with_log(&run.log()), &hosts))
}

/// Whether people know already that checks of what they approved were refused hosts.
fn was_told<H: Hands>(scene: &Scene<'_, H>) -> bool {
    let newest_first = scene.history.events.iter().rev().map(|recorded| &recorded.event);
    let under_this_plan = |event: &&Event| !matches!(event, Event::Approved { .. });
    newest_first
        .take_while(under_this_plan)
        .filter_map(Event::failure)
        .any(|failure| failure.kind == FailureKind::EgressBlocked && failure.phase == Phase::Verify)
}

/// The hosts that this check failed for.
fn reasons(check: &CheckVerdict, run: &Captured, refused: &[Refused]) -> Option<Vec<Refused>> {
    let (out, error) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let is_named = |it: &&Refused| out.contains(&it.host) || error.contains(&it.host);
    let named: Vec<Refused> = refused.iter().filter(is_named).cloned().collect();
    if !named.is_empty() {
        return Some(named);
    }
    let is_silent = match check.outcome {
        Outcome::Unjudged
        | Outcome::Regressed(Reason::NoTestReached | Reason::Stopped | Reason::Unexplained) => true,
        // An error without a place is what is said of a check that says nothing.
        Outcome::Regressed(Reason::NewErrors) => {
            check.new_errors.iter().all(|error| error.place == Location::Unsaid)
        }
        Outcome::KnownFailure => check.head.as_ref().is_some_and(|side| {
            let tests = side.counts.tests;
            tests.passed + tests.failed + tests.skipped == 0
        }),
        // A program that is missing is missing.
        Outcome::NotRun
        | Outcome::Regressed(Reason::Tests | Reason::NoTestLeft | Reason::CutShort)
        | Outcome::Passed
        | Outcome::Fixed
        | Outcome::NoLongerFails
        | Outcome::Gone
        | Outcome::Skipped
        | Outcome::Brought
        | Outcome::Flaky => false,
    };
    (is_silent && !refused.is_empty()).then(|| refused.to_vec())
}

#[cfg(test)]
mod tests {
    use feedback::{
        checks::Check,
        verdict::{Evidence, judge},
    };

    use super::{super::capture::tests::captured, *};

    const RED: &str =
        "test a ... FAILED\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed\n";
    const GREEN: &str = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed\n";

    fn blamed(base: (i32, &str), head: (i32, &str)) -> Option<Vec<String>> {
        let command = "cargo test".parse().unwrap();
        let check = Check::declared("tests".to_owned(), command, "agents/a.yaml".to_owned());
        let [base, head] = [base, head].map(|(code, out)| captured(code, out));
        let evidence =
            Evidence { check, base: vec![base.run()], head: vec![head.run(), head.run()] };
        let verdict = judge(vec![evidence]);
        let host = |host: &str| Refused { host: host.to_owned(), reason: "no rule".to_owned() };
        let refused = [host("docs.example.com"), host("stats.example.com")];
        let hosts = reasons(&verdict.checks[0], &head, &refused)?;
        Some(hosts.into_iter().map(|it| it.host).collect())
    }

    #[test]
    fn a_refused_host_is_blamed_where_a_check_names_it_or_says_nothing_else() {
        let named = format!("{RED}no way to docs.example.com:443\n");
        for (head, expected) in [
            (RED, None),
            (named.as_str(), Some(vec!["docs.example.com"])),
            ("", Some(vec!["docs.example.com", "stats.example.com"])),
        ] {
            let told = blamed((0, GREEN), (1, head));
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(told, expected, "{head}");
        }
        assert_eq!(blamed((1, RED), (1, RED)), None, "it ran, on both");
        assert!(blamed((1, ""), (1, "")).is_some(), "it got nowhere, on both");
    }
}
