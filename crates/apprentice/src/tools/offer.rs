//! What the model is told about the tools. The schemas use only what all providers understand.

use serde_json::{Value, json};

use crate::settings::Mode;

#[derive(Debug, Clone)]
pub struct Offer {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: Value,
}

/// The tools of a mode.
pub fn all(mode: Mode) -> Vec<Offer> {
    let mut offers = vec![shell(), read(), search(), plan(), ask()];
    if mode.may_edit() {
        offers.insert(2, edit());
    }
    offers
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn shell() -> Offer {
    let properties = json!({
        "command": { "type": "string", "description": "The command, for sh -c." },
        "timeout_seconds": { "type": "integer", "description": "After this it is killed. 120 if left out, at most 1800." },
    });
    Offer {
        name: "shell",
        about: "Runs a command in the root of the tree, each time in a new shell. Gives its exit code and its output, both streams together, cut in \
                the middle when it is long. Nothing can be typed into it. Send the output of what should keep running to a file.",
        schema: object(&properties, &["command"]),
    }
}

fn read() -> Offer {
    let properties = json!({
        "path": { "type": "string", "description": "Relative to the root of the tree, or absolute." },
        "from": { "type": "integer", "description": "The first line, counted from 1." },
        "lines": { "type": "integer", "description": "How many lines. 400 if left out, at most 2000." },
    });
    Offer {
        name: "read",
        about: "Reads a text file with line numbers, or lists a directory.",
        schema: object(&properties, &["path"]),
    }
}

fn edit() -> Offer {
    let properties = json!({
        "path": { "type": "string", "description": "A file of the tree." },
        "old": { "type": "string", "description": "The text to replace, exactly as it stands in the file, without line numbers. It must stand there once. Leave it out to create a file." },
        "new": { "type": "string", "description": "What takes its place, or the whole new file." },
    });
    Offer {
        name: "edit",
        about: "Replaces one piece of a file, or creates a file.",
        schema: object(&properties, &["path", "new"]),
    }
}

fn search() -> Offer {
    let properties = json!({
        "pattern": { "type": "string", "description": "A regular expression, or plain text with `plain`." },
        "plain": { "type": "boolean", "description": "Take the pattern as it is." },
        "path": { "type": "string", "description": "A directory or file; the root of the tree if left out." },
        "ending": { "type": "string", "description": "Only files whose name ends so, such as `.rs`." },
    });
    Offer {
        name: "search",
        about: "Finds lines in the files of the tree. Leaves out .git, target, node_modules and the like, and what is not text.",
        schema: object(&properties, &["pattern"]),
    }
}

fn plan() -> Offer {
    let step = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
        },
        "required": ["text", "status"],
    });
    let properties = json!({ "steps": { "type": "array", "items": step } });
    Offer {
        name: "plan",
        about: "Shows a person the list of steps, each time the whole list.",
        schema: object(&properties, &["steps"]),
    }
}

fn ask() -> Offer {
    let properties = json!({
        "question": { "type": "string" },
        "choices": { "type": "array", "items": { "type": "string" }, "description": "Answers to choose from, if there are such." },
    });
    Offer {
        name: "ask",
        about: "Asks a person a question and ends the turn. The answer comes as the next message.",
        schema: object(&properties, &["question"]),
    }
}
