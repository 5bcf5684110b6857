//! Live streams: resumed at every cursor, cut again and again, and never read.

use std::{collections::BTreeSet, time::Duration};

use domain::{id::TaskId, time::Timestamp, transcript::AgentEvent};
use futures::StreamExt as _;
use store::Saying;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::TaskTracker;
use wire::{
    client::{Client, Endpoint},
    error::Code,
    task::stream::{Cursor, StreamItem},
};

use crate::task_fixture::{TaskFixture, code, soon};

/// Everything behind `cursor`, but heartbeats.
async fn all(client: &Client, task: &str, cursor: Cursor) -> Vec<StreamItem> {
    let mut stream = client.watch_task(task, cursor);
    let mut items = Vec::new();
    while let Some(item) = stream.next().await.unwrap() {
        if !matches!(item, StreamItem::Heartbeat { .. }) {
            items.push(item);
        }
    }
    items
}

#[tokio::test]
async fn a_stream_goes_on_behind_every_cursor() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let task = fixture.played("question-free; red 1; faults 1").await;
    let client = fixture.client();
    let whole = all(&client, &task, Cursor::default()).await;
    let (last, items) = whole.split_last().unwrap();
    assert!(matches!(last, StreamItem::End { state, .. } if state == "done"), "{last:?}");
    let cursors: BTreeSet<Cursor> = items.iter().map(StreamItem::cursor).collect();
    assert_eq!(cursors.len(), items.len(), "each has its own");
    let count = client.task(&task).await.unwrap().events;
    let events = items.iter().filter(|it| matches!(it, StreamItem::Event { .. })).count();
    assert_eq!(events as u64, count);
    assert!(items.len() > events + 5);
    for (index, item) in items.iter().enumerate() {
        let rest = all(&client, &task, item.cursor()).await;
        assert_eq!(rest, whole[index + 1..], "behind {}", item.cursor());
    }
    assert_eq!(all(&client, &task, last.cursor()).await, std::slice::from_ref(last));
}

#[tokio::test]
async fn a_header_resumes_as_browsers_do_and_a_socket_as_programs_do() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let task = fixture.played("fix it").await;
    let whole = all(&fixture.client(), &task, Cursor::default()).await;
    let middle = whole[whole.len() / 2].cursor();
    let behind = &whole[whole.len() / 2 + 1..];

    let request = format!(
        "GET /v1/tasks/{task}/stream?after=0.0 HTTP/1.1\r\nHost: localhost\r\n\
         Last-Event-ID: {middle}\r\nConnection: close\r\n\r\n"
    );
    let answer = fixture.raw(&request).await;
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let ids: Vec<String> = answer
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .map(|id| id.trim().to_owned())
        .collect();
    let expected: Vec<String> = behind.iter().map(|item| item.cursor().to_string()).collect();
    assert_eq!(ids, expected);

    let stream = UnixStream::connect(fixture.socket()).await.unwrap();
    let address = format!("ws://localhost/v1/tasks/{task}/stream?after={middle}");
    let (mut socket, _) = tokio_tungstenite::client_async(address, stream).await.unwrap();
    let mut heard = Vec::new();
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        heard.push(serde_json::from_str::<StreamItem>(&text).unwrap());
    }
    assert_eq!(heard, behind);
}

#[tokio::test]
async fn a_live_stream_that_is_cut_again_and_again_loses_and_repeats_nothing() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    // Everybody who connects here is cut off after some more bytes than the one before.
    let path = fixture.beside("cutting.sock");
    let (cutting, inner) = (UnixListener::bind(&path).unwrap(), fixture.socket());
    let callers = TaskTracker::new();
    let tracker = callers.clone();
    callers.spawn(async move {
        for number in 0_u64.. {
            let Ok((mut outer, _)) = cutting.accept().await else { return };
            let inner = inner.clone();
            tracker.spawn(async move {
                let inner = UnixStream::connect(inner).await.unwrap();
                let (read, mut write) = inner.into_split();
                let (mut asked, mut told) = outer.split();
                let mut cut = read.take(400 + 300 * number);
                tokio::select! {
                    _ = tokio::io::copy(&mut cut, &mut told) => {}
                    () = async {
                        drop(tokio::io::copy(&mut asked, &mut write).await);
                        std::future::pending::<()>().await;
                    } => {}
                }
            });
        }
    });
    let task = fixture.begin("fix it").await.id;
    let watched = async {
        let client = Client::new(Endpoint::Unix(path));
        all(&client, &task, Cursor::default()).await
    };
    let played = async {
        let hash = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
        let approve = wire::task::ask::Approve { plan: hash, ..Default::default() };
        fixture.client().approve(&task, &approve).await.unwrap();
        fixture.wait(&task, "pull request open").await;
        fixture.merge(&task).await;
    };
    let (watched, ()) = tokio::join!(watched, played);
    let whole = all(&fixture.client(), &task, Cursor::default()).await;
    let sorted = |items: &[StreamItem]| {
        let mut told: Vec<String> = items
            .iter()
            .map(|item| match item {
                StreamItem::Event { event, .. } => format!("event {}", event.number),
                StreamItem::Transcript { item, .. } => format!("said {}", item.number),
                StreamItem::Heartbeat { .. } | StreamItem::Failed { .. } => panic!("{item:?}"),
                StreamItem::End { state, .. } => format!("end {state}"),
            })
            .collect();
        told.sort();
        told
    };
    assert_eq!(sorted(&watched), sorted(&whole));
}

#[tokio::test]
async fn a_cursor_that_is_none_or_ahead_is_refused() {
    let fixture = TaskFixture::new().await;
    let task = fixture.begin("fix it").await.id;
    for after in ["1", "a.b", "1.2.3", "01.0", "-1.0", "9.0", "0.9"] {
        let request = format!(
            "GET /v1/tasks/{task}/stream?after={after} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        let answer = fixture.raw(&request).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{after}: {answer}");
    }
    let ahead = Cursor { events: 7, transcript: 0 };
    assert_eq!(code(fixture.client().watch_task(&task, ahead).next().await), Code::BadRequest);
}

/// What this process holds in memory, in bytes.
fn resident() -> u64 {
    let read = fs_err::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = read.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

/// Watchers who take nothing.
const READERS: usize = 60;

/// A task whose agent has said 16 MiB of words.
async fn talkative(fixture: &TaskFixture) -> String {
    let task = fixture.begin("fix it").await.id;
    let id: TaskId = task.parse().unwrap();
    for batch in 0..4 {
        let said = |_| {
            let event = AgentEvent::Message { number: 1, text: "x".repeat(16_000) };
            (Timestamp::from_millis(1), event)
        };
        let events = (0..256).map(said).collect();
        let saying = Saying { task: id, run: 1, speaker: 7, before: batch * 256, events };
        fixture.store().append_transcript(saying).await.unwrap();
    }
    task
}

/// Gives the server time to do for its watchers what it does, and looks what they cost.
async fn cost_little(before: u64) {
    for _ in 0..30 {
        soon().await;
    }
    let grown = resident().saturating_sub(before);
    let each = grown / READERS as u64;
    assert!(each < 4 << 20, "each holds {each} bytes, of 16 MiB that it could be told");
}

#[tokio::test]
async fn readers_who_never_read_cost_little_and_keep_nobody_waiting() {
    let fixture = TaskFixture::new().await;
    let task = talkative(&fixture).await;
    let before = resident();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut reader = UnixStream::connect(fixture.socket()).await.unwrap();
        let request = format!("GET /v1/tasks/{task}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
        reader.write_all(request.as_bytes()).await.unwrap();
        // It has begun to be told.
        let mut first = [0; 12];
        reader.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        readers.push(reader);
    }
    cost_little(before).await;
    // Others are served meanwhile, and one who begins to read misses nothing.
    assert_eq!(fixture.client().task(&task).await.unwrap().id, task);
    let reader = readers.pop().unwrap();
    let mut told = Vec::new();
    let reading = tokio::io::AsyncReadExt::take(reader, 18 << 20);
    let mut reading = tokio::io::BufReader::new(reading);
    let enough = b"\"number\":1024,";
    while !told.windows(enough.len()).any(|window| window == enough) {
        told.drain(..told.len().saturating_sub(64));
        let read = tokio::time::timeout(Duration::from_secs(30), reading.read_buf(&mut told));
        assert_ne!(read.await.unwrap().unwrap(), 0);
    }
}

#[tokio::test]
async fn sockets_that_are_never_read_cost_little_and_keep_nobody_waiting() {
    let fixture = TaskFixture::new().await;
    let task = talkative(&fixture).await;
    let before = resident();
    let mut sockets = Vec::new();
    for _ in 0..READERS {
        let stream = UnixStream::connect(fixture.socket()).await.unwrap();
        let address = format!("ws://localhost/v1/tasks/{task}/stream");
        // The handshake is all that is read.
        let (socket, _) = tokio_tungstenite::client_async(address, stream).await.unwrap();
        sockets.push(socket);
    }
    cost_little(before).await;
    assert_eq!(fixture.client().task(&task).await.unwrap().id, task);
    // One who begins to read misses nothing.
    let mut socket = sockets.pop().unwrap();
    let mut numbers = Vec::new();
    while numbers.last() != Some(&1024) {
        let heard = tokio::time::timeout(Duration::from_secs(30), socket.next()).await.unwrap();
        let Message::Text(text) = heard.unwrap().unwrap() else { continue };
        if let StreamItem::Transcript { item, .. } = serde_json::from_str(&text).unwrap() {
            numbers.push(item.number);
        }
    }
    assert_eq!(numbers, (1..=1024).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_watcher_of_a_silent_task_is_told_that_somebody_is_there() {
    let fixture = TaskFixture::new().await;
    let task = fixture.begin("fix it").await.id;
    let mut stream = fixture.client().watch_task(&task, Cursor::default());
    let first = stream.next().await.unwrap().unwrap();
    assert!(matches!(first, StreamItem::Event { .. }), "{first:?}");
    let silence = stream.next().await.unwrap().unwrap();
    assert_eq!(silence, StreamItem::Heartbeat { cursor: first.cursor() });
}

#[tokio::test]
async fn a_watcher_goes_on_when_the_server_runs_again() {
    let fixture = TaskFixture::new().await;
    let task = fixture.begin("fix it").await.id;
    let client = fixture.client();
    let mut stream = client.watch_task(&task, Cursor::default());
    assert!(stream.next().await.unwrap().is_some());
    let (next, _again) = tokio::join!(stream.next(), async {
        let again = fixture.restarted().await;
        again.client().cancel_task(&task).await.unwrap();
        again
    });
    let next = next.unwrap().unwrap();
    assert!(matches!(next, StreamItem::Event { .. }), "{next:?}");
    assert_eq!(next.cursor(), Cursor { events: 2, transcript: 0 });
}

#[tokio::test]
async fn too_many_watchers_are_told_so() {
    let fixture = TaskFixture::new().await;
    let task = fixture.begin("fix it").await.id;
    let mut readers = Vec::new();
    for _ in 0..256 {
        let mut reader = UnixStream::connect(fixture.socket()).await.unwrap();
        let request = format!("GET /v1/tasks/{task}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
        reader.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        reader.read_exact(&mut first).await.unwrap();
        readers.push(reader);
    }
    assert_eq!(
        code(fixture.client().watch_task(&task, Cursor::default()).next().await),
        Code::Busy
    );
    readers.clear();
    let mut is_let_in = false;
    for _ in 0..500 {
        let mut stream = fixture.client().watch_task(&task, Cursor::default());
        is_let_in = stream.next().await.is_ok();
        if is_let_in {
            break;
        }
        soon().await;
    }
    assert!(is_let_in, "those who left are still counted");
}
