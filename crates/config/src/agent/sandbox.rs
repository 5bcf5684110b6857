//! The computer that each run gets.

use domain::{
    agent::Tier,
    code::{Access, RepositoryName},
};
use serde_json::Value;

use super::ImageBase;
use crate::{
    names::{Label, PlainName, Script, VariableName},
    problem::{Problems, quoted},
    secret,
    shape::{Form, Kind, Shape, known_words, record, report_mismatch, words},
    unique::report_repeated,
    units::{Cpu, Disk, Memory, RunTime},
    yaml::{Content, Node},
};

known_words! { Tier;
    Verified = "verified": ["For agents with a verified identity: the lightest walls."],
    Standard = "standard": ["For everyday work."],
    Untrusted = "untrusted": ["For code that nobody vouches for: a microVM or gVisor."],
}

record! {
    /// The computer that each run gets.
    pub struct Sandbox {
        /// The repositories that are cloned in.
        repositories: Vec<Repository>,
        /// What its file system begins with.
        image: Image = Image::default(),
        /// Environment variables.
        variables: Vec<Variable> = vec![],
        /// How much of a machine it is. What is left out is the server's default.
        compute: Compute = Compute::default(),
        /// Commands at moments of each run.
        hooks: Hooks = Hooks::default(),
        /// Programs that run beside the agent, such as a database.
        services: Vec<Service> = vec![],
        /// How strong its walls are. Left out: the server's default.
        tier: Option<Tier> = None,
        /// Who may push to the task's branch, once its plan is approved.
        push: Pusher = Pusher::Platform,
    }
    look = look_at_sandbox;
}

words! {
    /// Who pushes.
    pub enum Pusher {
        /// The platform alone, when it has taken the work out and inspected it.
        Platform = "platform",
        /// The agent too, from inside and through the gateway, past that inspection and past the checks. Its branch is then taken for a person's.
        Agent = "agent",
    }
}

fn look_at_sandbox(node: &Node, problems: &mut Problems) {
    for list in ["repositories", "variables", "services"] {
        report_repeated(node.get(list), "name", problems);
    }
    let repositories = node.get("repositories");
    if let Some(empty) = repositories.filter(|it| it.is_empty_list()) {
        let what = "`sandbox.repositories` names no repository";
        problems.report(empty.place, what, "name at least one, as `- { name: web }`");
    }
}

record! {
    /// One repository.
    pub struct Repository {
        /// `owner/name`, or only `name` within one organisation; `any` for a file that is for no particular one.
        name: RepositoryName,
        /// What the task may do to it.
        access: Access = Access::Write,
        /// The branch to begin from. Left out: the repository's default branch.
        branch: Option<Label> = None,
    }
}

record! {
    defaulted
    /// What the file system begins with.
    pub struct Image {
        /// `host`, an OCI reference, or a directory. Left out: the server's default.
        base: Option<ImageBase> = None,
        /// Runs once, after checkout, when the image is built; later runs boot the result.
        setup: Option<Script> = None,
    }
}

record! {
    defaulted
    /// How much of a machine a sandbox is.
    pub struct Compute {
        /// Processors, from 0.1 to 16.
        cpu: Option<Cpu> = None,
        /// Memory, up to 64GiB.
        memory: Option<Memory> = None,
        /// Writable disk, up to 1TiB.
        disk: Option<Disk> = None,
        /// How long a run may take, up to 24h.
        timeout: Option<RunTime> = None,
    }
}

record! {
    defaulted
    /// Commands at moments of each run. They are not part of the image.
    pub struct Hooks {
        /// Once the sandbox is up.
        post_start: Option<Script> = None,
        /// Once the repositories are there.
        post_clone: Option<Script> = None,
        /// Before the sandbox goes.
        pre_teardown: Option<Script> = None,
    }
}

record! {
    /// A program that runs beside the agent.
    pub struct Service {
        /// Its host name inside the sandbox.
        name: PlainName,
        /// What it runs.
        image: ImageBase,
        /// A command that succeeds once it is ready.
        ready: Option<Script> = None,
    }
}

words! {
    /// What the sandbox sees of a secret.
    pub enum Exposure {
        /// A stand-in; the gateway swaps it for the real value, for the bound host only.
        Placeholder = "placeholder",
        /// The real value, in the environment of the agent's process. The audit log says so.
        Env = "env",
    }
}

record! {
    /// An environment variable. Without a value, it is the secret of that name.
    pub struct Variable {
        /// The variable's name.
        name: VariableName,
        /// The value, for what is no secret. Secrets are stored with `lamp secret set NAME`.
        value: Option<VariableValue> = None,
        /// What the sandbox sees of the secret.
        expose: Exposure = Exposure::Placeholder,
    }
    look = look_at_variable;
}

fn look_at_variable(node: &Node, problems: &mut Problems) {
    let (Some(name), Some(value)) = (node.get("name").and_then(Node::text), node.get("value"))
    else {
        return;
    };
    let is_told_already = value.text().is_some_and(secret::looks_like_one);
    if secret::is_name_of_one(name) && !is_told_already {
        let what = format!("{} sounds like a secret, and its value is in the file", quoted(name));
        let help = "remove `value`, and store it with `lamp secret set NAME`";
        problems.report(value.place, what, help);
    }
    let exposed = node.get("expose").filter(|it| it.text() == Some(Exposure::Env.as_str()));
    if let Some(expose) = exposed {
        let what = "`expose` is about secrets, and this variable has a value of its own";
        problems.report(expose.place, what, "remove `expose`, or `value`");
    }
}

/// The value of an environment variable. May be empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableValue(String);

impl VariableValue {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Shape for VariableValue {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        match &node.content {
            Content::Text { text, .. } => Some(Self(text.clone())),
            Content::Nothing | Content::List(_) | Content::Section(_) | Content::Broken => {
                report_mismatch(node, "a text", "write `\"\"` for an empty one", problems);
                None
            }
        }
    }

    fn kind() -> Kind {
        Kind::Value(Form { name: "a text", help: "write it as `info`", pattern: None })
    }

    fn write(&self) -> Value {
        self.0.clone().into()
    }
}
