//! `lamp why`: from a line to the task, the plan and the approval behind it.

use std::{io::Write, path::Path};

use anyhow::anyhow;
use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
    report::Hint,
};
use wire::why::{self as shape, WhyQuery};

use super::{
    World,
    repository::{git, here},
};
use crate::{
    amount,
    remote::ServerFlag,
    timeline::{put::put_line, words},
};

/// Say why a line is there: the task, its plan, who approved it, and what the agent thought
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    #[command(flatten)]
    server: ServerFlag,

    /// A line of a file, such as `src/login.rs:12`
    #[arg(value_name = "PATH:LINE", value_parser = line)]
    line: (String, u32),

    /// The repository, and the path then begins at its top [default: the one that you are in]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

fn line(text: &str) -> Result<(String, u32), String> {
    let wrong = || format!("`{text}` is no line of a file: write it as `src/login.rs:12`");
    let (path, number) = text.rsplit_once(':').ok_or_else(wrong)?;
    let number: u32 = number.parse().map_err(|_| wrong())?;
    if path.is_empty() || number == 0 {
        return Err(wrong());
    }
    Ok((path.to_owned(), number))
}

impl Why {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let client = self.server.client(world.environment)?;
        let (path, line) = self.line.clone();
        let (repository, path) = match &self.repo {
            Some(name) => (name.clone(), path),
            None => (here()?.0, inside(&path)?),
        };
        let why = client.why(&WhyQuery { repository, path, line }).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&why))?)?,
            Format::People => write!(out, "{}", page(&why, world.colors))?,
        }
        Ok(Exit::Done)
    }
}

/// A path as the repository calls it, from one as we see it from here.
fn inside(path: &str) -> anyhow::Result<String> {
    let prefix = git(Path::new("."), &["rev-parse", "--show-prefix"])?;
    let mut words: Vec<&str> = prefix.split('/').filter(|word| !word.is_empty()).collect();
    for word in path.split('/') {
        match word {
            "" | "." => {}
            ".." => {
                words.pop().ok_or_else(|| {
                    anyhow!(Hint::new(
                        format!("`{path}` is outside of this repository"),
                        "name the other one with `--repo`"
                    ))
                })?;
            }
            word => words.push(word),
        }
    }
    Ok(words.join("/"))
}

fn page(why: &shape::Why, colors: Colors) -> String {
    let place = words::line(&format!("{}:{}", why.path, why.line), 300);
    let mut text = format!("{}\n", colors.strong(place));
    if let Some(line) = &why.text {
        text.push_str(&words::block(line, 4, 1));
    }
    let subject = why.subject.as_ref().map(|it| format!("  {}", words::line(it, 200)));
    put_line!(text, "commit    {}{}", words::short(&why.commit), subject.unwrap_or_default());
    let Some(origin) = &why.origin else {
        return text + "No task wrote this line.\n";
    };
    let task = words::line(&origin.task, 40);
    put_line!(text, "task      {task}  {}", words::line(&origin.title, 200));
    put_line!(text, "asked by  {}", words::person(&origin.requester));
    if let Some(number) = origin.pull_request {
        put_line!(text, "pull      #{number}");
    }
    if let Some(plan) = &origin.plan {
        let words = format!("{}  {}", words::short(&plan.hash), words::line(&plan.summary, 300));
        put_line!(text, "plan      {words}");
        if let Some(of_file) = &plan.of_file {
            put_line!(text, "          this file: {}", words::line(of_file, 300));
        }
    }
    if let Some(approval) = &origin.approval {
        let at = amount::moment(approval.at.as_millis());
        put_line!(text, "approved  by {} at {at}", words::person(&approval.by));
    }
    if !origin.reasoning.is_empty() {
        text.push_str("\nWhat the agent said while it worked; it proves nothing:\n");
        for said in &origin.reasoning {
            text.push_str(&words::block(said, 2, 12));
        }
    }
    text + &format!("\n`lamp log {task}` shows the whole story.\n")
}

#[cfg(test)]
mod tests {
    use wire::why::{WhyApproval, WhyOrigin, WhyPlan};

    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_line_of_a_file_is_read() {
        assert_eq!(line("a:b.rs:12"), Ok(("a:b.rs".to_owned(), 12)));
        for wrong in ["", "a", "a:", "a:0", "a:x", ":1", "a:-1"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_leads_to_its_task_plan_and_approval() {
        let origin = WhyOrigin {
            task: samples::ID.to_owned(),
            title: "fix the flaky login test".to_owned(),
            requester: samples::ann(),
            pull_request: Some(7),
            plan: Some(WhyPlan {
                hash: samples::HASH.to_owned(),
                summary: "Wait for the session.".to_owned(),
                of_file: Some("await the session".to_owned()),
            }),
            approval: Some(WhyApproval { by: samples::ann(), at: samples::at(90) }),
            reasoning: vec!["The race is \u{1b}[2Jhere.".to_owned()],
        };
        let why = shape::Why {
            repository: "acme/web".to_owned(),
            path: "tests/login.rs".to_owned(),
            line: 12,
            commit: samples::COMMIT.to_owned(),
            text: Some("    session.await;".to_owned()),
            subject: Some("Wait for the session".to_owned()),
            origin: Some(origin),
        };
        let older = shape::Why { origin: None, text: None, subject: None, ..why.clone() };
        insta::assert_snapshot!([why, older].map(|it| page(&it, Colors::OFF)).join("---\n"));
    }
}
