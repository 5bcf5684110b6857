//! The remaining sections of an agent's file.

use domain::{
    agent::AgentName,
    approval::FourEyes,
    policy::{Approver, PlanGate, Rule},
};

use crate::{
    names::{FilePath, Label, ModelName, Script, Text},
    problem::Problems,
    shape::{Count, flag, record, words},
    units::{Price, RunTime, Wait},
    version::Version,
    yaml::Node,
};

flag!(PlanGate, Required, Optional);
flag!(FourEyes, Required, NotRequired);

record! {
    /// The file's version, and the agent's name.
    pub struct Header {
        /// The version of this format.
        version: Version,
        /// The name by which people call the agent.
        name: AgentName,
        /// What it is for, in a sentence.
        description: Option<Text> = None,
    }
}

words! {
    /// The program that does the work.
    pub enum Driver {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Codex.
        Codex = "codex",
        /// `OpenCode`.
        Opencode = "opencode",
        /// Gemini CLI.
        Gemini = "gemini",
        /// pi.
        Pi = "pi",
        /// Qwen Code.
        Qwen = "qwen",
        /// Any agent that speaks ACP; `command` starts it.
        Acp = "acp",
        /// The agent that comes with Lamplighter.
        Builtin = "builtin",
        /// Any program or script, without a model; `command` is what runs.
        Command = "command",
    }
}

record! {
    /// The program that does the work.
    pub struct Worker {
        /// Which program.
        driver: Driver,
        /// The model that it uses. Left out: the program's own choice.
        model: Option<ModelName> = None,
        /// What to run, for the drivers `acp` and `command`.
        command: Option<Script> = None,
    }
    look = look_at_command;
}

fn look_at_command(node: &Node, problems: &mut Problems) {
    let command = node.get("command");
    let word = node.get("driver").and_then(Node::text);
    match Driver::ALL.iter().find(|driver| Some(driver.as_str()) == word) {
        Some(driver @ (Driver::Acp | Driver::Command)) if command.is_none() => {
            let what = format!("the driver `{}` needs a `command`", driver.as_str());
            problems.report(node.place, what, "add `command:` with what to run");
        }
        Some(
            driver @ (Driver::ClaudeCode
            | Driver::Codex
            | Driver::Opencode
            | Driver::Gemini
            | Driver::Pi
            | Driver::Qwen
            | Driver::Builtin),
        ) => {
            let Some(command) = command else { return };
            let what = format!("the driver `{}` brings its own command", driver.as_str());
            problems.report(command.place, what, "remove `command`, or use the driver `command`");
        }
        Some(Driver::Acp | Driver::Command) | None => {}
    }
}

record! {
    defaulted
    /// What is different in single phases.
    pub struct Phases {
        /// Reading, and writing the plan.
        research: Option<PhaseChoice> = None,
        /// Changing the code.
        implement: Option<PhaseChoice> = None,
        /// Running the checks.
        verify: Option<VerifyPhase> = None,
        /// The second agent's look at the difference.
        review: Option<PhaseChoice> = None,
    }
}

record! {
    /// What is different in one phase.
    pub struct PhaseChoice {
        /// Another program.
        driver: Option<Driver> = None,
        /// Another model.
        model: Option<ModelName> = None,
        /// What to run, for the drivers `acp` and `command`.
        command: Option<Script> = None,
        /// The phase's time limit.
        timeout: Option<RunTime> = None,
    }
    look = look_at_command;
}

record! {
    /// The checks' phase, which has no agent.
    pub struct VerifyPhase {
        /// The phase's time limit.
        timeout: RunTime,
    }
}

record! {
    defaulted
    /// What may be reached, per phase.
    pub struct EgressSection {
        /// While the image is built.
        setup: Vec<Rule> = vec![],
        /// While the agent reads and plans.
        research: Vec<Rule> = vec![],
        /// While the agent works, and while the checks run.
        implement: Vec<Rule> = vec![],
        /// While the second agent reviews.
        review: Vec<Rule> = vec![],
    }
}

record! {
    defaulted
    /// The plan and its approval.
    pub struct PlanSection {
        /// That work waits for an approved plan. It always does, and `false` is refused.
        required: PlanGate = PlanGate::Required,
        /// Who may approve, among those whose role allows it. Left out: all of them.
        approvers: Option<Vec<Approver>> = None,
        /// After this time without an answer the task pauses.
        timeout: Wait = Wait::hours(24),
        /// Whether someone other than the requester must approve. Left out: as the policy says.
        four_eyes: Option<FourEyes> = None,
    }
    look = look_at_plan;
}

fn look_at_plan(node: &Node, problems: &mut Problems) {
    report_open_gate(node, "plan.required", problems);
    let approvers = node.get("approvers");
    if let Some(empty) = approvers.filter(|it| it.is_empty_list()) {
        let what = "`plan.approvers` is an empty list, so nobody could approve";
        problems.report(empty.place, what, "name someone, or leave `approvers` out");
    }
}

/// There is no way around the gate (GA1), so a file that asks for one is wrong, and not passed over.
pub(crate) fn report_open_gate(section: &Node, key: &str, problems: &mut Problems) {
    let off = section.get("required").filter(|it| it.text() == Some("false"));
    if let Some(off) = off {
        let what = format!("`{key}: false` would let code be changed that nobody approved");
        problems.report(off.place, what, "remove it: every plan waits for a person");
    }
}

record! {
    /// One check, run by the platform on the exact commit.
    pub struct Check {
        /// The name under which its result is shown.
        name: Label,
        /// The command.
        run: Script,
        /// A file that it writes with its results, such as `JUnit` XML.
        report: Option<FilePath> = None,
        /// Its time limit. Left out: the phase's.
        timeout: Option<RunTime> = None,
    }
}

record! {
    defaulted
    /// How often to try, how much to spend on one task, and how long to wait for an answer.
    pub struct LimitsSection {
        /// How often the checks may fail before the task asks for help. Left out: the server's default.
        attempts: Option<Count<1, 20>> = None,
        /// Money for one task. Left out: the server's default.
        budget: Option<Price> = None,
        /// How long a question waits for its answer before the task pauses.
        answer: Wait = Wait::hours(24),
    }
}

words! {
    /// Who sees it.
    pub enum Visibility {
        /// The one who made it.
        Private = "private",
        /// Their team.
        Team = "team",
        /// Everyone.
        Organisation = "organisation",
    }
}

#[cfg(test)]
mod tests {
    use crate::check;

    #[test]
    fn no_file_opens_the_gate() {
        let agent = "lamp: { version: 1, name: a }\nagent: { driver: codex }\n\
            sandbox: { repositories: [{ name: web }] }\nplan: { required: false }\n";
        let policy = "version: 1\napproval: { required: false }\n";
        let told = [("agents/a.yaml", agent), ("policy.yaml", policy)]
            .map(|(path, text)| check(path, text).unwrap_err().to_string());
        insta::assert_snapshot!(told.concat(), @r"
        agents/a.yaml:4:19: `plan.required: false` would let code be changed that nobody approved
          help: remove it: every plan waits for a person
        policy.yaml:2:23: `approval.required: false` would let code be changed that nobody approved
          help: remove it: every plan waits for a person
        ");
    }
}
