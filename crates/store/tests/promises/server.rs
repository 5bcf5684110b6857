//! PostgreSQL that goes away, comes back, or does not answer.

use std::{path::Path, time::Duration};

use domain::{id::TaskId, transcript::AgentEvent};
use futures::future::join_all;
use sqlx::{Connection as _, Executor as _, PgConnection};
use store::{Change, DataDirectory, Growth, Heard, OpenError, OpenOptions, Store, StoreError};
use testkit::postgres::Postgres;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
};

use crate::{
    changes::next,
    home::Home,
    life::{Life, ROOM, at, beginning, id, request, requested},
    transcript::saying,
};

fn new_task(number: u128) -> store::Append {
    beginning(id(number), requested(request("acme/web", 1)), 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_loses_nothing_that_was_acknowledged() {
    let mut server = Postgres::start().unwrap();
    let home = Home::postgres(&server, "crash").await;
    let store = home.impatient().await;
    let mut ear = store.subscribe();
    let (crashed, crash) = watch::channel(false);
    let writing = join_all((0..4u128).map(|writer| {
        let (store, crash) = (&store, crash.clone());
        async move {
            let mut acknowledged: Vec<TaskId> = Vec::new();
            for number in 0.. {
                let append = new_task(writer * 1_000_000 + number);
                match store.append(append).await {
                    Ok(_) => acknowledged.push(id(writer * 1_000_000 + number)),
                    Err(error) => {
                        assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
                        assert!(error.is_passing());
                    }
                }
                if *crash.borrow() {
                    break;
                }
            }
            acknowledged
        }
    }));
    let crashing = async {
        for _ in 0..40 {
            next(&mut ear).await;
        }
        tokio::task::block_in_place(|| server.crash_and_restart()).unwrap();
        crashed.send_replace(true);
    };
    let (acknowledged, ()) = tokio::join!(writing, crashing);
    let acknowledged: Vec<TaskId> = acknowledged.into_iter().flatten().collect();
    assert!(acknowledged.len() >= 40);
    for task in &acknowledged {
        assert_eq!(store.history(*task).await.unwrap().seq(), 1, "{task}");
        assert!(store.task(*task).await.unwrap().is_some(), "{task}");
    }
    store.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_down_calls_say_so_and_then_all_goes_on() {
    let server = Postgres::start().unwrap();
    let home = Home::postgres(&server, "down").await;
    let store = home.impatient().await;
    let mut ear = store.subscribe();
    let mut watcher = store.subscribe_to_all();
    Life::begin(&store, 1, 0).await;
    assert_eq!(next(&mut ear).await, Heard::Change(Change { task: id(1), seq: 1 }));
    let door = directory_of(&server).join(SOCKET);
    let shut = door.with_extension("shut");
    let mut inside = PgConnection::connect(&home.url).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a socket")]
    fs_err::rename(&door, &shut).unwrap();
    inside.execute(TURN_OUT).await.unwrap();
    let unreachable = |error: &StoreError| matches!(error, StoreError::Unreachable(_));
    assert!(unreachable(&store.append(new_task(2)).await.unwrap_err()));
    assert!(unreachable(&store.history(id(1)).await.unwrap_err()));
    assert!(unreachable(&store.claim("d", at(1), at(2), 1).await.unwrap_err()));
    assert!(unreachable(&store.give_places(ROOM, at(1)).await.unwrap_err()));
    let opening = store::open_with(&home.url, &home.place, SHORT).await.unwrap_err();
    assert!(matches!(&opening, OpenError::Store(error) if unreachable(error)), "{opening:?}");
    #[expect(clippy::disallowed_methods, reason = "a socket")]
    fs_err::rename(&shut, &door).unwrap();
    // Without opening it again, and the reader knows that it heard nothing for a while.
    Life::begin(&store, 3, 0).await;
    assert_eq!(next(&mut ear).await, Heard::Missed);
    let last = Life::begin(&store, 4, 0).await;
    while next(&mut ear).await != Heard::Change(Change { task: last.id, seq: 1 }) {}
    // So does one who watches an agent, and reads on from the number that it had.
    while next(&mut watcher).await != Heard::Missed {}
    let word = |text: &str| AgentEvent::Message { number: 1, text: text.to_owned() };
    let words = saying(id(1), 1, 0, vec![word("a"), word("b")]);
    store.append_transcript(words).await.unwrap();
    while next(&mut watcher).await != Heard::Transcript(Growth { task: id(1), number: 2 }) {}
    let rest = store.transcript_after(id(1), 1, 9).await.unwrap();
    assert_eq!(rest.into_iter().map(|said| said.event).collect::<Vec<_>>(), [word("b")]);
}

/// The name that PostgreSQL gives to its door.
const SOCKET: &str = ".s.PGSQL.5432";
const TURN_OUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
const SHORT: OpenOptions =
    OpenOptions { patience: Duration::from_millis(200), ..OpenOptions::DEFAULT };

/// A network between the store and its server that can be cut without a word.
struct Wire {
    cut: watch::Sender<bool>,
    _relays: JoinSet<()>,
}

impl Wire {
    /// Listens in `here` and passes everything to the server in `there`.
    fn new(here: &Path, there: &Path) -> Self {
        let listener = UnixListener::bind(here.join(SOCKET)).unwrap();
        let there = there.join(SOCKET);
        let (cut, is_cut) = watch::channel(false);
        let mut relays = JoinSet::new();
        relays.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (there, mut is_cut) = (there.clone(), is_cut.clone());
                open.spawn(async move {
                    drop(is_cut.wait_for(|cut| !cut).await);
                    let mut far = UnixStream::connect(there).await.unwrap();
                    let cut = async { drop(is_cut.wait_for(|cut| *cut).await) };
                    tokio::select! {
                        _ended = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
                        () = cut => {}
                    }
                    // Neither end hears of it: both stay open, and nothing passes any more.
                    std::future::pending::<()>().await;
                });
            }
        });
        Self { cut, _relays: relays }
    }
}

fn directory_of(server: &Postgres) -> std::path::PathBuf {
    let url = server.url();
    let (_, host) = url.split_once("host=").unwrap();
    host.split('&').next().unwrap().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_cut_off_notices_and_holds_up_nobody() {
    let server = Postgres::start().unwrap();
    let home = Home::postgres(&server, "cut").await;
    let here = tempfile::tempdir().unwrap();
    let there = directory_of(&server);
    let wire = Wire::new(here.path(), &there);
    let url = home.url.replace(there.to_str().unwrap(), here.path().to_str().unwrap());
    let store: Store = store::open_with(&url, &home.place, SHORT).await.unwrap();
    Life::begin(&store, 1, 0).await;
    let lease = store.claim("cut off", at(0), at(10), 9).await.unwrap().remove(0);
    wire.cut.send_replace(true);
    let renewal =
        tokio::time::timeout(Duration::from_secs(10), store.renew(vec![lease.clone()], at(20)));
    let renewal = renewal.await.expect("it must not wait for ever");
    assert!(matches!(renewal, Err(StoreError::Unreachable(_))), "{renewal:?}");
    // Another server takes over as soon as the lease has run out.
    let taken = home.store.claim("other", at(10), at(20), 9).await.unwrap();
    assert_eq!((taken[0].step, taken[0].attempt), (lease.step, 2));
    wire.cut.send_replace(false);
    let back = loop {
        match store.renew(vec![lease.clone()], at(30)).await {
            Ok(renewal) => break renewal,
            Err(error) => assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}"),
        }
    };
    assert_eq!(back, [store::Renewal::Lost]);
}

#[tokio::test]
async fn a_server_that_never_answers_is_unreachable() {
    let here = tempfile::tempdir().unwrap();
    let _silent = UnixListener::bind(here.path().join(SOCKET)).unwrap();
    let place = DataDirectory::new(here.path().join("data"));
    let url = format!("postgres:///lamp?host={}&user=lamp", here.path().display());
    let opening = store::open_with(&url, &place, SHORT);
    let error = tokio::time::timeout(Duration::from_secs(10), opening).await.unwrap().unwrap_err();
    assert!(matches!(error, OpenError::Store(StoreError::Unreachable(_))), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_together_make_the_tables_once() {
    let server = Postgres::start().unwrap();
    let url = server.new_database("together").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path());
    let stores = join_all((0..4).map(|_| store::open(&url, &place))).await;
    for (store, number) in stores.into_iter().zip(1..) {
        Life::begin(&store.unwrap(), number, 0).await;
    }
}
