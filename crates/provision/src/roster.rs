//! Who works for an agent of a task: the program, the model that it asks, and where.
//!
//! The model is the nearest that somebody named: for the task, in the file for the phase, in the file for the agent, in `lamp.yaml` for
//! the provider. Where a phase has another program than the agent, what was named for the task is not for it.

use agents::{ModelChoice, Post};
use contracts::agent::Mode;
use domain::{agent::AgentName, policy::Rule};

use crate::{
    agents::{Kin, Member, Worker},
    models::{self, NoModel},
    server_files::ServerFiles,
};

/// A post, and the rule that its model needs.
#[derive(Debug, Clone)]
pub struct Placed {
    pub post: Post,
    pub rule: Option<Rule>,
}

/// Who works for `agent` in `mode`, or a sentence with what can be done. `model` is what was named for the task.
pub fn place(
    said: &ServerFiles,
    agent: &AgentName,
    mode: Mode,
    model: Option<&str>,
) -> Result<Placed, String> {
    let member = member(said, agent)?;
    let Worker { program, model: written, command, kin } = member.worker(mode);
    let spoken = models::find(&said.server.models, program, None).map_err(|error| match error {
        NoModel::Unspoken { .. } => format!("{error}; {}", NoModel::HELP),
        NoModel::Unknown(reason) => reason,
    })?;
    let asked = match kin {
        Kin::Own => model,
        Kin::Another => None,
    };
    let usual = spoken.as_ref().and_then(|spoken| spoken.usual);
    let model = asked.or(written).or(usual).unwrap_or_default().to_owned();
    if model.is_empty() && program.model == ModelChoice::Ours {
        return Err(format!(
            "`{}` has to be told which model to ask; name one with `--model`, or for all in `lamp.yaml`, as `models: [{{ name: …, model: NAME }}]`",
            program.name
        ));
    }
    let rule = spoken.as_ref().map(|spoken| models::rule(spoken.provider));
    let endpoint = spoken.map(|spoken| spoken.endpoint);
    let command = command.map(str::to_owned);
    Ok(Placed { post: Post { program, model, endpoint, command }, rule })
}

/// The agent of that name, or a sentence that names those that there are.
pub fn member<'a>(said: &'a ServerFiles, agent: &AgentName) -> Result<Member<'a>, String> {
    if let Some(why) = said.staff.why_broken(agent) {
        return Err(why);
    }
    said.staff.member(agent).ok_or_else(|| {
        let names = said.staff.names().join(", ");
        let another = match &said.file {
            Some(_) => format!("a file `agents/{agent}.yaml` beside `lamp.yaml` makes another"),
            None => format!(
                "a file `agents/{agent}.yaml` makes another, beside a `lamp.yaml` that the server is started with: `lamp up --config lamp.yaml`"
            ),
        };
        format!("this server has no agent `{agent}`; it has {names}; {another}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::tests::said;

    const BOTH: &str = "models:\n  - { name: mine, provider: openai, model: little }\n  - { name: theirs, provider: anthropic }\n";

    const FIX: &str = "lamp: { version: 1, name: fix }\nagent: { driver: opencode, model: big }\n\
        phases: { research: { model: small }, review: { driver: claude-code } }\nsandbox: { repositories: [{ name: web }] }\n";

    fn told(said: &ServerFiles, agent: &str, mode: Mode, model: Option<&str>) -> String {
        match place(said, &agent.parse().unwrap(), mode, model) {
            Ok(Placed { post, rule }) => format!(
                "{} {} {} {}",
                post.program.name,
                post.model,
                post.endpoint.map_or("-".to_owned(), |it| it.url),
                rule.map_or("-".to_owned(), |it| it.to_string())
            ),
            Err(reason) => reason,
        }
    }

    #[test]
    fn the_nearest_word_names_the_model() {
        let said = said(BOTH, &[("agents/fix.yaml", FIX)]);
        let all = [
            (Mode::Research, Some("asked")),
            (Mode::Research, None),
            (Mode::Implement, None),
            (Mode::Review, Some("asked")),
        ];
        let lines = all.map(|(mode, model)| told(&said, "fix", mode, model));
        insta::assert_snapshot!(lines.join("\n"), @r"
        opencode asked http://model.lamp.internal/mine/v1 model:openai
        opencode small http://model.lamp.internal/mine/v1 model:openai
        opencode big http://model.lamp.internal/mine/v1 model:openai
        claude-code  http://model.lamp.internal/theirs model:anthropic
        ");
        insta::assert_snapshot!(told(&said, "builtin", Mode::Plan, None), @r"
        `builtin` has to be told which model to ask; name one with `--model`, or for all in `lamp.yaml`, as `models: [{ name: …, model: NAME }]`
        ");
    }

    #[test]
    fn what_is_missing_is_told_with_what_helps() {
        let none = said("", &[]);
        let nameless = said("models: [{ name: theirs, provider: anthropic }]\n", &[]);
        let lines = [
            told(&none, "codex", Mode::Plan, None),
            told(&none, "fix", Mode::Plan, None),
            told(&nameless, "builtin", Mode::Plan, None),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        `lamp.yaml` sets up no model that `codex` can speak with; add one below `models` of `lamp.yaml`, such as `{ name: anthropic, provider: anthropic, secret: ANTHROPIC_API_KEY }`
        this server has no agent `fix`; it has claude-code, codex, opencode, gemini, pi, qwen, builtin; a file `agents/fix.yaml` beside `lamp.yaml` makes another
        `builtin` has to be told which model to ask; name one with `--model`, or for all in `lamp.yaml`, as `models: [{ name: …, model: NAME }]`
        ");
    }
}
