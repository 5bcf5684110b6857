//! The proof of a real journey, changed in every place (RV4): nobody is told that it holds.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::code::{CommitId, RepositoryName};
use evidence::{
    body::Block,
    commit::Note,
    envelope::Envelope,
    keys::{PublicKey, TrustedKeys},
    receipt::TreeId,
    verify::{Finding, Known, Subject, verify},
};
use serde_json::Value;
use wire::task::{plan::Conditions, shown::Task};

use crate::{
    house::House,
    journey::{Journey, Script},
};

fn keys(house: &House) -> TrustedKeys {
    let pems = std::fs::read_dir(house.path("data/keys/public")).unwrap().flatten();
    let pems = pems.map(|entry| std::fs::read_to_string(entry.path()).unwrap());
    pems.map(|pem| pem.parse::<PublicKey>().unwrap()).collect()
}

/// Every value in it, by its place.
fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                leaves(
                    inner,
                    &format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, inner) in items.iter().enumerate() {
                leaves(inner, &format!("{place}/{number}"), found);
            }
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push(place.to_owned());
        }
    }
}

/// The least that can be changed about a value.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::from(0),
        Value::Bool(it) => Value::from(!it),
        Value::Number(it) => Value::from(it.as_u64().unwrap() + 1),
        Value::Array(_) | Value::Object(_) => Value::from(vec!["more"]),
        Value::String(text) => {
            let mut letters: Vec<char> = text.chars().collect();
            match letters.last_mut() {
                Some(last) => *last = if *last == '0' { '1' } else { '0' },
                None => letters.push('0'),
            }
            Value::from(letters.into_iter().collect::<String>())
        }
    }
}

fn delivered(house: &House) -> (Journey<'_>, Task, Value) {
    let conditions = Conditions {
        paths: Some(vec!["calc.py".to_owned()]),
        hosts: Some(vec!["allowed.example".to_owned()]),
        time_seconds: Some(900),
        ..Conditions::default()
    };
    let (journey, task) = Journey::through_on(house, &Script::default(), conditions);
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let receipt = house.wait(house.client.task_receipt(&journey.id)).unwrap();
    (journey, task, receipt)
}

#[test]
fn a_receipt_that_was_changed_anywhere_is_found_out() {
    let house = House::start();
    let (_journey, task, receipt) = delivered(&house);
    let (trusted, nothing) = (keys(&house), Known::default());
    let bytes = |value: &Value| value.to_string().into_bytes();
    let original = verify(&bytes(&receipt), &trusted, &nothing).expect("the control: it is good");
    assert_eq!(original.statement.commit.as_str(), task.commit.clone().unwrap());

    let payload = STANDARD.decode(receipt["payload"].as_str().unwrap()).unwrap();
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    let mut places = Vec::new();
    leaves(&statement, "", &mut places);
    assert!(places.len() > 60, "{places:?}");
    for place in &places {
        let mut other = statement.clone();
        let value = other.pointer_mut(place).unwrap();
        *value = changed(value);
        let mut forged = receipt.clone();
        forged["payload"] = Value::from(STANDARD.encode(other.to_string()));
        assert!(verify(&bytes(&forged), &trusted, &nothing).is_err(), "{place} can be changed");
        // Nor is it enough to leave it out.
        let (above, name) = place.rsplit_once('/').unwrap();
        let mut other = statement.clone();
        match other.pointer_mut(above).unwrap() {
            Value::Object(entries) => drop(entries.remove(&name.replace("~1", "/"))),
            Value::Array(items) => drop(items.remove(name.parse().unwrap())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => unreachable!(),
        }
        forged["payload"] = Value::from(STANDARD.encode(other.to_string()));
        assert!(verify(&bytes(&forged), &trusted, &nothing).is_err(), "{place} can be left out");
    }
    // The envelope's own fields, and every byte of the payload and the signature.
    let mut places = Vec::new();
    leaves(&receipt, "", &mut places);
    for place in &places {
        let mut forged = receipt.clone();
        let value = forged.pointer_mut(place).unwrap();
        *value = changed(value);
        assert!(verify(&bytes(&forged), &trusted, &nothing).is_err(), "{place} can be changed");
    }
    let signature = STANDARD.decode(receipt["signatures"][0]["sig"].as_str().unwrap()).unwrap();
    for at in 0..signature.len() {
        let mut other = signature.clone();
        other[at] ^= 1;
        let mut forged = receipt.clone();
        forged["signatures"][0]["sig"] = Value::from(STANDARD.encode(other));
        assert!(verify(&bytes(&forged), &trusted, &nothing).is_err(), "byte {at} of the signature");
    }
    for at in 0..payload.len() {
        let mut other = payload.clone();
        other[at] ^= 1;
        let mut forged = receipt.clone();
        forged["payload"] = Value::from(STANDARD.encode(other));
        assert!(verify(&bytes(&forged), &trusted, &nothing).is_err(), "byte {at} of the payload");
    }
    // Somebody else's keys, and none.
    let stranger = House::start();
    let (_other, _, theirs) = delivered(&stranger);
    assert!(verify(&bytes(&theirs), &trusted, &nothing).is_err());
    assert!(verify(&bytes(&theirs), &keys(&stranger), &nothing).is_ok(), "the control");
    assert!(verify(&bytes(&receipt), &TrustedKeys::default(), &nothing).is_err());
}

#[test]
fn another_commit_text_or_note_than_the_receipts_is_found_out() {
    let house = House::start();
    let (journey, task, receipt) = delivered(&house);
    let trusted = keys(&house);
    let bytes = receipt.to_string().into_bytes();
    let commit: CommitId = task.commit.clone().unwrap().parse().unwrap();
    let number = task.pull_request.unwrap();
    let pull = house.wait(house.client.pull("sums", number)).unwrap();
    let finding = |subject: Subject, known: &Known<'_>| {
        let verified = verify(&bytes, &trusted, known).unwrap();
        verified.checklist.of(subject).unwrap().finding
    };

    // The commit, and the same commit amended.
    let tree = |commit: &str| -> TreeId {
        house.git(&["rev-parse", &format!("{commit}^{{tree}}")]).trim().parse().unwrap()
    };
    let own = tree(commit.as_str());
    let known = Known { commit: Some(&commit), tree: Some(&own), ..Known::default() };
    assert_eq!(finding(Subject::Commit, &known), Finding::Holds, "the control");
    assert_eq!(finding(Subject::Tree, &known), Finding::Holds, "the control");
    house.git(&["checkout", "--quiet", "--detach", commit.as_str()]);
    std::fs::write(house.path("sums/calc.py"), "def add(a, b):\n    return evil\n").unwrap();
    house.git(&["commit", "--quiet", "--amend", "--no-edit", "--all"]);
    let amended: CommitId = house.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    let other = tree(amended.as_str());
    let known = Known { commit: Some(&amended), tree: Some(&other), ..Known::default() };
    assert_eq!(finding(Subject::Commit, &known), Finding::DoesNotHold);
    assert_eq!(finding(Subject::Tree, &known), Finding::DoesNotHold);
    let (here, elsewhere): (RepositoryName, RepositoryName) =
        ("sums".parse().unwrap(), "other".parse().unwrap());
    for (name, expected) in [(&here, Finding::Holds), (&elsewhere, Finding::DoesNotHold)] {
        let known = Known { repository: Some(name), ..Known::default() };
        assert_eq!(finding(Subject::Repository, &known), expected);
    }
    for (text, expected) in
        [(Script::default().text(), Finding::Holds), ("else".to_owned(), Finding::DoesNotHold)]
    {
        let known = Known { request: Some(&text), ..Known::default() };
        assert_eq!(finding(Subject::Request, &known), expected);
    }

    // The block in the text of the pull request.
    let envelope = Envelope::read(&bytes).unwrap();
    let digest = envelope.digest().unwrap();
    let statement = envelope.open(&trusted).unwrap();
    let block = Block::of(&statement, digest);
    assert_eq!(Block::find(&pull.body).unwrap(), Some(block.clone()), "the control");
    let line = block.to_text().unwrap();
    let json: Value = serde_json::from_str(line.lines().nth(1).unwrap()).unwrap();
    let mut places = Vec::new();
    leaves(&json, "", &mut places);
    assert!(places.len() > 12, "{places:?}");
    for place in places {
        let mut other = json.clone();
        let value = other.pointer_mut(&place).unwrap();
        *value = changed(value);
        let body = pull.body.replace(line.lines().nth(1).unwrap(), &other.to_string());
        assert_ne!(body, pull.body, "{place}");
        assert_ne!(
            Block::find(&body).ok().flatten(),
            Some(block.clone()),
            "{place} can be changed"
        );
    }
    let twice = format!("{}\n{line}", pull.body);
    assert!(Block::find(&twice).is_err(), "of two nobody can say which one counts");

    // The note on the commit.
    let (first, rest) = commit.as_str().split_at(2);
    let note = house.git(&["show", &format!("refs/lamp/notes:{first}/{rest}")]);
    let read = Note::read(note.as_bytes()).unwrap();
    assert!(read.agrees_with(&statement.receipt, digest), "the control");
    let json: Value = serde_json::from_str(&note).unwrap();
    let mut places = Vec::new();
    leaves(&json, "", &mut places);
    for place in places {
        let mut other = json.clone();
        let value = other.pointer_mut(&place).unwrap();
        *value = changed(value);
        let agrees = Note::read(format!("{other}\n").as_bytes())
            .is_ok_and(|it| it.agrees_with(&statement.receipt, digest));
        assert!(!agrees, "{place} can be changed");
    }
    assert_eq!(read.task.to_string(), journey.id);
}

#[test]
fn the_command_verify_says_no_to_a_changed_file() {
    let house = House::start();
    let (journey, _, receipt) = delivered(&house);
    let public = house.path("data/keys/public").display().to_string();
    let file = house.path("receipt.json").display().to_string();
    let ends = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let said = house.command(&["verify", &file, "--keys", &public]).output().unwrap();
        said.status.code()
    };
    assert_eq!(ends(&receipt.to_string()), Some(0), "the control");
    let payload = STANDARD.decode(receipt["payload"].as_str().unwrap()).unwrap();
    let text = String::from_utf8(payload).unwrap();
    let other = text.replace(&journey.id, "t_00000000000000000000000001");
    assert_ne!(other, text);
    let mut forged = receipt.clone();
    forged["payload"] = Value::from(STANDARD.encode(other));
    assert_eq!(ends(&forged.to_string()), Some(1));
    forged["signatures"] = Value::Array(Vec::new());
    assert_eq!(ends(&forged.to_string()), Some(1));
    assert_eq!(ends("{}"), Some(1));
    assert_eq!(ends(""), Some(1));
}
