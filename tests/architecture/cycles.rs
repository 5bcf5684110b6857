//! No two modules need each other.
//!
//! In every shipped room, the modules that stand beside each other (those of the root, and those of each directory) are a graph: one points
//! to another if something in it, however deep, names something in the other, however deep. That graph has no cycle, so that each can be
//! read, tested and moved without those that are built on it.
//!
//! A module and what is inside of it are one thing, and not two that could need each other: a parent lists its children and calls
//! them, and children use what the parent's own file defines. That is what `super::` is for, and Rust's own rule of who sees what. What a
//! parent only lists (`pub use self::plan::Plan`) is not its own: whoever names it names where it comes from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    modules::{Module, Place, modules, named},
    tree::{assert_none, files_with},
};

/// An arrow, with a path that makes it one.
type Arrows = BTreeMap<(String, String), String>;

#[test]
fn no_two_modules_of_a_room_need_each_other() {
    let mut rooms: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files_with("rs") {
        let Some((room, path)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        // Nobody ships it.
        if room == "testkit" {
            continue;
        }
        rooms.entry(room.to_owned()).or_default().push((path.to_owned(), file.text));
    }
    let mut wrong = Vec::new();
    for (room, files) in &rooms {
        let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        for (parent, cycle) in cycles(&modules(files)) {
            wrong.push(format!("{room}, {}: {cycle}", in_words(&parent)));
        }
    }
    assert_none("move what both need to where neither needs the other", &wrong);
}

fn in_words(parent: &str) -> &str {
    if parent.is_empty() { "modules of the root" } else { parent }
}

/// One cycle in each knot of modules that need each other, with the parent that they have in common.
fn cycles(modules: &BTreeMap<Place, Module>) -> Vec<(String, String)> {
    let mut graphs: BTreeMap<Place, Arrows> = BTreeMap::new();
    for from in modules.keys() {
        for (to, path) in named(modules, from) {
            let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            let (Some(one), Some(other)) = (from.get(common), to.get(common)) else { continue };
            let why = format!("{} says `{}`", from.join("::"), path.join("::"));
            let arrows = graphs.entry(from[..common].to_vec()).or_default();
            arrows.entry((one.clone(), other.clone())).or_insert(why);
        }
    }
    let told = graphs.iter().flat_map(|(parent, arrows)| {
        knots(arrows).into_iter().map(|knot| (parent.join("::"), tell(&knot, arrows)))
    });
    told.collect()
}

/// Modules that all need each other, by whatever way, and one short way round.
struct Knot {
    cycle: Vec<String>,
    modules: BTreeSet<String>,
}

/// Each knot, with the shortest cycle through its first module.
fn knots(arrows: &Arrows) -> Vec<Knot> {
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut cycles = Vec::new();
    let names: BTreeSet<&String> = arrows.keys().map(|(from, _)| from).collect();
    for name in names {
        if told.contains(name) {
            continue;
        }
        if let Some(cycle) = shortest(name, arrows) {
            // Whoever reaches this one and is reached by it is in the same knot.
            let ahead = reached(name, arrows, |(from, to)| (from, to));
            let behind = reached(name, arrows, |(from, to)| (to, from));
            let knot: BTreeSet<String> = ahead.intersection(&behind).cloned().collect();
            told.extend(knot.iter().cloned());
            cycles.push(Knot { cycle, modules: knot });
        }
    }
    cycles
}

fn shortest(start: &str, arrows: &Arrows) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        for (_, to) in arrows.keys().filter(|(from, _)| from == last) {
            let longer: Vec<String> = way.iter().cloned().chain([to.clone()]).collect();
            if to == start {
                return Some(longer);
            }
            if seen.insert(to.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

fn reached(
    start: &str,
    arrows: &Arrows,
    turned: fn(&(String, String)) -> (&String, &String),
) -> BTreeSet<String> {
    let mut reached = BTreeSet::from([start.to_owned()]);
    loop {
        let next = arrows.keys().map(turned).filter(|(from, _)| reached.contains(*from));
        let more: BTreeSet<String> = next.map(|(_, to)| to.clone()).collect();
        if more.is_subset(&reached) {
            return reached;
        }
        reached.extend(more);
    }
}

fn tell(Knot { cycle, modules }: &Knot, arrows: &Arrows) -> String {
    let why = cycle.windows(2).filter_map(|pair| arrows.get(&(pair[0].clone(), pair[1].clone())));
    let mut told = vec![cycle.join(" ─▶ ")];
    told.extend(why.cloned());
    if modules.len() >= cycle.len() {
        let all: Vec<&str> = modules.iter().map(String::as_str).collect();
        told.push(format!("all of these need each other: {}", all.join(", ")));
    }
    told.join("\n      ")
}

/// The six that the tree had when this test was written, each as it stood in the code, and what is none.
#[test]
fn a_cycle_is_seen_however_it_is_written() {
    let found = |files: &[(&str, &str)]| -> Vec<String> {
        let told = cycles(&modules(files.iter().copied())).into_iter();
        told.map(|(parent, cycle)| {
            format!("{parent}: {}", cycle.lines().next().unwrap_or_default())
        })
        .collect()
    };
    // Through a list of names, and in a group.
    let files = [
        ("kept.rs", "use crate::{\n    household::{Staff, models},\n    report::Hint,\n};"),
        ("household/mod.rs", "mod agents;\npub(crate) use self::agents::Staff;"),
        ("household/agents.rs", "pub(crate) struct Staff;"),
        ("household/order.rs", "use crate::kept::Said;"),
    ];
    assert_eq!(found(&files), [": household ─▶ kept ─▶ household"]);
    // In the middle of code, and as a value.
    let files = [
        ("report.rs", "fn f() { crate::timeline::words::line(); }"),
        ("timeline/mod.rs", "pub(crate) mod words;\nmod watch;"),
        ("timeline/words.rs", ""),
        ("timeline/watch.rs", "fn f() -> crate::report::Hint { todo() }"),
    ];
    assert_eq!(found(&files), [": report ─▶ timeline ─▶ report"]);
    // By a name that an earlier line brought in.
    let files = [
        ("remote.rs", "use crate::session;\nfn f() { session::clean(\"crate::x\"); }"),
        ("session.rs", "use super::remote::Explained as _;"),
    ];
    assert_eq!(found(&files), [": remote ─▶ session ─▶ remote"]);
    // Over three, and beside each other further down.
    let files = [
        ("networks.rs", "use crate::reload::Reloader;"),
        ("reload.rs", "use crate::gatekeeper;"),
        ("commands/mod.rs", ""),
        ("commands/task/mod.rs", "mod revert;\npub(crate) struct World;"),
        ("gatekeeper/mod.rs", "use crate::networks::Layers;"),
        ("commands/pr/mod.rs", "use crate::commands::task::World;"),
        ("commands/task/revert.rs", "use super::super::pr::state;"),
    ];
    assert_eq!(
        found(&files),
        [": gatekeeper ─▶ networks ─▶ reload ─▶ gatekeeper", "commands: pr ─▶ task ─▶ pr"]
    );
}

#[test]
fn a_parent_and_its_children_comments_texts_and_tests_are_no_cycle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub struct Own;"),
        (
            "a/mod.rs",
            "//! See [`crate::b`].\nmod c;\nuse self::c::C;\npub struct A;\n#[cfg(test)]\nmod samples;",
        ),
        ("a/c.rs", "use super::A;\nuse crate::Own;\nconst TEXT: &str = r#\"use crate::b::B;\"#;"),
        ("a/samples.rs", "use crate::b::B;"),
        ("b.rs", "use crate::A;\n#[cfg(test)]\nmod tests { use crate::c::D; }"),
        ("a_tests.rs", "use crate::b::B;"),
        ("c.rs", "use crate::b::B;\nfn f<'a>(c: char) -> bool { c == '\"' }"),
    ];
    let told = cycles(&modules(files.into_iter()));
    assert!(told.is_empty(), "{told:?}");
}
