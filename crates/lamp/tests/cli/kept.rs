//! `lamp audit`, `lamp backup` and `lamp restore`, on what a server has kept.

use domain::{id::TaskId, limits::Limits, task::Event, time::Timestamp};
use store::{Append, DataDirectory};

use crate::world::{Ended, World};

/// A world in which three people have asked for something; the ids do not change.
fn with_tasks() -> World {
    let world = World::new();
    run(async {
        let place = DataDirectory::new(world.path().join("data"));
        let store = store::open(&place.sqlite_url(), &place).await.unwrap();
        for number in 1..=3 {
            let request = testkit::request("acme/web", "fix it").unwrap();
            let append = Append {
                task: TaskId::from_u128(number),
                seq: 0,
                before: None,
                events: vec![Event::Requested { request, limits: Limits::default() }],
                at: Timestamp::from_millis(1_700_000_000_000),
                settles: None,
            };
            store.append(append).await.unwrap();
        }
        store.blobs().put(b"evidence").unwrap();
        store.close().await;
    });
    world
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Changes the log behind the store's back, as someone with the file could.
fn tamper(world: &World) {
    let script = "import sqlite3; c = sqlite3.connect('data/lamp.db'); \
        c.execute('DROP TRIGGER audit_is_never_changed'); \
        c.execute(\"UPDATE audit SET actor = 'nobody' WHERE position = 2\"); c.commit()";
    let status = std::process::Command::new("python3")
        .args(["-c", script])
        .current_dir(world.path())
        .status()
        .unwrap();
    assert!(status.success());
}

fn head(ended: &Ended) -> String {
    ended.out().lines().find_map(|line| line.strip_prefix("head: ")).unwrap().to_owned()
}

#[test]
fn a_whole_log_is_verified_and_its_head_is_printed() {
    let world = with_tasks();
    let ended = world.lamp("audit verify --data data");
    insta::assert_snapshot!(ended.story().replace(&head(&ended), "[hash]"));
    let again = world.lamp(&format!("audit verify --data data --head {}", head(&ended)));
    assert_eq!(again.code(), Some(0), "{}", again.story());
    let json: serde_json::Value =
        serde_json::from_str(&world.lamp("audit verify --data data --json").out()).unwrap();
    assert_eq!(json["whole"], true);
    assert_eq!(json["rows"], 3);
}

#[test]
fn a_changed_row_is_found() {
    let world = with_tasks();
    tamper(&world);
    insta::assert_snapshot!(world.lamp("audit verify --data data").story());
    insta::assert_snapshot!(world.lamp("audit verify --data data --json").story());
}

#[test]
fn a_log_that_was_written_anew_does_not_contain_the_old_head() {
    let world = with_tasks();
    let other = "ab".repeat(32);
    let ended = world.lamp(&format!("audit verify --data data --head {other}"));
    assert_eq!(ended.code(), Some(1));
    assert!(ended.out().contains("does not contain the hash abab"), "{}", ended.story());
    assert_eq!(world.lamp("audit verify --data data --head 12").code(), Some(2));
}

#[test]
fn every_row_is_exported_as_a_line_of_json() {
    let world = with_tasks();
    let out = world.lamp("audit export --data data").out();
    let rows: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["action"], "requested");
    assert_eq!(rows[1]["previous"], rows[0]["hash"]);
}

#[test]
fn a_place_where_nothing_is_kept_is_named_and_stays_as_it_was() {
    let world = World::new();
    insta::assert_snapshot!(world.lamp("audit verify --data nowhere").story());
    assert!(!world.path().join("nowhere").exists());
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let world = World::new();
    world.write("data/lamp.db", "this is not a database, but it is long enough to be read as one");
    let ended = world.lamp("audit verify --data data");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err().starts_with("error: cannot open the database"), "{}", ended.story());
}

#[test]
fn a_backup_comes_back_whole() {
    let world = with_tasks();
    insta::assert_snapshot!(world.lamp("backup copy --data data").story());
    insta::assert_snapshot!(world.lamp("restore copy --data new").story());
    let (old, new) =
        (world.lamp("audit verify --data data"), world.lamp("audit verify --data new"));
    assert_eq!(head(&old), head(&new));
    let blobs = DataDirectory::new(world.path().join("new"));
    run(async {
        let store = store::open(&blobs.sqlite_url(), &blobs).await.unwrap();
        let digest = domain::digest::Digest::of(b"evidence");
        assert_eq!(store.blobs().get(digest).unwrap(), b"evidence");
        store.close().await;
    });
}

#[test]
fn a_backup_overwrites_nothing() {
    let world = with_tasks();
    world.write("copy/precious", "mine");
    insta::assert_snapshot!(world.lamp("backup copy --data data").story());
    assert_eq!(world.lamp("backup good --data data").code(), Some(0));
    insta::assert_snapshot!(world.lamp("restore good --data data").story());
    insta::assert_snapshot!(world.lamp("restore copy --data new").story());
}
