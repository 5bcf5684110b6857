//! The modules of a room, and which paths each of them names, read from its source without compiling it.
//!
//! Only what is shipped counts: items and modules below `#[cfg(test)]` are left out, and so are comments and texts. A name that a module
//! has only imported (`pub use self::plan::Plan`) stands for what it was imported from, so that a way through a parent's list of names is
//! seen as what it is.

use std::collections::{BTreeMap, BTreeSet};

/// A module by the names that lead to it from the root, which has none.
pub(crate) type Place = Vec<String>;

/// What one module names.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// What `use` brings in, each by the name that it has here.
    imports: Vec<(String, Place)>,
    /// Every path in the code, and of every `use`, as it is written.
    paths: BTreeSet<Place>,
}

/// The shipped modules of one room: `files` are paths below its `src`, with their text.
pub(crate) fn modules<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<Place, Module> {
    let mut modules: BTreeMap<Place, Module> = BTreeMap::new();
    let mut for_tests: BTreeSet<Place> = BTreeSet::new();
    for (path, text) in files {
        let place = place(path);
        let (shipped, tests) = without_tests(&code(text));
        for name in declared(&tests) {
            for_tests.insert(place.iter().cloned().chain([name]).collect());
        }
        let module = modules.entry(place).or_default();
        let (uses, rest) = uses(&shipped);
        for (path, name) in uses {
            module.paths.insert(path.clone());
            module.imports.push((name, path));
        }
        module.paths.extend(written(&rest));
    }
    let is_test = |place: &Place| {
        place.last().is_some_and(|name| name.ends_with("_tests"))
            || for_tests.iter().any(|test| place.starts_with(test))
    };
    modules.retain(|place, _| !is_test(place));
    modules
}

/// `task/mod.rs` and `task.rs` are `task`; `lib.rs` and `main.rs` are the root.
fn place(path: &str) -> Place {
    let mut names: Place = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// The module that each path of `from` ends in, with the path.
pub(crate) fn named<'m>(
    modules: &'m BTreeMap<Place, Module>,
    from: &'m Place,
) -> impl Iterator<Item = (Place, &'m Place)> {
    let paths = modules.get(from).into_iter().flat_map(|module| &module.paths);
    paths.filter_map(move |path| Some((resolved(modules, from, path, 0)?, path)))
}

/// The module that `path` leads to when `from` says it; none, if it leads out of the room.
fn resolved(
    modules: &BTreeMap<Place, Module>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<Place> {
    // Imports may go round in circles; nothing real is this deep.
    if depth > 8 {
        return None;
    }
    let (first, rest) = path.split_first()?;
    let (mut at, mut rest): (Place, &[String]) = match first.as_str() {
        "crate" => (Vec::new(), rest),
        "self" => (from.to_vec(), rest),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            (from.get(..from.len().checked_sub(ups)?)?.to_vec(), &path[ups..])
        }
        _ if modules.contains_key(&child(from, first)) => (from.to_vec(), path),
        name => return imported(modules, from, name, rest, depth).flatten(),
    };
    while let Some((next, more)) = rest.split_first() {
        let below = child(&at, next);
        if !modules.contains_key(&below) {
            // It is defined there, or only listed there, and then comes from somewhere else, perhaps from another room.
            let listed = (at != from).then(|| imported(modules, &at, next, more, depth));
            return listed.flatten().unwrap_or(Some(at));
        }
        (at, rest) = (below, more);
    }
    modules.contains_key(&at).then_some(at)
}

/// The module that `name` was imported from into `at`, if it was; none, if it comes from another room.
#[expect(
    clippy::option_option,
    reason = "not imported, or from another room: both are none, and not the same"
)]
fn imported(
    modules: &BTreeMap<Place, Module>,
    at: &[String],
    name: &str,
    rest: &[String],
    depth: usize,
) -> Option<Option<Place>> {
    let module = modules.get(at)?;
    let (_, path) = module.imports.iter().find(|(known, path)| {
        known == name && path.first().is_some_and(|first| first != name || path.len() > 1)
    })?;
    let whole: Place = path.iter().chain(rest).cloned().collect();
    Some(resolved(modules, at, &whole, depth + 1))
}

fn child(parent: &[String], name: &str) -> Place {
    parent.iter().cloned().chain([name.to_owned()]).collect()
}

/// The text without comments, and with nothing in its strings.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let is_word = code.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let skipped = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            'r' if !is_word => raw_string(rest).unwrap_or(0),
            '"' => string(rest),
            '\'' => character(rest).unwrap_or(0),
            _ => 0,
        };
        if skipped == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// Bytes of a string like `r#"…"#`; none, if it is another word.
fn raw_string(text: &str) -> Option<usize> {
    let marks = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let open = 1 + marks;
    text[open..].starts_with('"').then_some(())?;
    let end = format!("\"{}", "#".repeat(marks));
    let inside = &text[open + 1..];
    Some(inside.find(&end).map_or(text.len(), |at| open + 1 + at + end.len()))
}

fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of `'x'` or `'\n'`; none, if it is a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = &text[1..];
    if inside.starts_with('\\') {
        return inside[2..].find('\'').map(|at| at + 4);
    }
    let letter = inside.chars().next()?;
    inside[letter.len_utf8()..].starts_with('\'').then(|| letter.len_utf8() + 2)
}

/// The code without items for tests alone, and these.
fn without_tests(code: &str) -> (String, String) {
    const MARK: &str = "#[cfg(test)]";
    let (mut shipped, mut tests, mut rest) = (String::new(), String::new(), code);
    while let Some(at) = rest.find(MARK) {
        shipped.push_str(&rest[..at]);
        let item = &rest[at + MARK.len()..];
        let (mut depth, mut end) = (0usize, item.len());
        for (at, byte) in item.bytes().enumerate() {
            match byte {
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(byte, b'}' | b';') {
                end = at + 1;
                break;
            }
        }
        tests.push_str(&item[..end]);
        tests.push('\n');
        rest = &item[end..];
    }
    shipped.push_str(rest);
    (shipped, tests)
}

/// The names of modules in files of their own.
fn declared(code: &str) -> Vec<String> {
    let words: Vec<&str> =
        code.split(|letter: char| letter.is_whitespace()).filter(|word| !word.is_empty()).collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "mod");
    pairs.filter_map(|pair| pair[1].strip_suffix(';')).map(str::to_owned).collect()
}

/// Every `use`, as paths with the name that each has here, and the code without them.
fn uses(code: &str) -> (Vec<(Place, String)>, String) {
    let (mut uses, mut others, mut rest) = (Vec::new(), String::new(), code);
    while let Some(at) = word(rest, "use") {
        others.push_str(&rest[..at]);
        let tree = &rest[at + "use".len()..];
        let end = tree.find(';').unwrap_or(tree.len());
        flatten(&tree[..end], &[], &mut uses);
        rest = &tree[end..];
    }
    others.push_str(rest);
    (uses, others)
}

/// Where `name` stands as a whole word.
fn word(text: &str, name: &str) -> Option<usize> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |at: usize| {
        !text[..at].ends_with(is_letter) && !text[at + name.len()..].starts_with(is_letter)
    };
    text.match_indices(name).map(|(at, _)| at).find(|at| is_whole(*at))
}

/// `a::{b, c as d}` is `a::b` and `a::c`, called `b` and `d`.
fn flatten(tree: &str, before: &[String], all: &mut Vec<(Place, String)>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
        let before: Place = before.iter().cloned().chain(names.map(str::to_owned)).collect();
        let (mut depth, mut begin) = (0usize, 0);
        for (at, byte) in group.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 0 => {
                    flatten(&group[begin..at], &before, all);
                    begin = at + 1;
                }
                b'}' if depth == 0 => {
                    flatten(&group[begin..at], &before, all);
                    return;
                }
                b'}' => depth -= 1,
                _ => {}
            }
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    let mut whole: Place = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    if whole.len() > 1 && whole.last().is_some_and(|last| last == "self") {
        whole.pop();
    }
    let Some(last) = whole.last().cloned() else { return };
    if !tree.is_empty() {
        all.push((whole, alias.unwrap_or(last)));
    }
}

/// Every path of two names or more.
fn written(code: &str) -> BTreeSet<Place> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut paths = BTreeSet::new();
    let mut path: Place = Vec::new();
    let mut rest = code;
    loop {
        let name: String = rest.chars().take_while(|letter| is_letter(*letter)).collect();
        rest = &rest[name.len()..];
        if !name.is_empty() {
            path.push(name);
            if let Some(more) = rest.trim_start().strip_prefix("::") {
                rest = more.trim_start();
                continue;
            }
        }
        if path.len() > 1 {
            paths.insert(std::mem::take(&mut path));
        }
        path.clear();
        let Some(letter) = rest.chars().next() else { return paths };
        rest = &rest[letter.len_utf8()..];
    }
}
