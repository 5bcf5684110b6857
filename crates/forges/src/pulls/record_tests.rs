//! Records are read as strictly as they are written.

use proptest::prelude::*;

use super::*;

fn commit(letter: char) -> CommitId {
    letter.to_string().repeat(40).parse().unwrap()
}

fn record() -> Record {
    let person = || Author::Unproven("ann".to_owned());
    let seal = Some(Digest::of(b"a seal"));
    let at = Timestamp::from_millis(7);
    Record {
        number: PullRequestNumber(3),
        title: "Fix".to_owned(),
        body: "Because.\n\n\tMore.".to_owned(),
        state: PullState::Merged { commit: commit('c'), by: person() },
        state_seal: seal,
        merged_onto: Some(commit('b')),
        branch: "agent/x".parse().unwrap(),
        base: "main".to_owned(),
        delivered: commit('a'),
        comments: vec![
            Sealed {
                said: Comment {
                    name: "1".to_owned(),
                    author: person(),
                    at,
                    text: "Why?\n".to_owned(),
                    place: None,
                },
                seal,
            },
            Sealed {
                said: Comment {
                    name: "2".to_owned(),
                    author: Author::Platform,
                    at,
                    text: String::new(),
                    place: Some(("src/a".to_owned(), 3)),
                },
                seal: None,
            },
        ],
        checks: vec![Check {
            name: "test".to_owned(),
            commit: commit('a'),
            state: CheckState::Ended(Outcome::Failed),
            summary: "2 failed".to_owned(),
        }],
        reviews: vec![Sealed {
            said: Review {
                name: "r".to_owned(),
                author: person(),
                at,
                commit: commit('a'),
                opinion: Opinion::WantsChanges,
                text: "no".to_owned(),
            },
            seal,
        }],
    }
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = record().write().unwrap();
    assert_eq!(Record::read(&bytes), Ok(record()));
    for state in [PullState::Draft, PullState::Open, PullState::Closed { by: Author::Platform }] {
        let state_seal = record().state_seal.filter(|_| matches!(state, PullState::Closed { .. }));
        let record = Record { state, state_seal, merged_onto: None, ..record() };
        assert_eq!(Record::read(&record.write().unwrap()), Ok(record));
    }
}

#[test]
fn a_record_from_before_there_were_seals_is_read_and_proves_nobody() {
    let text = String::from_utf8(record().write().unwrap()).unwrap();
    let seal = format!("\"seal\": \"{}\"", Digest::of(b"a seal"));
    let bare: Vec<&str> = text.lines().filter(|line| !line.contains(&seal)).collect();
    let bare = bare.join("\n").replace("},\n    \"branch\"", "}\n  },\n    \"branch\"");
    let bare =
        bare.replace("\"person\": \"ann\"\n      },\n    }", "\"person\": \"ann\"\n      }\n    }");
    let read = Record::read(bare.as_bytes());
    let read = read.unwrap_or_else(|error| panic!("{error}: {bare}"));
    assert_eq!(read.state_seal, None);
    assert!(read.comments.iter().all(|comment| comment.seal.is_none()));
    assert_eq!(read.comments[0].said.author, Author::Unproven("ann".to_owned()));
}

#[test]
fn nothing_else_is_read() {
    let text = String::from_utf8(record().write().unwrap()).unwrap();
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    for wrong in [
        replaced("\"version\": 1", "\"version\": 2"),
        replaced("\"number\": 3", "\"number\": 0"),
        replaced("\"number\": 3", "\"number\": -3"),
        replaced("\"title\"", "\"extra\": 1, \"title\""),
        replaced("\"title\"", "\"title\": \"twice\", \"title\""),
        replaced("agent/x", "main"),
        replaced("agent/x", "agent/../main"),
        replaced("\"base\": \"main\"", "\"base\": \"-x\""),
        replaced("\"base\": \"main\"", "\"base\": \"a:b\""),
        replaced(&"a".repeat(40), "HEAD"),
        replaced("\"Fix\"", "\"Fi\\u001bx\""),
        replaced("Why?", "Why\\u0000?"),
        replaced("ann", ""),
        replaced("\"seal\": \"", "\"seal\": \"x"),
        text.trim_end().trim_end_matches('}').to_owned(),
        format!("{text}x"),
        "[".repeat(10_000),
        String::new(),
    ] {
        assert!(Record::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
    assert_eq!(Record::read(&vec![b' '; LARGEST + 1]), Err(RecordError::Large));
}

#[test]
fn what_is_too_much_is_not_written() {
    let comment = record().comments.remove(0);
    let many = Record { comments: vec![comment.clone(); MOST_COMMENTS + 1], ..record() };
    assert_eq!(many.write(), Err(RecordError::Field("comments")));
    let of = |text: String| Sealed { said: Comment { text, ..comment.said.clone() }, seal: None };
    let long = Record { comments: vec![of("x".repeat(LONGEST_TEXT + 1))], ..record() };
    assert_eq!(long.write(), Err(RecordError::Field("comment text")));
    let large = Record { comments: vec![of("x".repeat(LONGEST_TEXT)); 40], ..record() };
    assert_eq!(large.write(), Err(RecordError::Large));
    assert_eq!(
        Record { title: "a\nb".to_owned(), ..record() }.write(),
        Err(RecordError::Field("title"))
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        prop_assert!(Record::read(&bytes).is_err());
    }

    #[test]
    fn whatever_is_written_is_read_the_same(
        title in ".{0,60}", body in "(?s).{0,200}", who in ".{0,20}", text in "(?s).{0,100}",
    ) {
        let mut record = Record { title, body, ..record() };
        record.comments[0].said.author = Author::Unproven(who);
        record.comments[0].said.text = text;
        if let Ok(bytes) = record.write() {
            prop_assert_eq!(Record::read(&bytes), Ok(record));
        }
    }
}
