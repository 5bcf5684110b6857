//! What agents say: kept once, in order, without gaps, up to a limit, and read again from any number.

use domain::{
    cost::Cost,
    id::TaskId,
    transcript::{AgentEvent, Ending, LIMIT},
};
use futures::future::join_all;
use store::{Growth, Heard, OpenOptions, Said, Saying, Store, StoreError};

use crate::{
    changes::next,
    home::{Home, Kind, PATIENT},
    life::{Life, at, id},
};

on_both!(
    what_is_said_is_read_again_in_order_from_any_number,
    what_one_run_said_is_read_alone,
    numbers_have_no_gaps_however_many_speak,
    a_reader_who_follows_while_it_is_written_misses_nothing,
    the_same_call_again_adds_nothing,
    words_that_were_skipped_are_refused,
    an_attempt_that_is_repeated_comes_after_the_first,
    a_task_keeps_no_more_than_its_limit_and_says_so_once,
    a_transcript_that_just_fits_says_nothing_of_a_limit,
    many_small_words_have_a_limit_too,
    what_is_too_long_is_shortened_whoever_sends_it,
    any_words_of_an_agent_can_be_kept,
    a_shape_of_a_newer_lamp_is_an_error_that_says_so,
    nobody_changes_what_was_said_even_by_hand,
    numbers_go_on_after_old_words_were_removed,
    the_briefing_is_that_of_the_newest_attempt,
    watchers_hear_that_a_transcript_grew_and_others_do_not,
    a_task_that_does_not_exist_says_nothing,
    a_database_without_transcripts_gets_them_and_loses_nothing,
);

fn message(number: u32, text: impl Into<String>) -> AgentEvent {
    AgentEvent::Message { number, text: text.into() }
}

pub(crate) fn saying(task: TaskId, speaker: u128, before: u64, events: Vec<AgentEvent>) -> Saying {
    let events = events.into_iter().map(|event| (at(7), event)).collect();
    Saying { task, run: 3, speaker, before, events }
}

async fn all(store: &Store, task: TaskId) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    loop {
        let cursor = said.last().map_or(0, |last| last.number);
        let more = store.transcript_after(task, cursor, 1_000).await.unwrap();
        if more.is_empty() {
            return said;
        }
        said.extend(more);
    }
}

fn events(said: &[Said]) -> Vec<AgentEvent> {
    said.iter().map(|said| said.event.clone()).collect()
}

fn is_gapless(said: &[Said]) -> bool {
    said.iter().zip(1..).all(|(said, number)| said.number == number)
}

/// The same database, with room for so many bytes.
async fn limited(home: &Home, transcript_limit: u64) -> Store {
    let options = OpenOptions { transcript_limit, ..PATIENT };
    store::open_with(&home.url, &home.place, options).await.unwrap()
}

async fn what_is_said_is_read_again_in_order_from_any_number(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let other = Life::begin(store, 2, 0).await.id;
    let words: Vec<AgentEvent> =
        (1..=600_u32).map(|number| message(number, number.to_string())).collect();
    // More than one transaction takes.
    let newest = store.append_transcript(saying(task, 1, 0, words.clone())).await.unwrap();
    assert_eq!(newest, 600);
    store.append_transcript(saying(other, 2, 0, vec![message(1, "not here")])).await.unwrap();
    let said = all(store, task).await;
    assert!(is_gapless(&said));
    assert_eq!(events(&said), words);
    assert!(said.iter().all(|it| it.run == 3 && it.attempt == 1 && it.at == at(7)));
    for cursor in [0, 1, 299, 598, 599, 600, 601] {
        let rest = store.transcript_after(task, cursor, 1_000).await.unwrap();
        assert_eq!(rest, said.get(usize::try_from(cursor).unwrap()..).unwrap_or_default());
    }
    assert_eq!(store.transcript_after(task, 10, 5).await.unwrap(), said[10..15]);
    assert_eq!(store.transcript_end(task, 5).await.unwrap(), said[595..]);
    assert_eq!(store.transcript_end(task, 0).await.unwrap(), []);
    assert_eq!(store.transcript_end(task, -1).await.unwrap(), []);
}

async fn what_one_run_said_is_read_alone(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let other = Life::begin(store, 2, 0).await.id;
    // A run that is repeated after another had begun, and the same run of another task.
    for (task, speaker, run, text) in
        [(task, 1, 3, "one"), (task, 2, 5, "two"), (task, 3, 3, "three"), (other, 4, 3, "four")]
    {
        let words = vec![message(1, text), message(2, text)];
        let saying = Saying { run, ..saying(task, speaker, 0, words) };
        store.append_transcript(saying).await.unwrap();
    }
    let said = all(store, task).await;
    let of = |run: u64| said.iter().filter(|it| it.run == run).cloned().collect::<Vec<_>>();
    assert_eq!(of(3).len(), 4);
    assert_eq!(store.run_after((task, 3), 0, 9).await.unwrap(), of(3));
    assert_eq!(store.run_after((task, 3), 1, 2).await.unwrap(), of(3)[1..3]);
    assert_eq!(store.run_end((task, 3), 3).await.unwrap(), of(3)[1..]);
    assert_eq!(store.run_end((task, 5), 9).await.unwrap(), of(5));
    assert_eq!(store.run_end((task, 4), 9).await.unwrap(), []);
}

async fn numbers_have_no_gaps_however_many_speak(home: Home) {
    let task = Life::begin(&home.store, 1, 0).await.id;
    let others = home.another().await;
    let speakers = (1..=8_u32).map(|speaker| {
        let store = if speaker % 2 == 0 { &home.store } else { &others };
        async move {
            for round in 0..10_u32 {
                let words = (0..3).map(|n| message(speaker, (round * 3 + n).to_string())).collect();
                let before = u64::from(round * 3);
                let saying = saying(task, u128::from(speaker), before, words);
                store.append_transcript(saying).await.unwrap();
            }
        }
    });
    join_all(speakers).await;
    let said = all(&home.store, task).await;
    assert_eq!(said.len(), 240);
    assert!(is_gapless(&said));
    for speaker in 1..=8_u32 {
        let own: Vec<String> = said
            .iter()
            .filter_map(|it| match &it.event {
                AgentEvent::Message { number, text } if *number == speaker => Some(text.clone()),
                _other => None,
            })
            .collect();
        assert_eq!(own, (0..30).map(|n| n.to_string()).collect::<Vec<_>>(), "each in its order");
    }
}

async fn a_reader_who_follows_while_it_is_written_misses_nothing(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let mut ear = store.subscribe_to_all();
    let write = async {
        for number in 0..60_u32 {
            let words = vec![message(number, "a"), message(number, "b")];
            let saying = saying(task, 1, u64::from(number * 2), words);
            store.append_transcript(saying).await.unwrap();
        }
    };
    let read = async {
        let mut seen: Vec<u64> = Vec::new();
        while seen.len() < 120 {
            let last = seen.last().copied().unwrap_or(0);
            let new = store.transcript_after(task, last, 7).await.unwrap();
            seen.extend(new.iter().map(|said| said.number));
            if new.is_empty() {
                next(&mut ear).await;
            }
        }
        seen
    };
    let ((), seen) = tokio::join!(write, read);
    assert_eq!(seen, (1..=120).collect::<Vec<u64>>());
}

async fn the_same_call_again_adds_nothing(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let words = |range: std::ops::Range<u32>| range.map(|n| message(n, "x")).collect::<Vec<_>>();
    let first = saying(task, 1, 0, words(0..300));
    let mut ear = store.subscribe_to_all();
    assert_eq!(store.append_transcript(first.clone()).await.unwrap(), 300);
    assert_eq!(store.append_transcript(first).await.unwrap(), 300, "an answer got lost");
    // Half of it is known, half is new.
    assert_eq!(store.append_transcript(saying(task, 1, 295, words(295..310))).await.unwrap(), 310);
    let mut heard = Vec::new();
    while heard.last() != Some(&310) {
        if let Heard::Transcript(growth) = next(&mut ear).await {
            heard.push(growth.number);
        }
    }
    assert_eq!(heard, [256, 300, 310], "nothing was told of what added nothing");
    let said = all(store, task).await;
    assert_eq!(events(&said), words(0..310));
    assert!(is_gapless(&said));
    // Several that repeat the same at once.
    let same = (0..6).map(|_| store.append_transcript(saying(task, 2, 0, words(0..5))));
    for outcome in join_all(same).await {
        assert_eq!(outcome.unwrap(), 315);
    }
    assert_eq!(all(store, task).await.len(), 315);
}

async fn words_that_were_skipped_are_refused(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let refused = store.append_transcript(saying(task, 1, 2, vec![message(1, "x")])).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(all(store, task).await, []);
    store.append_transcript(saying(task, 1, 0, vec![message(1, "x")])).await.unwrap();
    let refused = store.append_transcript(saying(task, 1, 2, vec![message(1, "y")])).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(all(store, task).await.len(), 1);
}

async fn an_attempt_that_is_repeated_comes_after_the_first(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let briefed = || AgentEvent::Briefed { part: 1, text: "fix it".to_owned() };
    let words = || vec![briefed(), message(1, "reading")];
    store.append_transcript(saying(task, 11, 0, words())).await.unwrap();
    store.append_transcript(saying(task, 12, 0, words())).await.unwrap();
    let said = all(store, task).await;
    let attempts: Vec<(u64, u64)> = said.iter().map(|it| (it.run, it.attempt)).collect();
    assert_eq!(attempts, [(3, 1), (3, 1), (3, 2), (3, 2)]);
    assert_eq!(events(&said), [words(), words()].concat());
}

async fn a_task_keeps_no_more_than_its_limit_and_says_so_once(home: Home) {
    let limit = 64 * 1024;
    let store = limited(&home, limit).await;
    let task = Life::begin(&store, 1, 0).await.id;
    let usage = || AgentEvent::Usage(Cost::ZERO);
    let question = || AgentEvent::Question { text: "which?".to_owned(), choices: Vec::new() };
    let finished = || AgentEvent::Finished { ending: Ending::Answered };
    let words: Vec<AgentEvent> = (0..40).map(|n| message(n, "x".repeat(4_000))).collect();
    store.append_transcript(saying(task, 1, 0, words)).await.unwrap();
    let more = vec![message(41, "short"), usage(), question(), message(42, "short"), finished()];
    store.append_transcript(saying(task, 1, 40, more)).await.unwrap();
    let second = vec![message(1, "again"), finished()];
    store.append_transcript(saying(task, 2, 0, second)).await.unwrap();
    let said = all(&store, task).await;
    assert!(is_gapless(&said));
    let told = events(&said);
    let messages = told.iter().filter(|it| matches!(it, AgentEvent::Message { .. })).count();
    assert_eq!(messages, 15, "15 × (4000 + a little) fit, 16 do not");
    let notes: Vec<&AgentEvent> =
        told.iter().filter(|it| matches!(it, AgentEvent::Trouble { .. })).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(format!("{:?}", notes[0]).contains("full (64 KiB)"), "{notes:?}");
    assert_eq!(told[16..], [usage(), question(), finished(), finished()]);
    // Questions have an end too; an ending is always kept.
    let large = || AgentEvent::Question { text: "?".repeat(LIMIT), choices: Vec::new() };
    let many: Vec<AgentEvent> = (0..1_100).map(|_| large()).chain([finished()]).collect();
    store.append_transcript(saying(task, 3, 0, many)).await.unwrap();
    let questions = all(&store, task).await.len() - 21;
    assert!((1_000..1_050).contains(&questions), "{questions} of 16 KiB are within 16 MiB");
    assert_eq!(store.transcript_end(task, 1).await.unwrap()[0].event, finished());
    // Another task has a limit of its own.
    let other = Life::begin(&store, 2, 0).await.id;
    store.append_transcript(saying(other, 4, 0, vec![message(1, "hello")])).await.unwrap();
    assert_eq!(events(&all(&store, other).await), [message(1, "hello")]);
}

async fn a_transcript_that_just_fits_says_nothing_of_a_limit(home: Home) {
    // A body of 24 bytes and what a row takes.
    let (one, body) = (24 + 128, "x");
    let store = limited(&home, 10 * one).await;
    let task = Life::begin(&store, 1, 0).await.id;
    let words: Vec<AgentEvent> = (0..10).map(|_| message(1, format!("{body}{body}"))).collect();
    store.append_transcript(saying(task, 1, 0, words.clone())).await.unwrap();
    assert_eq!(events(&all(&store, task).await), words);
    store.append_transcript(saying(task, 1, 10, vec![message(1, "xx")])).await.unwrap();
    let said = all(&store, task).await;
    assert_eq!(said.len(), 11);
    assert!(matches!(said[10].event, AgentEvent::Trouble { .. }), "{:?}", said[10]);
}

async fn many_small_words_have_a_limit_too(home: Home) {
    let store = limited(&home, 128 * 1024).await;
    let task = Life::begin(&store, 1, 0).await.id;
    let words: Vec<AgentEvent> = (0..5_000).map(|_| message(1, "")).collect();
    store.append_transcript(saying(task, 1, 0, words)).await.unwrap();
    let kept = home.count("transcript").await;
    assert!(kept < 1_024, "{kept} rows");
}

async fn what_is_too_long_is_shortened_whoever_sends_it(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let long = message(1, "å".repeat(5 * 1024 * 1024));
    store.append_transcript(saying(task, 1, 0, vec![long])).await.unwrap();
    let said = all(store, task).await;
    let AgentEvent::Message { text, .. } = &said[0].event else { panic!("{said:?}") };
    assert!(text.len() <= LIMIT, "{}", text.len());
    assert!(text.contains("bytes left out"));
}

async fn any_words_of_an_agent_can_be_kept(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let words = ["\0", "", "\u{1b}[2J", "'; DROP TABLE transcript; --", "\u{fffd}\u{202e}", "$1"];
    let words: Vec<AgentEvent> = words.into_iter().map(|text| message(1, text)).collect();
    store.append_transcript(saying(task, 1, 0, words.clone())).await.unwrap();
    assert_eq!(events(&all(store, task).await), words);
}

async fn a_shape_of_a_newer_lamp_is_an_error_that_says_so(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    store.append_transcript(saying(task, 1, 0, vec![message(1, "old")])).await.unwrap();
    let insert = format!(
        "INSERT INTO transcript (task, number, run, attempt, at, kind, version, body) \
         VALUES ('{task}', 2, 3, 1, 7, 'sang', 2, '{{}}')"
    );
    home.raw(&insert).await.unwrap();
    for read in [store.transcript_after(task, 0, 9).await, store.transcript_end(task, 1).await] {
        let error = read.unwrap_err();
        assert!(matches!(error, StoreError::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().contains("`sang` of version 2"), "{error}");
        assert!(error.to_string().contains("a newer one wrote it"), "{error}");
    }
    assert_eq!(store.transcript_after(task, 0, 1).await.unwrap().len(), 1, "the old can be read");
    assert_eq!(store.history(task).await.unwrap().seq(), 1, "and the task");
}

async fn nobody_changes_what_was_said_even_by_hand(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    store.append_transcript(saying(task, 1, 0, vec![message(1, "a")])).await.unwrap();
    let insert = |number: u32| {
        format!(
            "INSERT INTO transcript (task, number, run, attempt, at, kind, version, body) \
             VALUES ('{task}', {number}, 3, 1, 7, 'heard', 1, '{{\"text\":\"\"}}')"
        )
    };
    for sql in ["UPDATE transcript SET body = '{}'", &insert(1), &insert(3)] {
        assert!(home.raw(sql).await.is_err(), "{sql}");
    }
    assert_eq!(events(&all(store, task).await), [message(1, "a")]);
}

async fn numbers_go_on_after_old_words_were_removed(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    let words = || vec![message(1, "a"), message(1, "b")];
    store.append_transcript(saying(task, 1, 0, words())).await.unwrap();
    home.raw("DELETE FROM transcript").await.unwrap();
    assert_eq!(store.append_transcript(saying(task, 1, 2, words())).await.unwrap(), 4);
    let numbers: Vec<u64> = all(store, task).await.iter().map(|said| said.number).collect();
    assert_eq!(numbers, [3, 4], "a watcher's number means the same as before");
}

async fn the_briefing_is_that_of_the_newest_attempt(home: Home) {
    let store = &home.store;
    let task = Life::begin(store, 1, 0).await.id;
    assert_eq!(store.briefing(task).await.unwrap(), None);
    let briefed = |part, text: &str| AgentEvent::Briefed { part, text: text.to_owned() };
    store.append_transcript(saying(task, 1, 0, vec![briefed(1, "fix")])).await.unwrap();
    // The server died before the agent said anything; the same run is told the same again.
    let again = vec![briefed(1, "fix "), briefed(2, "it"), message(1, "hm"), briefed(1, "as JSON")];
    store.append_transcript(saying(task, 2, 0, again)).await.unwrap();
    let mut words = saying(task, 3, 0, vec![message(1, "a program without a briefing")]);
    words.run = 9;
    store.append_transcript(words).await.unwrap();
    let briefing = store.briefing(task).await.unwrap().unwrap();
    assert_eq!((briefing.run, briefing.attempt, briefing.at), (3, 2, at(7)));
    assert_eq!(briefing.texts, ["fix it", "as JSON"]);
}

async fn watchers_hear_that_a_transcript_grew_and_others_do_not(home: Home) {
    let other = home.another().await;
    let mut events_alone = home.store.subscribe();
    let mut here = home.store.subscribe_to_all();
    let mut elsewhere = other.subscribe_to_all();
    let mut life = Life::begin(&home.store, 1, 0).await;
    let words = vec![message(1, "a"), message(1, "b")];
    home.store.append_transcript(saying(life.id, 1, 0, words)).await.unwrap();
    let message = life.message("hello");
    life.add(&home.store, life.next(vec![message], 1)).await.unwrap();
    let change = |seq| Heard::Change(store::Change { task: life.id, seq });
    assert_eq!(next(&mut events_alone).await, change(1));
    assert_eq!(next(&mut events_alone).await, change(2), "not the words in between");
    let mut heard = vec![next(&mut here).await, next(&mut here).await, next(&mut here).await];
    let growth = Heard::Transcript(Growth { task: life.id, number: 2 });
    assert!(heard.contains(&growth), "{heard:?}");
    heard.retain(|it| *it != growth);
    assert_eq!(heard, [change(1), change(2)]);
    match home.kind {
        Kind::Postgres => while next(&mut elsewhere).await != growth {},
        // One server owns the file, so there is nobody to tell. But what it reads is the same.
        Kind::Sqlite => assert_eq!(all(&other, life.id).await.len(), 2),
    }
}

async fn a_task_that_does_not_exist_says_nothing(home: Home) {
    let refused = home.store.append_transcript(saying(id(1), 1, 0, vec![message(1, "?")])).await;
    assert!(matches!(refused, Err(StoreError::NoTask { .. })), "{refused:?}");
    for table in ["transcript", "transcripts", "transcript_speakers"] {
        assert_eq!(home.count(table).await, 0, "{table}");
    }
    assert_eq!(all(&home.store, id(1)).await, []);
}

async fn a_database_without_transcripts_gets_them_and_loses_nothing(home: Home) {
    let life = Life::begin(&home.store, 1, 0).await;
    home.store.close().await;
    let undo = [
        "DROP TABLE transcript",
        "DROP TABLE transcripts",
        "DROP TABLE transcript_speakers",
        "DELETE FROM _sqlx_migrations WHERE version >= 2",
    ];
    for sql in undo {
        home.raw(sql).await.unwrap();
    }
    if home.kind == Kind::Postgres {
        home.raw("DROP FUNCTION refuse_gap_in_transcript").await.unwrap();
    }
    let store = home.another().await;
    assert_eq!(store.history(life.id).await.unwrap().seq(), 1);
    assert_eq!(all(&store, life.id).await, []);
    store.append_transcript(saying(life.id, 1, 0, vec![message(1, "new")])).await.unwrap();
    assert_eq!(events(&all(&store, life.id).await), [message(1, "new")]);
}
