//! The page of bundles for people, made from the tables that decide.

use std::fmt::Write as _;

use domain::policy::{Ecosystem, ModelProvider};

use super::{
    github::{self, GithubHosts},
    model, registries,
};
use crate::github::{graphql, rest};

/// Markdown.
pub fn page() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let mut page = String::new();
    let public = GithubHosts::public()?;
    writeln!(page, "## `github`\n\n{}.\n", github::about()?)?;
    writeln!(page, "- git: `{}`", public.git)?;
    writeln!(
        page,
        "- API: `{}`; a write only if it is one of the task's own operations",
        public.api
    )?;
    let reading: Vec<String> = public.reading.iter().map(|host| format!("`{host}`")).collect();
    writeln!(page, "- `GET` and `HEAD`: {}\n", reading.join(", "))?;
    writeln!(page, "Writes of the API, where the task has the right to push:\n")?;
    writeln!(page, "| request | what it does |\n|---|---|")?;
    for (method, path, name) in rest::reference() {
        writeln!(page, "| `{method} {path}` | {name} |")?;
    }
    for (field, name) in graphql::reference() {
        writeln!(page, "| GraphQL `{field}` | {name} |")?;
    }
    writeln!(page)?;
    writeln!(
        page,
        "## `git:HOST/REPOSITORY`\n\nGit's smart protocol over HTTPS, of one repository: fetching, and pushing where the task has the right.\n"
    )?;
    writeln!(
        page,
        "## `registry:…`\n\n`GET` and `HEAD` at the places that the package manager is set up for. They are asked for when an image is made:\n"
    )?;
    writeln!(page, "| bundle | commands | files | variables |\n|---|---|---|---|")?;
    for ecosystem in Ecosystem::ALL {
        let sources = registries::sources(ecosystem);
        let listed = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|it| format!("`{it}`")).collect();
            if words.is_empty() { "-".to_owned() } else { words.join(", ") }
        };
        let all = sources.commands.iter().chain(sources.complaints);
        let programs: Vec<&str> = all.filter_map(|words| words.first().copied()).collect();
        let files = listed(sources.files);
        let variables = listed(sources.variables);
        writeln!(
            page,
            "| `registry:{}` | {} | {files} | {variables} |",
            ecosystem.as_str(),
            listed(&programs)
        )?;
    }
    writeln!(page, "\n`registries:` in `lamp.yaml` names other hosts instead.\n")?;
    for which in ModelProvider::ALL {
        let provider = model::provider(which)?;
        writeln!(page, "## `model:{}`\n\n{}.\n", which.as_str(), provider.about)?;
        if let Some(place) = provider.place() {
            writeln!(
                page,
                "At `{place}`, and inside at `http://{}/{}{}/`.\n",
                model::INSIDE_HOST,
                which.as_str(),
                provider.inside()
            )?;
        }
        writeln!(page, "| operation | metered |\n|---|---|")?;
        for operation in &provider.operations {
            let metered = if operation.costs.is_some() { "yes" } else { "no" };
            writeln!(
                page,
                "| `{} {}` | {metered} |",
                operation.method.as_str(),
                operation.path.as_str()
            )?;
        }
        let stripped: Vec<String> = provider.strip().iter().map(|it| format!("`{it}`")).collect();
        writeln!(page, "\nTaken out of every request: {}.", stripped.join(", "))?;
        let tools: Vec<String> = provider.tools.iter().map(|it| format!("`{it}`")).collect();
        writeln!(
            page,
            "Tools that may be used, because they run in the sandbox: {}.\n",
            tools.join(", ")
        )?;
    }
    writeln!(
        page,
        "## `cloud:aws`, `cloud:gcp`, `cloud:azure`\n\nOff until `clouds:` in `lamp.yaml` lists the hosts that are meant. All methods, over HTTPS.\n"
    )?;
    writeln!(
        page,
        "## `internal:NAME`\n\nA private host from `internal:` in `policy.yaml`, at its ports and its addresses, with its own authority. All methods."
    )?;
    Ok(page)
}
