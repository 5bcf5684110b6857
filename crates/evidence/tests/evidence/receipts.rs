//! Receipts as they are written, signed and checked.

use domain::{code::CommitId, digest::Digest};
use evidence::{
    body::BodyTemplate,
    envelope::{Envelope, EnvelopeError},
    receipt::{
        Check, Counts, LIST_LIMIT, NUMBER_LIMIT, Receipt, Statement, StatementError, TEXT_LIMIT,
        TreeId, Verdict,
    },
    verify::{Finding, Known, Subject, verify},
};

use crate::stories::{self, Story, signing_key, trusted};

fn payload(story: &Story) -> serde_json::Value {
    serde_json::from_slice(story.envelope().payload()).unwrap()
}

#[test]
fn three_receipts_as_they_are_signed() {
    for (name, story) in stories::all() {
        let text = serde_json::to_string_pretty(&payload(&story)).unwrap();
        insta::assert_snapshot!(format!("receipt_{name}"), text);
    }
}

#[test]
fn three_checklists_with_everything_known() {
    let key = signing_key(1);
    for (name, story) in stories::all() {
        let Statement { commit, tree, receipt } = &story.statement;
        let known = Known {
            repository: Some(&receipt.repository),
            commit: Some(commit),
            tree: Some(tree),
            plan: Some(&story.plan),
            request: Some(&story.request),
            transcript: Some(&story.transcript),
        };
        let bytes = story.envelope().to_bytes().unwrap();
        let verified = verify(&bytes, &trusted(&[&key]), &known).unwrap();
        assert_eq!(verified.statement, story.statement);
        insta::assert_snapshot!(format!("checklist_{name}"), verified.checklist.to_string());
    }
}

#[test]
fn the_same_facts_are_the_same_bytes() {
    let (one, other) = (stories::happy().envelope(), stories::happy().envelope());
    assert_eq!(one.to_bytes(), other.to_bytes());
    // A promise to everyone who kept one: a receipt of last year is still the same file.
    insta::assert_snapshot!(one.digest().unwrap());
}

/// Made once from these facts with `openssl pkeyutl -sign`, so that we and the rest of the world mean the same by a signature.
#[test]
fn a_receipt_that_openssl_signed_is_the_one_that_we_sign() {
    let seed = include_bytes!("../../../../fuzz/seeds/receipt/envelope");
    assert_eq!(seed.strip_prefix(b"E"), stories::happy().envelope().to_bytes().ok().as_deref());
}

#[test]
fn what_nobody_brought_is_unknown_and_never_holds() {
    let bytes = stories::happy().envelope().to_bytes().unwrap();
    let verified = verify(&bytes, &trusted(&[&signing_key(1)]), &Known::default()).unwrap();
    assert_eq!(verified.checklist.finding(), Finding::Unknown);
    for subject in
        [Subject::Commit, Subject::Tree, Subject::Plan, Subject::Request, Subject::Transcript]
    {
        assert_eq!(verified.checklist.of(subject).unwrap().finding, Finding::Unknown);
    }
    insta::assert_snapshot!(verified.checklist.to_string());
}

#[test]
fn a_true_receipt_of_something_else_does_not_hold() {
    let story = stories::happy();
    let bytes = story.envelope().to_bytes().unwrap();
    let commit: CommitId = "ab".repeat(20).parse().unwrap();
    let tree: TreeId = "ab".repeat(32).parse().unwrap();
    let repository = "acme/other".parse().unwrap();
    let mut plan = story.plan.clone();
    plan.commands.push("curl evil".to_owned());
    let known = Known {
        repository: Some(&repository),
        commit: Some(&commit),
        tree: Some(&tree),
        plan: Some(&plan),
        request: Some("another request"),
        transcript: Some(b"another transcript"),
    };
    let verified = verify(&bytes, &trusted(&[&signing_key(1)]), &known).unwrap();
    assert_eq!(verified.checklist.finding(), Finding::DoesNotHold);
    insta::assert_snapshot!(verified.checklist.to_string());
}

type Change = fn(&mut Story);

#[test]
fn a_receipt_that_contradicts_itself_does_not_hold() {
    let finding = |change: Change, subject| {
        let mut story = stories::happy();
        change(&mut story);
        let bytes = story.envelope().to_bytes().unwrap();
        let verified = verify(&bytes, &trusted(&[&signing_key(1)]), &Known::default()).unwrap();
        verified.checklist.of(subject).unwrap().finding
    };
    let changes: [(Change, Subject); 5] = [
        (
            |it| it.statement.receipt.approval.plan = "ab".repeat(32).parse().unwrap(),
            Subject::Approval,
        ),
        (
            |it| it.statement.receipt.time.delivered = it.statement.receipt.time.requested,
            Subject::Order,
        ),
        (
            |it| it.statement.receipt.time.requested = it.statement.receipt.time.delivered,
            Subject::Order,
        ),
        (|it| it.statement.receipt.egress.refused = 0, Subject::Egress),
        (|it| it.statement.receipt.egress.hosts.swap(0, 1), Subject::Egress),
    ];
    for (change, subject) in changes {
        assert_eq!(finding(|_same| {}, subject), Finding::Holds, "{subject:?}");
        assert_eq!(finding(change, subject), Finding::DoesNotHold, "{subject:?}");
    }
    let nothing: Change = |it| it.statement.receipt.checks.clear();
    assert_eq!(finding(nothing, Subject::Checks), Finding::Unproven, "no check is no good check");
}

#[test]
fn two_keys_may_sign_and_both_must_be_trusted() {
    let (one, two) = (signing_key(1), signing_key(2));
    let statement = stories::happy().statement;
    let bytes = Envelope::sign(&statement, &[&one, &two]).unwrap().to_bytes().unwrap();
    let known = Known::default();
    let verified = verify(&bytes, &trusted(&[&one, &two]), &known).unwrap();
    assert_eq!(verified.signed_by, [one.public().id(), two.public().id()]);
    let refused = verify(&bytes, &trusted(&[&one]), &known).unwrap_err();
    assert_eq!(refused, EnvelopeError::UnknownKey(two.public().id()));
    let refused = verify(&bytes, &trusted(&[]), &known).unwrap_err();
    assert_eq!(refused, EnvelopeError::UnknownKey(one.public().id()));
    assert_eq!(Envelope::sign(&statement, &[]), Err(EnvelopeError::NoSignature));
    let twice = Envelope::sign(&statement, &[&one, &one]);
    assert_eq!(twice, Err(EnvelopeError::SignedTwice(one.public().id())));
}

#[test]
fn what_is_too_much_is_not_signed() {
    let refused = |change: Change| {
        let mut story = stories::happy();
        change(&mut story);
        Envelope::sign(&story.statement, &[&signing_key(1)]).unwrap_err().to_string()
    };
    let changes: [Change; 5] = [
        |it| it.statement.receipt.lamplighter = "x".repeat(TEXT_LIMIT + 1),
        |it| it.statement.receipt.lamplighter = "\u{202e}".to_owned(),
        |it| it.statement.receipt.cost.cpu_millis = NUMBER_LIMIT + 1,
        |it| {
            let check = it.statement.receipt.checks[0].clone();
            it.statement.receipt.checks = vec![check; LIST_LIMIT + 1];
        },
        |it| it.statement.receipt.time.delivered = domain::time::Timestamp::from_millis(i64::MAX),
    ];
    insta::assert_snapshot!(changes.map(refused).join("\n"));
}

#[test]
fn a_receipt_that_fits_is_read_again_and_one_that_does_not_is_not_signed() {
    let mut story = stories::happy();
    let mut check = story.statement.receipt.checks[0].clone();
    check.command = "x".repeat(TEXT_LIMIT);
    check.name = "y".repeat(TEXT_LIMIT);
    story.statement.receipt.checks = vec![check; LIST_LIMIT];
    let bytes = story.envelope().to_bytes().unwrap();
    assert!(verify(&bytes, &trusted(&[&signing_key(1)]), &Known::default()).is_ok());
    let allowed = (0..50).map(|at| format!("{at}{}", "z".repeat(TEXT_LIMIT - 2)));
    story.statement.receipt.policy.allowed = allowed.collect();
    let refused = Envelope::sign(&story.statement, &[&signing_key(1)]).unwrap_err();
    assert!(refused.to_string().ends_with("bytes, and 2097152 are allowed"), "{refused}");
}

#[test]
fn a_note_agrees_with_its_own_receipt_only() {
    let story = stories::happy();
    let digest = story.envelope().digest().unwrap();
    let note = evidence::commit::Note::of(&story.statement.receipt, digest);
    assert!(note.agrees_with(&story.statement.receipt, digest));
    assert!(!note.agrees_with(&story.statement.receipt, Digest::of(b"other")));
    let mut other = story.statement.receipt;
    other.approval.by.id = domain::id::PersonId::from_u128(66);
    assert!(!note.agrees_with(&other, digest));
}

#[test]
fn a_newer_format_is_told_from_nonsense() {
    let bytes = stories::happy().statement.to_bytes().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let told =
        |from: &str, to: &str| Statement::read(text.replace(from, to).as_bytes()).unwrap_err();
    assert_eq!(
        told("receipt:v1", "receipt:v2"),
        StatementError::UnknownVersion("urn:lamplighter:receipt:v2".to_owned())
    );
    assert_eq!(
        told("urn:lamplighter:receipt:v1", "https://slsa.dev/provenance/v1"),
        StatementError::OtherPredicate("https://slsa.dev/provenance/v1".to_owned())
    );
    assert_eq!(
        told("Statement/v1", "Statement/v0.1"),
        StatementError::OtherStatement("https://in-toto.io/Statement/v0.1".to_owned())
    );
    assert_eq!(told("\"name\":\"tree\"", "\"name\":\"trunk\""), StatementError::OtherSubject);
    let tree = format!(",{{\"name\":\"tree\",\"digest\":{{\"gitTree\":\"{}\"}}}}", "2e".repeat(20));
    assert_eq!(told(&tree, ""), StatementError::OtherSubject);
    let longer = told(&"2e".repeat(20), &"2e".repeat(32));
    assert_eq!(longer, StatementError::OtherSubject, "hashes of two kinds");
}

/// What `lamp verify` would say of a story whose checks ended so, and what its pull request says.
fn told_of(checks: Vec<Check>, state: impl Fn(&mut Receipt)) -> (Finding, String, String) {
    let mut story = stories::happy();
    story.statement.receipt.checks = checks;
    state(&mut story.statement.receipt);
    let envelope = story.envelope().to_bytes().unwrap();
    let trusted = trusted(&[&signing_key(1)]);
    let verified = verify(&envelope, &trusted, &Known::default()).unwrap();
    let row = verified.checklist.of(Subject::Checks).unwrap().clone();
    let body = BodyTemplate::builtin().unwrap().text(&story.pull_request()).unwrap();
    (row.finding, row.detail, body)
}

#[test]
fn an_honest_receipt_holds_whatever_it_says_and_its_headline_is_everywhere_the_same() {
    let counts = |passed, failed| Counts { passed, failed, skipped: 0, millis: 0 };
    let check = |passed, failed, verdict| {
        Check::new("test", "tox", Some(counts(passed, failed)), counts(passed, failed), verdict)
    };
    let not_run = Check::new("test", "tox", None, counts(0, 0), Verdict::NotRun);
    let stated = |receipt: &mut Receipt| receipt.headline = Some(receipt.headline().into());
    let older = |_receipt: &mut Receipt| {};
    for (checks, finding, sentence) in [
        (vec![check(4, 0, Verdict::Passed)], Finding::Holds, "passed: 4 tests ran, and all pass"),
        (
            vec![check(4, 2, Verdict::KnownFailure), check(4, 1, Verdict::KnownFailure)],
            Finding::Holds,
            "nothing got worse: 2 checks fail as before (3 tests)",
        ),
        (
            vec![not_run],
            Finding::Unproven,
            "nothing was proven, because 1 of 1 check could not be run",
        ),
    ] {
        for state in [&stated as &dyn Fn(&mut Receipt), &older] {
            let (found, detail, body) = told_of(checks.clone(), state);
            assert_eq!((found, detail.as_str()), (finding, sentence));
            let whole = format!("{}{}.", sentence[..1].to_uppercase(), &sentence[1..]);
            assert!(body.contains(&whole), "{whole}: {body}");
            assert!(!body.contains("0 passed, 0 failed"), "{body}");
        }
    }
}

#[test]
fn a_headline_that_its_checks_do_not_bear_out_does_not_hold() {
    let counts = Counts { passed: 0, failed: 0, skipped: 0, millis: 0 };
    let not_run = Check::new("test", "tox", None, counts, Verdict::NotRun);
    let good =
        Check::new("test", "tox", Some(counts), Counts { passed: 3, ..counts }, Verdict::Passed);
    let boast = |receipt: &mut Receipt| {
        let checks = std::mem::replace(&mut receipt.checks, vec![good.clone()]);
        receipt.headline = Some(receipt.headline().into());
        receipt.checks = checks;
    };
    let (finding, detail, _) = told_of(vec![not_run], boast);
    assert_eq!(finding, Finding::DoesNotHold, "{detail}");
}
