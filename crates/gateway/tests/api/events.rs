//! The page of events in `docs/reference` says what the shapes of the API do.
//!
//! `UPDATE_REFERENCE=1 cargo test -p gateway --test api` writes it anew.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt::Write as _,
    path::Path,
};

use serde_json::{Value, json};

const BEGIN: &str = "<!-- events: written by crates/gateway/tests/api/events.rs -->\n";
const END: &str = "\n<!-- end of events -->";

#[test]
fn the_page_of_events_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/events.md");
    let page = fs_err::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_old, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}{END}{after}", Shapes::new().page());
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var("UPDATE_REFERENCE").is_ok_and(|value| value == "1");
    if update {
        fs_err::write(&path, &wanted).unwrap();
    }
    assert!(
        update || page == wanted,
        "docs/reference/events.md is old: run this test with UPDATE_REFERENCE=1"
    );
}

#[test]
fn every_kind_of_event_and_every_shape_in_it_has_its_words() {
    let shapes = Shapes::new();
    let kinds = shapes.kinds();
    assert!(kinds.len() > 25, "{}", kinds.len());
    let silent: Vec<&str> = kinds
        .iter()
        .filter(|(_, shape)| shape["description"].as_str().unwrap_or_default().is_empty())
        .map(|(kind, _)| *kind)
        .collect();
    assert!(
        silent.is_empty(),
        "say when these happen, in crates/wire/src/task/event.rs: {silent:?}"
    );
    let page = shapes.page();
    for name in shapes.named_by("TaskEvent") {
        assert!(page.contains(&format!("\n### {name}\n")), "{name} is not explained");
    }
}

/// The shapes of the document.
struct Shapes(Value);

impl Shapes {
    fn new() -> Self {
        let document = serde_json::to_value(gateway::document()).unwrap();
        Self(document["components"]["schemas"].clone())
    }

    /// Each kind of event that a server tells, in the order in which they are declared.
    fn kinds(&self) -> Vec<(&str, &Value)> {
        let told = self.0["TaskEvent"]["oneOf"].as_array().unwrap();
        let named = told.iter().map(|shape| (word(shape, "kind").unwrap(), shape));
        // What old clients make of a new one.
        named.filter(|(kind, _)| *kind != "unknown").collect()
    }

    fn page(&self) -> String {
        let mut page = String::from("## Kinds\n");
        for (kind, shape) in self.kinds() {
            write!(page, "\n### `{kind}`\n\n{}\n", told(shape)).unwrap();
            page += &table(shape, "kind");
        }
        page += "\n## Shapes\n\nWhat the fields above are made of.\n";
        for name in self.named_by("TaskEvent") {
            let shape = &self.0[&name];
            write!(page, "\n### {name}\n").unwrap();
            let words = told(shape);
            if !words.is_empty() {
                write!(page, "\n{words}\n").unwrap();
            }
            page += &body(shape);
        }
        page
    }

    /// Every shape that `root` leads to, itself not included.
    fn named_by(&self, root: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut left = VecDeque::from([root.to_owned()]);
        while let Some(name) = left.pop_front() {
            for name in names_in(&self.0[&name]) {
                if found.insert(name.clone()) {
                    left.push_back(name);
                }
            }
        }
        found
    }
}

fn body(shape: &Value) -> String {
    if let Some(forms) = shape["oneOf"].as_array() {
        let tag = forms.iter().find_map(tag_of);
        return forms.iter().map(|one| form(one, tag)).collect();
    }
    if shape["properties"].is_object() {
        return table(shape, "");
    }
    format!("\nWritten as {}.\n", kind_of(shape))
}

/// One of several forms that a shape can have.
fn form(form: &Value, tag: Option<&str>) -> String {
    let tag = tag.unwrap_or_default();
    let named = word(form, tag).map(|word| format!("`{tag}` is `{word}`"));
    let named = named.unwrap_or_else(|| kind_of(form));
    let words = told(form);
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    format!("\n- {named}{words}\n{}", table(form, tag))
}

/// The fields of a shape, without the one that tells it from others.
fn table(shape: &Value, tag: &str) -> String {
    let fields = shape["properties"].as_object();
    let needed: BTreeSet<&str> =
        shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut rows = String::new();
    for (name, field) in fields.into_iter().flatten().filter(|(name, _)| *name != tag) {
        let absent = if needed.contains(name.as_str()) { "" } else { ", or left out" };
        let words = told(field);
        writeln!(rows, "| `{name}` | {}{absent} | {words} |", kind_of(field)).unwrap();
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("\n| field | is | what it says |\n|---|---|---|\n{rows}")
}

/// How a value is written, in a few words.
fn kind_of(shape: &Value) -> String {
    if let Some(name) = name_of(shape) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(forms) = shape["oneOf"].as_array().or(shape["anyOf"].as_array()) {
        let forms: Vec<String> = forms.iter().map(kind_of).collect();
        return forms.join(" or ");
    }
    if let Some(words) = shape["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", word.as_str().map_or(word.to_string(), str::to_owned)))
            .collect();
        return words.join(", ");
    }
    match &shape["type"] {
        Value::Array(kinds) => {
            let named = |kind: &Value| kind_of(&json!({"type": kind, "items": shape["items"]}));
            kinds.iter().map(named).collect::<Vec<_>>().join(" or ")
        }
        Value::String(kind) if kind == "array" => {
            format!("list of {}", kind_of(&shape["items"]))
        }
        Value::String(kind) if kind == "object" && shape["properties"].is_object() => {
            let names: Vec<String> = shape["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, field)| format!("`{name}`: {}", kind_of(field)))
                .collect();
            format!("an object with {}", names.join(", "))
        }
        Value::String(kind) => kind.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            panic!("a shape without a kind: {shape}")
        }
    }
}

/// The one word that a field of a form always has.
fn word<'a>(form: &'a Value, field: &str) -> Option<&'a str> {
    form["properties"][field]["enum"][0].as_str()
}

/// The field by which forms are told apart.
fn tag_of(form: &Value) -> Option<&str> {
    let fields = form["properties"].as_object()?;
    fields.keys().map(String::as_str).find(|name| {
        form["properties"][*name]["enum"].as_array().is_some_and(|words| words.len() == 1)
    })
}

fn name_of(shape: &Value) -> Option<&str> {
    shape["$ref"].as_str().and_then(|address| address.rsplit('/').next())
}

/// The description, on one line. That of a field which may be nothing stands at its other form.
fn told(shape: &Value) -> String {
    let forms = shape["oneOf"].as_array().into_iter().flatten();
    let inside =
        forms.filter(|form| form["$ref"].is_string()).find_map(|form| form["description"].as_str());
    let words = shape["description"].as_str().or(inside).unwrap_or_default();
    words.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn names_in(shape: &Value) -> Vec<String> {
    match shape {
        Value::Object(fields) => {
            let own = name_of(shape).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(names_in)).collect()
        }
        Value::Array(items) => items.iter().flat_map(names_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
