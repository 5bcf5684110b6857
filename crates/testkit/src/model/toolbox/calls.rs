//! The arguments of each kind of call.

use serde_json::{Map, Value, json};

use super::{Arguments, Call, Input, Tool, Toolbox, names, schema};

const PATHS: &[&str] = &["file_path", "filePath", "path", "absolute_path"];

impl Tool {
    fn properties(&self) -> Option<&Map<String, Value>> {
        self.schema.get("properties").and_then(Value::as_object)
    }

    fn property(&self, name: &str) -> Option<&Value> {
        self.properties()?.get(name)
    }

    /// The first of these that it knows, or the first of all if it tells nothing about its parameters.
    fn parameter(&self, names: &[&'static str]) -> Option<&'static str> {
        let known = names.iter().find(|name| self.property(name).is_some());
        known.or_else(|| self.properties().is_none().then(|| names.first()).flatten()).copied()
    }

    /// Whether it edits, and makes a new file where it is not told what to replace.
    fn creates(&self) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        let needs_old = required.is_some_and(|all| all.iter().any(|name| name == "old"));
        self.property("old").is_some() && self.property("new").is_some() && !needs_old
    }

    /// A call with these arguments, without those that it does not know, and with those that it requires.
    fn called(&self, mut arguments: Map<String, Value>) -> Call {
        if let Some(known) = self.properties() {
            arguments.retain(|name, _| known.contains_key(name));
        }
        schema::complete(&self.schema, &mut arguments);
        let arguments = Arguments::Object(arguments);
        Call { name: self.name.clone(), namespace: self.namespace.clone(), arguments }
    }
}

impl Toolbox<'_> {
    /// Some programs take only absolute paths.
    fn absolute(&self, path: &str) -> String {
        match &self.directory {
            Some(directory) if !path.starts_with('/') => {
                format!("{}/{path}", directory.trim_end_matches('/'))
            }
            Some(_) | None => path.to_owned(),
        }
    }

    /// A tool that takes exactly what the script says.
    pub(super) fn named(&self, name: &str, arguments: &str) -> Call {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let free = tool.is_some_and(|tool| tool.input == Input::Free);
        let given = if arguments.is_empty() { "{}" } else { arguments };
        let arguments = match serde_json::from_str(given) {
            _ if free => Arguments::Free(arguments.to_owned()),
            Ok(object) => Arguments::Object(object),
            Err(_) => Arguments::Broken(arguments.to_owned()),
        };
        let namespace = tool.and_then(|tool| tool.namespace.clone());
        Call { name: name.to_owned(), namespace, arguments }
    }

    pub(super) fn write(&self, path: &str, text: &str) -> Option<Call> {
        let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        if let Some(tool) = self.find(names::WRITE) {
            let mut arguments = self.place(tool, path);
            let key = tool.parameter(&["content", "file_text", "contents", "text"])?;
            arguments.insert(key.to_owned(), Value::String(text));
            // One tool for everything, and a word that says which.
            let word = if tool.name.contains("developer") { "write" } else { "create" };
            arguments.insert("command".to_owned(), word.into());
            return Some(tool.called(arguments));
        }
        if let Some(tool) = self.find(names::EDIT).filter(|tool| tool.creates()) {
            let mut arguments = self.place(tool, path);
            arguments.insert("new".to_owned(), Value::String(text));
            return Some(tool.called(arguments));
        }
        if let Some(tool) = self.find(names::PATCH) {
            let added: String = text.lines().flat_map(|line| ["+", line, "\n"]).collect();
            let change = format!("*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n");
            return Some(match tool.input {
                Input::Free => Call {
                    name: tool.name.clone(),
                    namespace: tool.namespace.clone(),
                    arguments: Arguments::Free(change),
                },
                Input::Object => {
                    let key = tool.parameter(&["input", "patch"])?;
                    tool.called([(key.to_owned(), change.into())].into_iter().collect())
                }
            });
        }
        let directory = path.rsplit_once('/').map(|(directory, _)| directory);
        let made = directory
            .filter(|directory| !directory.is_empty())
            .map(|directory| format!("mkdir -p {} && ", quoted(directory)));
        let written = format!("printf %s {} > {}", quoted(&text), quoted(path));
        self.shell(&format!("{}{written}", made.unwrap_or_default()))
    }

    pub(super) fn edit(&self, path: &str, old: &str, new: &str) -> Option<Call> {
        let Some(tool) = self.find(names::EDIT) else {
            return self.shell(&substitution(path, old, new));
        };
        let mut arguments = self.place(tool, path);
        if let Some(edits) = tool.property("edits") {
            let all = json!({
                "oldText": old, "newText": new, "old_string": old, "new_string": new,
                "oldString": old, "newString": new,
            });
            let item = edits.pointer("/items/properties").and_then(Value::as_object);
            let mut edit = all.as_object().cloned().unwrap_or_default();
            edit.retain(|name, _| item.is_none_or(|item| item.contains_key(name)));
            arguments.insert("edits".to_owned(), json!([edit]));
        } else {
            let before =
                tool.parameter(&["old_string", "oldString", "old_str", "oldText", "old"])?;
            let after =
                tool.parameter(&["new_string", "newString", "new_str", "newText", "new"])?;
            arguments.insert(before.to_owned(), old.into());
            arguments.insert(after.to_owned(), new.into());
        }
        arguments.insert("command".to_owned(), "str_replace".into());
        Some(tool.called(arguments))
    }

    pub(super) fn read(&self, path: &str) -> Option<Call> {
        let Some(tool) = self.find(names::READ) else {
            return self.shell(&format!("cat {}", quoted(path)));
        };
        let mut arguments = self.place(tool, path);
        arguments.insert("command".to_owned(), "view".into());
        Some(tool.called(arguments))
    }

    pub(super) fn shell(&self, command: &str) -> Option<Call> {
        let tool = self.find(names::SHELL)?;
        let key = tool.parameter(&["command", "cmd", "script"])?;
        let takes_list = tool
            .property(key)
            .and_then(|property| property.get("type"))
            .is_some_and(|kind| kind == "array");
        let value = if takes_list { json!(["bash", "-lc", command]) } else { json!(command) };
        let description = ("description".to_owned(), "a step of the script".into());
        Some(tool.called([(key.to_owned(), value), description].into_iter().collect()))
    }

    pub(super) fn plan(&self, items: &[String]) -> Option<Call> {
        let tool = self.find(names::PLAN)?;
        let state = |at: usize| if at == 0 { "in_progress" } else { "pending" };
        let rows: Vec<Value> = items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                json!({
                    "id": (at + 1).to_string(), "content": item, "step": item, "description": item,
                    "title": item, "text": item, "activeForm": item, "status": state(at), "priority": "medium",
                })
            })
            .collect();
        let key = tool.parameter(&["todos", "plan", "items", "steps", "subject"])?;
        let kind = tool.property(key).and_then(|property| property.get("type"));
        if kind.is_some_and(|kind| kind == "string") {
            let first = items.first().cloned().unwrap_or_default();
            let text = if key == "subject" { first } else { items.join("\n") };
            let described = ("description".to_owned(), items.join("\n").into());
            return Some(
                tool.called([(key.to_owned(), text.into()), described].into_iter().collect()),
            );
        }
        let known = tool
            .property(key)
            .and_then(|property| property.pointer("/items/properties"))
            .and_then(Value::as_object);
        let fitting = rows.into_iter().map(|row| {
            let mut row = row.as_object().cloned().unwrap_or_default();
            row.retain(|name, _| known.is_none_or(|known| known.contains_key(name)));
            Value::Object(row)
        });
        let list = Value::Array(fitting.collect());
        Some(tool.called([(key.to_owned(), list)].into_iter().collect()))
    }

    pub(super) fn exit_plan(&self, plan: &str) -> Option<Call> {
        let tool = self.find(names::EXIT_PLAN)?;
        Some(tool.called([("plan".to_owned(), plan.into())].into_iter().collect()))
    }

    pub(super) fn ask(&self, question: &str, choices: &[String]) -> Option<Call> {
        let tool = self.find(names::ASK)?;
        let options: Vec<Value> = choices
            .iter()
            .map(|choice| json!({ "label": choice, "description": choice, "value": choice }))
            .collect();
        let Some(questions) = tool.property("questions") else {
            let all = json!({ "question": question, "text": question, "prompt": question, "choices": choices, "options": choices });
            return Some(tool.called(all.as_object().cloned().unwrap_or_default()));
        };
        let asked = json!({
            "id": "question", "question": question, "header": "Question", "options": options, "type": "choice",
            "multiSelect": false, "multiple": false,
        });
        let item = questions.get("items").cloned().unwrap_or_default();
        let row = schema::fitted(&item, &asked);
        Some(tool.called([("questions".to_owned(), json!([row]))].into_iter().collect()))
    }

    fn place(&self, tool: &Tool, path: &str) -> Map<String, Value> {
        let key = tool.parameter(PATHS).unwrap_or("path");
        [(key.to_owned(), self.absolute(path).into())].into_iter().collect()
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// An edit for a program that has nothing but a shell. It fails where the old text is not there.
fn substitution(path: &str, old: &str, new: &str) -> String {
    let file = quoted(path);
    if old.contains('\n') || new.contains('\n') {
        let (before, after) = (quoted(old), quoted(new));
        let program = "$n = s/\\Q$ENV{OLD}\\E/$ENV{NEW}/; END { exit !$n }";
        return format!("OLD={before} NEW={after} perl -0pi -e {} {file}", quoted(program));
    }
    let escaped = |text: &str, special: &str| {
        let parts = text.chars().map(|letter| {
            if special.contains(letter) { format!("\\{letter}") } else { letter.to_string() }
        });
        parts.collect::<String>()
    };
    let program = format!("s/{}/{}/", escaped(old, "\\/.*[]^$"), escaped(new, "\\/&"));
    format!("grep -qF -- {} {file} && sed -i {} {file}", quoted(old), quoted(&program))
}
