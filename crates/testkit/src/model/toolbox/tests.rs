//! Each program's own tools, with the parameters that it really declares, get the right call.

use serde_json::json;

use super::*;
use crate::model::{
    conversation::{Delivery, Tells},
    script::Script,
};

fn tool(name: &str, schema: &Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool { name: name.to_owned(), schema, ..Tool::default() }
}

fn conversation(system: &str, tools: Vec<Tool>) -> Conversation {
    Conversation {
        model: String::new(),
        system: system.to_owned(),
        turns: Vec::new(),
        tools,
        delivery: Delivery::Whole,
        schema: None,
        tells: Tells::Usage,
    }
}

fn calls(conversation: &Conversation, script: &str) -> String {
    let toolbox = Toolbox::new(conversation, None);
    let script = Script::parse(script).unwrap();
    let told = script.steps.iter().map(|step| match toolbox.call(&step.act) {
        Some(call) => format!("{} {}", call.name, call.arguments.text()),
        None => format!("- {}", step.act),
    });
    told.collect::<Vec<_>>().join("\n")
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

const SCRIPT: &str = "play: write a/b.txt one\\ntwo ;; play: edit a.py x => y ;; play: read a.py ;; play: shell ls -l ;; \
                      play: plan A | B ;; play: ask Which? | red | blue ;; play: tool odd {\"x\": 1} ;; play: tool odd {x ;;";

#[test]
fn claudes_tools_are_called_with_absolute_paths() {
    let text = json!({ "type": "string" });
    let question = object(
        &["question", "header", "options", "multiSelect"],
        &json!({
            "question": text, "header": text, "multiSelect": { "type": "boolean" },
            "options": { "type": "array", "items": object(&["label", "description"], &json!({ "label": text, "description": text })) },
        }),
    );
    let tools = vec![
        tool(
            "Write",
            &object(&["file_path", "content"], &json!({ "file_path": text, "content": text })),
        ),
        tool(
            "Edit",
            &object(
                &["file_path", "old_string", "new_string", "reason"],
                &json!({ "file_path": text, "old_string": text, "new_string": text, "reason": text }),
            ),
        ),
        tool("Read", &object(&["file_path"], &json!({ "file_path": text }))),
        tool("Bash", &object(&["command"], &json!({ "command": text, "description": text }))),
        tool(
            "AskUserQuestion",
            &object(
                &["questions"],
                &json!({ "questions": { "type": "array", "items": question } }),
            ),
        ),
    ];
    let asked = conversation("Environment\n - Primary working directory: /repo/app\n", tools);
    insta::assert_snapshot!(calls(&asked, SCRIPT), @r#"
    Write {"file_path":"/repo/app/a/b.txt","content":"one\ntwo\n"}
    Edit {"file_path":"/repo/app/a.py","old_string":"x","new_string":"y","reason":"scripted reason"}
    Read {"file_path":"/repo/app/a.py"}
    Bash {"command":"ls -l","description":"a step of the script"}
    - plan A | B
    AskUserQuestion {"questions":[{"question":"Which?","header":"Question","options":[{"label":"red","description":"red"},{"label":"blue","description":"blue"}],"multiSelect":false}]}
    odd {"x":1}
    odd {x
    "#);
}

#[test]
fn a_program_with_nothing_but_a_shell_does_everything_there() {
    let parameters = object(&["cmd"], &json!({ "cmd": { "type": "string" } }));
    let asked = conversation("", vec![tool("exec_command", &parameters)]);
    insta::assert_snapshot!(calls(&asked, SCRIPT), @r#"
    exec_command {"cmd":"mkdir -p 'a' && printf %s 'one\ntwo\n' > 'a/b.txt'"}
    exec_command {"cmd":"grep -qF -- 'x' 'a.py' && sed -i 's/x/y/' 'a.py'"}
    exec_command {"cmd":"cat 'a.py'"}
    exec_command {"cmd":"ls -l"}
    - plan A | B
    - ask Which? | red | blue
    odd {"x":1}
    odd {x
    "#);
}

#[test]
fn pi_edits_in_lists_and_gemini_replaces() {
    let text = json!({ "type": "string" });
    let edit = object(&["oldText", "newText"], &json!({ "oldText": text, "newText": text }));
    let edits = json!({ "path": text, "edits": { "type": "array", "items": edit } });
    let todo = object(
        &["description", "status"],
        &json!({ "description": text, "status": { "type": "string", "enum": ["pending", "in_progress"] } }),
    );
    let tools = vec![
        tool("edit", &object(&["path", "edits"], &edits)),
        tool(
            "write_file",
            &object(&["file_path", "content"], &json!({ "file_path": text, "content": text })),
        ),
        tool(
            "write_todos",
            &object(&["todos"], &json!({ "todos": { "type": "array", "items": todo } })),
        ),
        tool(
            "shell",
            &object(&["command"], &json!({ "command": { "type": "array", "items": text } })),
        ),
    ];
    let asked = conversation("I'm currently working in the directory: /repo\n", tools);
    insta::assert_snapshot!(calls(&asked, SCRIPT), @r#"
    write_file {"file_path":"/repo/a/b.txt","content":"one\ntwo\n"}
    edit {"path":"/repo/a.py","edits":[{"oldText":"x","newText":"y"}]}
    shell {"command":["bash","-lc","cat 'a.py'"]}
    shell {"command":["bash","-lc","ls -l"]}
    write_todos {"todos":[{"description":"A","status":"in_progress"},{"description":"B","status":"pending"}]}
    - ask Which? | red | blue
    odd {"x":1}
    odd {x
    "#);
}

#[test]
fn an_editor_that_creates_files_writes_them_and_short_lists_fit() {
    let text = json!({ "type": "string" });
    let step = object(&["text", "status"], &json!({ "text": text, "status": text }));
    let tools = vec![
        tool("shell", &object(&["command"], &json!({ "command": text, "timeout_seconds": {} }))),
        tool("read", &object(&["path"], &json!({ "path": text, "from": {}, "lines": {} }))),
        tool("edit", &object(&["path", "new"], &json!({ "path": text, "old": text, "new": text }))),
        tool("plan", &object(&["steps"], &json!({ "steps": { "type": "array", "items": step } }))),
        tool(
            "ask",
            &object(
                &["question"],
                &json!({ "question": text, "choices": { "type": "array", "items": text } }),
            ),
        ),
    ];
    let asked = conversation("", tools);
    insta::assert_snapshot!(calls(&asked, SCRIPT), @r#"
    edit {"path":"a/b.txt","new":"one\ntwo\n"}
    edit {"path":"a.py","old":"x","new":"y"}
    read {"path":"a.py"}
    shell {"command":"ls -l"}
    plan {"steps":[{"text":"A","status":"in_progress"},{"text":"B","status":"pending"}]}
    ask {"question":"Which?","choices":["red","blue"]}
    odd {"x":1}
    odd {x
    "#);
}

#[test]
fn a_patch_is_written_where_no_tool_writes() {
    let patch = Tool { name: "apply_patch".into(), input: Input::Free, ..Tool::default() };
    let asked = conversation("", vec![patch]);
    let call = Toolbox::new(&asked, None).call(&Act::Write { path: "a".into(), text: "b".into() });
    let change = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n";
    assert_eq!(call.unwrap().arguments, Arguments::Free(change.into()));
}

#[test]
fn what_a_schema_requires_is_filled() {
    let value = value_of_schema(&json!({
        "type": "object",
        "required": ["title", "kind", "count", "sure", "list", "either", "deep"],
        "properties": {
            "title": { "type": "string" },
            "kind": { "enum": ["a", "b"] },
            "count": { "type": "integer", "minimum": 3 },
            "sure": { "type": ["null", "boolean"] },
            "list": { "type": "ARRAY", "minItems": 1, "items": { "type": "NUMBER" } },
            "either": { "anyOf": [{ "type": "null" }, { "const": 7 }] },
            "deep": { "type": "object", "required": ["x"], "properties": { "x": {} } },
            "other": { "type": "string" },
        },
    }));
    insta::assert_snapshot!(value, @r#"{"title":"scripted title","kind":"a","count":3,"sure":false,"list":[1],"either":7,"deep":{"x":"scripted x"}}"#);
}

#[test]
fn where_a_program_works_is_read_from_its_prompt() {
    let told = [
        "<environment_context>\n  <cwd>/home/x/repo</cwd>",
        " - Primary working directory: /home/x/repo\n - Is a git repository: true",
        "Working directory: /home/x/repo.",
        "I'm currently working in the directory: /home/x/repo\nHere is",
        "# Workspace Directories\n  - /home/x/repo\n",
        "Current working directory is `/home/x/repo/`",
        "no word of it, and/or a path /elsewhere",
    ]
    .map(workdir::told);
    let repo = Some("/home/x/repo".to_owned());
    assert_eq!(told, [&repo, &repo, &repo, &repo, &repo, &repo, &None].map(Clone::clone));
}
