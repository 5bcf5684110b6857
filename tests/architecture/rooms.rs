//! The rooms table of ARCHITECTURE.md against the dependency graph.
//!
//! A new edge is a decision: change the table in the same commit, and say why in `docs/decisions/`.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::{
    table,
    tree::{assert_none, cargo, read, root},
};

const HEADING: &[&str] = &["room", "its one sentence", "may use", "state"];

/// Which rooms may build on an outside crate that stands for an invariant; the others may not.
const RESERVED: &[(&str, &[&str])] = &[
    // Only `store` knows SQL.
    ("sqlx", &["store"]),
    // Only the door and the client half know our JSON.
    ("wire", &["gateway", "lamp", "demo", "terminal", "testkit"]),
    // What a person starts reports with `anyhow`; other rooms have typed errors. `testkit` is no shipped code.
    ("anyhow", &["lamp", "server", "doctor", "demo", "terminal", "testkit"]),
];

/// What would bring IO, async, a clock, randomness or a stored shape into `domain`.
const NOT_IN_DOMAIN: &[&str] = &[
    "fs-err",
    "futures",
    "getrandom",
    "jiff",
    "rand",
    "rustix",
    "serde",
    "serde_json",
    "sqlx",
    "tempfile",
    "tokio",
    "tokio-util",
    "tracing",
];

/// The rooms of whoever types something, and what they reach only through the API of a server. `lamp` starts one with `server`, which
/// alone joins these.
const TYPED: &[&str] = &["lamp", "demo", "doctor", "terminal"];
const BEHIND_THE_API: &[&str] = &[
    "agents", "engine", "forges", "gateway", "git", "guest", "images", "launcher", "sandbox",
    "secrets",
];

/// One row of the table.
struct Room {
    sentence: String,
    may_use: Vec<String>,
    is_here: bool,
}

/// One package of the workspace.
struct Package {
    name: String,
    description: String,
    is_room: bool,
    /// Normal and build dependencies; what tests alone use is no edge.
    uses: Vec<String>,
}

#[test]
fn every_crate_has_a_row_and_every_row_that_is_here_has_a_crate() {
    let (rooms, packages) = (rooms(), packages());
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|package| package.is_room) {
        match rooms.get(&package.name) {
            None => wrong.push(format!("`{}` has no row", package.name)),
            Some(room) if !room.is_here => {
                wrong.push(format!("`{}` exists, but its row says planned", package.name));
            }
            Some(_) => {}
        }
    }
    for (name, _) in rooms.iter().filter(|(_, room)| room.is_here) {
        if !packages.iter().any(|package| package.is_room && package.name == *name) {
            wrong.push(format!("`{name}` is said to be here, but crates/{name} does not exist"));
        }
    }
    assert_none("make crates/ and the rooms table in ARCHITECTURE.md agree", &wrong);
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let (rooms, packages) = (rooms(), packages());
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|package| package.is_room) {
        let may_use = rooms.get(&package.name).map(|room| room.may_use.as_slice());
        for used in &package.uses {
            let is_ours = packages.iter().any(|package| package.name == *used);
            if is_ours && !may_use.unwrap_or_default().contains(used) {
                wrong.push(format!("`{}` may not use `{used}`", package.name));
            }
        }
    }
    assert_none("an edge that ARCHITECTURE.md does not list is a decision", &wrong);
}

#[test]
fn the_drawing_has_every_room_once_and_arrows_that_point_down() {
    let (rooms, lines) = (rooms(), drawing());
    let height = |room: &str| lines.iter().position(|line| line.iter().any(|drawn| drawn == room));
    let mut wrong = Vec::new();
    for (name, room) in rooms.iter().filter(|(name, _)| *name != "testkit") {
        let drawn = lines.iter().flatten().filter(|drawn| *drawn == name).count();
        if drawn != 1 {
            wrong.push(format!("`{name}` is drawn {drawn} times"));
        }
        for used in room.may_use.iter().filter(|used| height(used) <= height(name)) {
            wrong.push(format!("`{name}` uses `{used}`, which is not drawn below it"));
        }
    }
    for drawn in lines.iter().flatten().filter(|drawn| !rooms.contains_key(*drawn)) {
        wrong.push(format!("`{drawn}` is drawn, and has no row"));
    }
    assert_none("make the drawing of rooms in ARCHITECTURE.md agree with their table", &wrong);
}

#[test]
fn the_table_names_only_rooms() {
    let rooms = rooms();
    let wrong: Vec<String> = rooms
        .iter()
        .flat_map(|(name, room)| room.may_use.iter().map(move |used| (name, used)))
        .filter(|(_, used)| !rooms.contains_key(*used))
        .map(|(name, used)| format!("`{name}` may use `{used}`, which has no row"))
        .collect();
    assert_none("correct the rooms table in ARCHITECTURE.md", &wrong);
}

#[test]
fn a_crate_describes_itself_with_the_sentence_of_its_row() {
    let rooms = rooms();
    let wrong: Vec<String> = packages()
        .iter()
        .filter_map(|package| Some((package, rooms.get(&package.name)?)))
        .filter(|(package, room)| !room.sentence.starts_with(&package.description))
        .map(|(package, room)| {
            format!("{}: «{}» against «{}»", package.name, package.description, room.sentence)
        })
        .collect();
    assert_none("the row starts with the description in the crate's Cargo.toml", &wrong);
}

#[test]
fn crates_that_stand_for_an_invariant_stay_in_their_room() {
    let packages = packages();
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|package| package.is_room) {
        let room = package.name.as_str();
        for used in &package.uses {
            let reserved =
                RESERVED.iter().any(|(name, rooms)| name == used && !rooms.contains(&room));
            let impure = room == "domain" && NOT_IN_DOMAIN.contains(&used.as_str());
            if reserved || impure {
                wrong.push(format!("`{room}` depends on {used}"));
            }
        }
    }
    assert_none("an invariant in ARCHITECTURE.md keeps this crate out", &wrong);
}

#[test]
fn a_command_reaches_engine_sandboxes_and_secrets_only_through_the_api() {
    let packages = packages();
    let typed = packages.iter().filter(|package| TYPED.contains(&package.name.as_str()));
    let wrong: Vec<String> = typed
        .flat_map(|package| package.uses.iter().map(move |used| (package, used)))
        .filter(|(_, used)| BEHIND_THE_API.contains(&used.as_str()))
        .map(|(package, used)| format!("`{}` depends on `{used}`", package.name))
        .collect();
    assert_none("ask a server for it, by `wire`", &wrong);
}

/// `lamp-proxy` reads what attackers write. What it is linked from is all that somebody finds who takes it over.
#[test]
fn the_proxy_is_linked_from_nothing_worth_stealing() {
    let ours: Vec<String> = packages().into_iter().map(|package| package.name).collect();
    let lines = cargo(&[
        "tree",
        "--package=proxy",
        "--edges=normal,build",
        "--prefix=none",
        "--no-dedupe",
        "--format={p}",
    ]);
    let linked = || lines.lines().filter_map(|line| line.split(' ').next());
    assert!(linked().any(|name| name == "rustls"), "cargo tree was not understood: {lines}");
    let wrong: Vec<String> = linked()
        .filter(|name| ours.iter().any(|room| room == name) || name.starts_with("sqlx"))
        .filter(|name| !["proxy", "domain"].contains(name))
        .map(str::to_owned)
        .collect();
    assert_none("the proxy knows no rule and no secret: it may use `domain` alone", &wrong);
}

/// The table, by room. `all` stands for every other room that is shipped.
fn rooms() -> BTreeMap<String, Room> {
    let rows = table::rows(&read("ARCHITECTURE.md"), HEADING);
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table with the columns {HEADING:?}");
    let name_of = |row: &Vec<String>| row[0].trim_matches('*').to_owned();
    let shipped: Vec<String> = rows.iter().map(name_of).filter(|name| name != "testkit").collect();
    let listed = |room: &str, cell: &str| match cell {
        "-" => Vec::new(),
        "all" => shipped.iter().filter(|name| *name != room).cloned().collect(),
        list => list.split(',').map(|used| used.trim().to_owned()).collect(),
    };
    rows.iter()
        .map(|row| {
            let [_, sentence, may_use, state] = row.as_slice() else {
                panic!("a row of the rooms table has {} cells: {row:?}", row.len());
            };
            let is_here = match state.as_str() {
                "here" => true,
                "planned" => false,
                other => panic!("a room is `here` or `planned`, not `{other}`"),
            };
            let name = name_of(row);
            let may_use = listed(&name, may_use);
            (name, Room { sentence: sentence.clone(), may_use, is_here })
        })
        .collect()
}

/// The rooms that stand on each line of the drawing, from the top. The first word of a line is what the line is called.
fn drawing() -> Vec<Vec<String>> {
    let text = read("ARCHITECTURE.md");
    let drawn = text.split("```text\n").find(|block| block.starts_with(" program "));
    let drawn = drawn.and_then(|block| block.split("```").next());
    let drawn = drawn.expect("ARCHITECTURE.md has no drawing whose first line is `program`");
    drawn.lines().map(|line| line.split_whitespace().skip(1).map(str::to_owned).collect()).collect()
}

fn packages() -> Vec<Package> {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let uses = package["dependencies"].as_array().expect("dependencies");
            Package {
                name: text(&package["name"]),
                description: text(&package["description"]),
                is_room: Path::new(&text(&package["manifest_path"]))
                    .starts_with(root().join("crates")),
                uses: uses
                    .iter()
                    .filter(|used| used["kind"] != "dev")
                    .map(|used| text(&used["name"]))
                    .collect(),
            }
        })
        .collect()
}
