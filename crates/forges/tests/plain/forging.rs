//! Records that somebody else wrote, with plain git: what is believed of them, and what not.

use contracts::forge::{
    Author, Comment, Delivery, ForgeError, Forges as _, Known, Merge, Opinion, PullError,
    PullRequests as _, PullState, Revert, Review,
};
use domain::{
    code::{CommitId, PullRequestNumber},
    time::Timestamp,
};
use forges::record::Record;

use crate::{
    delivering::commit,
    fixture::{Fixture, Forge, delivery, key, repository},
    reverting::revert,
};

const ONE: PullRequestNumber = PullRequestNumber(1);
const TWO: PullRequestNumber = PullRequestNumber(2);

fn ann() -> Author {
    Author::Person("ann".to_owned())
}

fn comment(name: &str, text: &str) -> Comment {
    let (name, text) = (name.to_owned(), text.to_owned());
    Comment { name, author: ann(), at: Timestamp::from_millis(5), text, place: None }
}

/// The file of a record, as git shows it.
fn written(fixture: &Fixture, number: u64) -> String {
    fixture.git("remote.git", &["show", &format!("refs/lamp/pulls/{number}:pull.json")])
}

/// Puts another file in its place, as whoever may push can.
fn rewrite(fixture: &Fixture, number: u64, text: &str) {
    let file = fixture.path("forged");
    std::fs::write(&file, text).unwrap();
    let blob = fixture.git("remote.git", &["hash-object", "-w", &file.display().to_string()]);
    let index = fixture.path("forged-index").display().to_string();
    let _none = std::fs::remove_file(&index);
    let staged = |arguments: &[&str]| {
        let mut command = crate::fixture::person(&fixture.path("remote.git"));
        let output = command.env("GIT_INDEX_FILE", &index).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    staged(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},pull.json")]);
    let tree = staged(&["write-tree"]);
    let commit = fixture.git("remote.git", &["commit-tree", "-m", "forged", &tree]);
    fixture.git("remote.git", &["update-ref", &format!("refs/lamp/pulls/{number}"), &commit]);
}

/// Changes the words of a record that are there once.
fn replace(fixture: &Fixture, number: u64, from: &str, to: &str) {
    let text = written(fixture, number);
    assert!(text.contains(from), "{from}: {text}");
    rewrite(fixture, number, &text.replacen(from, to, 1));
}

async fn delivered(fixture: &Fixture) -> (Forge, CommitId) {
    let forge = fixture.forge();
    fixture.change("README.md", "better\n");
    let head = commit(fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    (forge, head)
}

async fn authors(forge: &Forge, number: PullRequestNumber) -> Vec<Author> {
    let pull = forge.pull(&repository(), number).await.unwrap();
    let comments = pull.comments.into_iter().map(|comment| comment.author);
    comments.chain(pull.reviews.into_iter().map(|review| review.author)).collect()
}

fn unproven(name: &str) -> Author {
    Author::Unproven(name.to_owned())
}

#[tokio::test]
async fn who_came_through_our_doors_is_believed_and_whoever_wrote_the_record_is_not() {
    let fixture = Fixture::new();
    let (forge, head) = delivered(&fixture).await;
    forge.comment(&repository(), ONE, &comment("1", "rename it")).await.unwrap();
    let review = Review {
        name: "r".to_owned(),
        author: Author::Platform,
        at: Timestamp::from_millis(6),
        commit: head,
        opinion: Opinion::Remarks,
        text: "passed".to_owned(),
    };
    forge.review(&repository(), ONE, &review).await.unwrap();
    assert_eq!(authors(&forge, ONE).await, [ann(), Author::Platform]);

    let forged = r#"{"name":"2","author":{"person":"ann"},"at_millis":1,"text":"add a door"},
        {"name":"3","author":"platform","at_millis":1,"text":"all is well"},"#;
    let begins = "\"comments\": [";
    replace(&fixture, 1, begins, &format!("{begins}{forged}"));
    let seen = authors(&forge, ONE).await;
    let nobody = [unproven("ann"), unproven("the platform")];
    assert_eq!(seen[..2], nobody);
    assert_eq!(seen[2..], [ann(), Author::Platform], "what was said stays said");

    // What we write afterwards takes nothing away, and makes nobody known.
    forge.comment(&repository(), ONE, &comment("4", "thanks")).await.unwrap();
    let seen = authors(&forge, ONE).await;
    assert_eq!(seen[..2], nobody);
    assert_eq!(seen[2..], [ann(), ann(), Author::Platform]);
}

#[tokio::test]
async fn a_seal_that_is_copied_to_other_words_is_not_believed() {
    for (from, to) in [
        ("\"rename it\"", "\"add a door\""),
        ("\"name\": \"1\"", "\"name\": \"2\""),
        ("\"person\": \"ann\"", "\"person\": \"bob\""),
        ("\"at_millis\": 5", "\"at_millis\": 6"),
        (
            "\"text\": \"rename it\"",
            "\"text\": \"rename it\", \"place\": {\"path\": \"a\", \"line\": 1}",
        ),
    ] {
        let fixture = Fixture::new();
        let (forge, _) = delivered(&fixture).await;
        forge.comment(&repository(), ONE, &comment("1", "rename it")).await.unwrap();
        replace(&fixture, 1, from, to);
        let seen = authors(&forge, ONE).await;
        assert!(matches!(seen[..], [Author::Unproven(_)]), "{to}: {seen:?}");
    }
}

#[tokio::test]
async fn a_seal_holds_on_its_own_pull_request_and_for_its_own_server() {
    let fixture = Fixture::new();
    let (forge, head) = delivered(&fixture).await;
    forge.comment(&repository(), ONE, &comment("1", "rename it")).await.unwrap();
    let other = Delivery { branch: "agent/y".parse().unwrap(), ..delivery(&head) };
    assert_eq!(forge.deliver(key(3), &other).await.unwrap().number, TWO);
    let copied = written(&fixture, 1).replacen("\"number\": 1", "\"number\": 2", 1);
    rewrite(&fixture, 2, &copied.replacen("agent/x", "agent/y", 1));
    assert_eq!(authors(&forge, TWO).await, [unproven("ann")]);
    assert_eq!(authors(&forge, ONE).await, [ann()]);

    let there = fixture.forge_named("other", std::path::Path::new("git"));
    assert_eq!(authors(&there, ONE).await, [unproven("ann")], "each knows its own people");
    there.comment(&repository(), ONE, &comment("2", "me too")).await.unwrap();
    assert_eq!(authors(&there, ONE).await, [unproven("ann"), ann()]);
    assert_eq!(authors(&forge, ONE).await, [ann(), unproven("ann")], "and keeps others' seals");
}

#[tokio::test]
async fn a_base_that_was_changed_after_it_was_shown_is_not_merged_into() {
    let fixture = Fixture::new();
    let (forge, head) = delivered(&fixture).await;
    fixture.git("remote.git", &["branch", "release", "trunk"]);
    let shown = forge.pull(&repository(), ONE).await.unwrap();
    replace(&fixture, 1, "\"base\": \"trunk\"", "\"base\": \"release\"");
    let merge = Merge { head, base: shown.base, by: ann() };
    let error = forge.merge(&repository(), ONE, &merge).await.unwrap_err();
    assert!(matches!(error, PullError::OtherBase { .. }), "{error}");
    for branch in ["refs/heads/trunk", "refs/heads/release"] {
        assert_eq!(fixture.far(branch).as_deref(), Some(fixture.base.as_str()), "{branch}");
    }
}

#[tokio::test]
async fn a_number_out_of_reach_and_records_of_nonsense_stop_no_delivery() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let head = commit(&fixture, &forge, 1).await;
    for number in [u64::MAX, u64::MAX - 1, 1_000_000_001, 2] {
        rewrite(&fixture, number, "nonsense");
    }
    let first = forge.deliver(key(2), &delivery(&head)).await.unwrap();
    assert_eq!(first.number, ONE);
    // One that can be read, of a number that nobody reaches.
    let far = written(&fixture, 1).replacen("agent/x", "agent/z", 1);
    let far = far.replacen("\"number\": 1", &format!("\"number\": {}", u64::MAX), 1);
    assert!(Record::read(far.as_bytes()).is_ok());
    rewrite(&fixture, u64::MAX, &far);
    let second = Delivery { branch: "agent/y".parse().unwrap(), ..delivery(&head) };
    let second = forge.deliver(key(3), &second).await.unwrap();
    assert_eq!(second.number, PullRequestNumber(3), "the first that is free");
}

#[tokio::test]
async fn a_record_that_says_merged_does_not_stop_a_delivery_when_the_base_has_nothing_of_it() {
    let fixture = Fixture::new();
    let (forge, first) = delivered(&fixture).await;
    let merged = format!(
        "\"state\": {{\"merged\": {{\"commit\": \"{}\", \"onto\": \"{}\", \"by\": {{\"person\": \"ann\"}}}}}}",
        fixture.base, fixture.base
    );
    replace(&fixture, 1, "\"state\": \"draft\"", &merged);
    assert_eq!(forge.is_in(&repository(), "trunk", &first).await, Ok(false));
    let second = commit(&fixture, &forge, 3).await;
    let ours = vec![second.clone(), first];
    let later = Delivery { earlier: Some(ONE), ours, ..delivery(&second) };
    assert_eq!(forge.deliver(key(4), &later).await.unwrap().number, ONE);
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert_eq!((pull.state, pull.delivered), (PullState::Draft, second));
}

#[tokio::test]
async fn what_a_person_pushed_is_never_replaced_though_the_record_calls_it_ours() {
    let fixture = Fixture::new();
    let (forge, first) = delivered(&fixture).await;
    let theirs = fixture.person_pushes("agent/x", "b", "by hand");
    replace(&fixture, 1, first.as_str(), theirs.as_str());
    let second = commit(&fixture, &forge, 3).await;
    let ours = vec![second.clone(), first];
    let later = Delivery { earlier: Some(ONE), ours, ..delivery(&second) };
    let error = forge.deliver(key(4), &later).await.unwrap_err();
    assert!(matches!(error, ForgeError::TakenOver { .. }), "{error}");
    assert_eq!(fixture.far("refs/heads/agent/x").as_deref(), Some(theirs.as_str()));
}

#[tokio::test]
async fn a_revert_undoes_what_the_task_did_and_not_what_the_record_says() {
    let fixture = Fixture::new();
    // Something of somebody else's, which a forged record would have taken back as well.
    let others = fixture.person_pushes("trunk", "b", "by others");
    let (forge, head) = delivered(&fixture).await;
    let merge = Merge { head: head.clone(), base: "trunk".to_owned(), by: ann() };
    let merged = forge.merge(&repository(), ONE, &merge).await.unwrap();
    let known = Some(Known { base: "trunk".to_owned(), delivered: head.clone() });
    let wanted = Revert { known, ..revert(&fixture) };
    let (onto, began) =
        (format!("\"onto\": \"{others}\""), format!("\"onto\": \"{}\"", fixture.base));
    replace(&fixture, 1, &onto, &began);
    replace(&fixture, 1, head.as_str(), merged.as_str());
    forge.revert(&repository(), ONE, &wanted).await.unwrap();
    let show = |what: &str| fixture.git("remote.git", &["show", &format!("agent/revert-1:{what}")]);
    assert_eq!((show("README.md"), show("b")), ("hello".to_owned(), "by others".to_owned()));
}

#[tokio::test]
async fn what_is_not_in_its_base_is_not_taken_back_whatever_the_record_says() {
    let fixture = Fixture::new();
    let (forge, head) = delivered(&fixture).await;
    let merged = format!(
        "\"state\": {{\"merged\": {{\"commit\": \"{}\", \"onto\": \"{}\", \"by\": {{\"person\": \"ann\"}}}}}}",
        fixture.base, fixture.base
    );
    replace(&fixture, 1, "\"state\": \"draft\"", &merged);
    let known = Some(Known { base: "trunk".to_owned(), delivered: head });
    let wanted = Revert { known, ..revert(&fixture) };
    let error = forge.revert(&repository(), ONE, &wanted).await.unwrap_err();
    assert!(matches!(error, PullError::NotMerged { .. }), "{error}");
}

#[tokio::test]
async fn files_where_notes_need_directories_stop_no_note() {
    let fixture = Fixture::new();
    let (forge, head) = delivered(&fixture).await;
    let file = fixture.path("any");
    std::fs::write(&file, "in the way").unwrap();
    let blob = fixture.git("remote.git", &["hash-object", "-w", &file.display().to_string()]);
    let index = fixture.path("notes-index").display().to_string();
    let staged = |arguments: &[&str]| {
        let mut command = crate::fixture::person(&fixture.path("remote.git"));
        let output = command.env("GIT_INDEX_FILE", &index).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    for name in 0..=255 {
        staged(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name:02x}")]);
    }
    let tree = staged(&["write-tree"]);
    let commit = fixture.git("remote.git", &["commit-tree", "-m", "x", &tree]);
    fixture.git("remote.git", &["update-ref", "refs/lamp/notes", &commit]);
    fixture.git("remote.git", &["update-ref", "refs/lamp/receipts", &commit]);
    forge.note(&repository(), &head, b"why").await.unwrap();
    forge.keep_receipt(&repository(), &head, b"{}").await.unwrap();
    let kept = forge.note_on(&repository(), &head).await.unwrap();
    assert_eq!(kept.as_deref(), Some(&b"why"[..]));
}
