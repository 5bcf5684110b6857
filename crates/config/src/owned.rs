//! Agents that a repository defines itself: the same file, and what it must not say.
//!
//! Whoever may merge into a repository writes these files, and they are read on the server. So they can ask for less than a task gets
//! without them, and for what the server grants this repository by name; anything else is a problem of the file, with its place.

use domain::code::RepositoryName;

use crate::{
    agent::{AgentFile, Driver, Exposure, ImageBase, Pusher},
    file::{FileKind, root},
    names::VariableName,
    problem::{InvalidFile, Problem, Problems, quoted},
    shape::Shape as _,
    unheard::found,
    yaml::Node,
};

/// Stands for every repository, in a file that is for no particular one.
const ANY: &str = "any";

/// What a server grants the agents of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub repository: RepositoryName,
    pub secrets: Vec<VariableName>,
    pub images: Vec<ImageBase>,
}

/// Whether a text is meant to be an agent of ours. Others keep files in a directory `agents` as well.
pub fn is_ours(text: &str) -> bool {
    text.strip_prefix('\u{feff}').unwrap_or(text).lines().any(|line| {
        let rest = line.trim_start_matches('{').trim_start().strip_prefix("lamp");
        rest.is_some_and(|rest| rest.trim_start().starts_with(':')) && !line.starts_with(' ')
    })
}

/// The agent's name, as far as it can be told of a file that may be wrong.
pub fn name_in(text: &str) -> Option<domain::agent::AgentName> {
    let mut problems = Problems::in_file("");
    let root = root(text, Some(FileKind::Agent), &mut problems)?;
    root.get("lamp")?.get("name")?.text()?.parse().ok()
}

/// Reads an agent's file of a repository.
pub fn check(path_name: &str, text: &str, granted: &Granted) -> Result<AgentFile, InvalidFile> {
    let mut problems = Problems::in_file(path_name);
    let Some(root) = root(text, Some(FileKind::Agent), &mut problems) else {
        return problems.settle(None);
    };
    let read = AgentFile::read(&root, &mut problems);
    never(&root, &mut problems);
    ungranted(&root, granted, &mut problems);
    problems.settle(read)
}

/// What is wrong with an agent's file in any repository, whatever a server grants; and what needs a server that grants it.
pub fn check_anywhere(path_name: &str, text: &str) -> Result<Vec<Problem>, InvalidFile> {
    let mut problems = Problems::in_file(path_name);
    let Some(root) = root(text, Some(FileKind::Agent), &mut problems) else {
        return problems.settle(None);
    };
    let read = AgentFile::read(&root, &mut problems);
    never(&root, &mut problems);
    let file = problems.settle(read)?;
    let mut needs = Problems::in_file(path_name);
    let repository = file.sandbox.repositories.first().map(|first| first.name.clone());
    if let Some(repository) = repository {
        let nothing = Granted { repository, secrets: Vec::new(), images: Vec::new() };
        ungranted(&root, &nothing, &mut needs);
    }
    Ok(needs.into_list())
}

/// What no repository's file may say.
fn never(root: &Node, problems: &mut Problems) {
    let name = root.get("lamp").and_then(|lamp| lamp.get("name"));
    if let Some(name) = name
        && Driver::ALL.iter().any(|driver| Some(driver.as_str()) == name.text())
    {
        let what = format!("{} is a program of the server", said(name));
        problems.report(name.place, what, "give the agent a name of its own, as `fix-issue`");
    }
    for expose in found(root, &["sandbox", "variables", "[]", "expose"]) {
        if expose.text() == Some(Exposure::Env.as_str()) {
            let what = "a repository's agent gets no value of a secret";
            let help =
                "remove `expose: env`; only a file beside the server's `lamp.yaml` can say it";
            problems.report(expose.place, what, help);
        }
    }
    for push in found(root, &["sandbox", "push"]) {
        if push.text() == Some(Pusher::Agent.as_str()) {
            let what = "a repository's agent does not push past the inspection";
            let help =
                "remove `push: agent`; only a file beside the server's `lamp.yaml` can say it";
            problems.report(push.place, what, help);
        }
    }
    for phase in ["setup", "research", "implement", "review"] {
        for rule in found(root, &["egress", phase, "[]"]) {
            if rule.text().is_some_and(|text| text.trim().starts_with("model:")) {
                let what = "a repository's agent reaches its own model, and no other";
                problems.report(
                    rule.place,
                    what,
                    "remove the rule; the agent's own model needs none",
                );
            }
        }
    }
}

/// What this repository's file may not say, because its server does not grant it.
fn ungranted(root: &Node, granted: &Granted, problems: &mut Problems) {
    let own = granted.repository.as_str();
    let short = own.rsplit('/').next().unwrap_or(own);
    for name in found(root, &["sandbox", "repositories", "[]", "name"]) {
        if name.text().is_some_and(|text| text != ANY && text != own && text != short) {
            let what = format!("{} is another repository than `{own}`", said(name));
            let help = "remove it; whoever hands a task over names more repositories with `--repo`";
            problems.report(name.place, what, help);
        }
    }
    let services = found(root, &["sandbox", "services", "[]", "image"]);
    for image in found(root, &["sandbox", "image", "base"]).into_iter().chain(services) {
        let base = image.text().and_then(|text| text.parse::<ImageBase>().ok());
        if base.is_some_and(|base| !granted.images.contains(&base)) {
            let what = format!("the server does not grant `{own}` the image {}", said(image));
            let help = grant(own, "images", image);
            problems.report(image.place, what, help);
        }
    }
    for variable in found(root, &["sandbox", "variables", "[]"]) {
        let (Some(name), None) = (variable.get("name"), variable.get("value")) else { continue };
        if !granted.secrets.iter().any(|secret| Some(secret.as_str()) == name.text()) {
            let what = format!("the server does not grant `{own}` the secret {}", said(name));
            problems.report(name.place, what, grant(own, "secrets", name));
        }
    }
}

fn said(node: &Node) -> String {
    quoted(node.text().unwrap_or_default())
}

fn grant(repository: &str, key: &str, node: &Node) -> String {
    let value = node.text().unwrap_or_default();
    format!(
        "remove it, or have the server's `lamp.yaml` say `repositories: [{{ name: {repository}, {key}: [{value}] }}]`"
    )
}

#[cfg(test)]
#[path = "owned_tests.rs"]
mod tests;
