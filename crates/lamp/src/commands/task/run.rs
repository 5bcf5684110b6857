//! `lamp run`: hands a task over, and watches it.

use std::{io::Write, path::PathBuf};

use anyhow::bail;
use contracts::ids::{IdSource as _, SystemIds};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::explain,
    report::Hint,
};
use wire::{
    client::{Client, ClientError},
    task::{
        NewTask,
        new::{BegunTasks, PARALLEL, Variant},
        shown::Task,
        stream::Cursor,
    },
};

use super::{
    World,
    dollars::Dollars,
    repository::{self, Chosen},
    words_flag,
};
use crate::{
    remote::ServerFlag,
    timeline::{
        EXIT_CODES, Page, Until, Watching, last_words, next_steps, put::put_line, watch, words,
    },
};

/// How often a task is handed over when the answer was lost. The key makes it one task.
const TRIES: u32 = 3;

/// Hand over a task: what should be different, in your words
///
/// An agent looks at the repository and plans; you approve the plan; only then it works. Checks and a second agent look at its change, which
/// becomes a pull request. In a git repository that one is meant, as it is committed. On a terminal the task is watched: questions and the plan are
/// asked about right there, and `q` or Ctrl-C leaves it to go on by itself. Elsewhere each event is a line, or with `--json` a document on a line.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Run {
    #[command(flatten)]
    server: ServerFlag,

    /// What is wanted; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// A file with what is wanted
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,

    /// Where: a path, an address, `NAME=URL`, or a name that the server knows; the first is changed, more are read; may be repeated
    /// [default: the repository that you are in]
    #[arg(long = "repo", value_name = "REPO")]
    repositories: Vec<String>,

    /// Who works: a program as `lamp agent list` names it, or a file of `agents/`; `command` and `acp` only work from such a file; several work on the same side by side
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,

    /// The model that it asks; several work on the same side by side [default: its own choice]
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,

    /// Stop watching when the plan is there; it then waits for your approval
    #[arg(long, conflicts_with = "detach")]
    plan_only: bool,

    /// How often its checks may fail before it asks for help
    #[arg(long, value_name = "N", value_parser = attempts, allow_negative_numbers = true)]
    attempts: Option<u8>,

    /// Have so many work on the same side by side, so that you can `lamp pick` one; none of them is watched
    #[arg(long, value_name = "N", value_parser = parallel, allow_negative_numbers = true)]
    parallel: Option<u8>,

    /// What each may spend, such as `5`
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    budget: Option<Dollars>,

    /// Watch it until it waits for somebody or is over; this is so unless something else is said
    #[arg(long, conflicts_with_all = ["detach", "parallel"])]
    watch: bool,

    /// Do not watch it
    #[arg(long, short)]
    detach: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Run {
    pub(super) async fn run(
        &self,
        world: World<'_>,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let format = self.format.format();
        let text = words_flag::read(
            self.file.as_deref(),
            self.text.as_deref(),
            "say what should be different: `lamp run \"fix the failing test\"`",
        )?;
        let (agents, models) = (self.agents.len(), self.models.len());
        if agents > 1 && models > 1 && agents != models {
            bail!(Hint::new(
                format!("{agents} agents and {models} models cannot work in pairs"),
                "name as many models as agents, or one of them once"
            ));
        }
        let client = self.server.client(world.environment)?;
        let chosen = repository::choose(&client, &self.repositories).await?;
        // What a person has to know, whatever becomes of the output.
        for it in &chosen {
            write!(err, "{}", it.told())?;
        }
        let tasks = begin(&client, &self.wish(text, chosen)).await?;
        let is_watched = !self.detach && tasks.len() == 1;
        if let ([task], true) = (tasks.as_slice(), is_watched) {
            return self.watched(world, &client, task, out, err).await;
        }
        match format {
            Format::Json => {
                let begun = BegunTasks { tasks };
                writeln!(out, "{}", words::json_page(&Versioned::new(&begun))?)?;
            }
            Format::People => write!(out, "{}", begun(&tasks))?,
        }
        Ok(Exit::Done)
    }

    fn wish(&self, text: String, chosen: Vec<Chosen>) -> NewTask {
        NewTask {
            text,
            repositories: chosen.into_iter().map(|it| it.wish).collect(),
            agent: only(&self.agents),
            model: only(&self.models),
            attempts: self.attempts,
            parallel: self.parallel,
            variants: variants(&self.agents, &self.models),
            budget_micros: self.budget.map(|Dollars(micros)| micros),
        }
    }

    async fn watched(
        &self,
        world: World<'_>,
        client: &Client,
        task: &Task,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let format = self.format.format();
        let audience = world.audience(format);
        if format == Format::People {
            writeln!(err, "Task {}.", task.short)?;
        }
        let mut page = Page::new(audience, world.colors, out);
        page.task(task)?;
        let watching = Watching {
            client,
            task: task.clone(),
            from: Cursor::default(),
            until: if self.plan_only { Until::PlanReady } else { Until::Rests },
            company: World::company(format)?,
        };
        let (ending, task) = watch(watching, &mut page).await?;
        if format == Format::People {
            // What comes last on a terminal is what is read; elsewhere lines stay lines of events.
            let said = last_words(ending, &task);
            if page.moves() {
                page.text(&said)?;
            } else {
                write!(err, "{said}")?;
            }
        }
        Ok(ending.exit())
    }
}

fn attempts(text: &str) -> Result<u8, String> {
    between(text, 1, 100)
}

fn parallel(text: &str) -> Result<u8, String> {
    between(text, 1, PARALLEL)
}

fn between(text: &str, least: u8, most: u8) -> Result<u8, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("write a number from {least} to {most}"))
}

/// The one that was named, where it is one.
fn only(named: &[String]) -> Option<String> {
    match named {
        [one] => Some(one.clone()),
        [] | [_, _, ..] => None,
    }
}

/// Who works on each attempt, where several agents or models were named: the first with the first, and so on.
fn variants(agents: &[String], models: &[String]) -> Vec<Variant> {
    let several = |named: &[String]| if named.len() > 1 { named.to_vec() } else { Vec::new() };
    let (agents, models) = (several(agents), several(models));
    (0..agents.len().max(models.len()))
        .map(|at| Variant { agent: agents.get(at).cloned(), model: models.get(at).cloned() })
        .collect()
}

async fn begin(client: &Client, wish: &NewTask) -> anyhow::Result<Vec<Task>> {
    let key = uuid::Uuid::from_u128(SystemIds.next()).to_string();
    let mut tries = 0;
    loop {
        tries += 1;
        match client.begin_task(wish, &key).await {
            Ok(tasks) if tasks.is_empty() => {
                bail!(Hint::new("the server began no task", "look at its log"))
            }
            Ok(tasks) => return Ok(tasks),
            Err(ClientError::Broken { .. }) if tries < TRIES => {}
            Err(error) => return Err(explain(error)),
        }
    }
}

/// What was begun and is not watched.
fn begun(tasks: &[Task]) -> String {
    match tasks {
        [task] => format!("Task {} was handed over.\n{}", task.short, next_steps(task)),
        tasks => {
            let mut text = format!("{} tasks were handed over, side by side:\n", tasks.len());
            for task in tasks {
                put_line!(text, "  {}  {}", task.short, words::line(&task.agent, 60));
            }
            text.push_str("  lamp list       shows where they stand\n");
            text.push_str("  lamp pick TASK  keeps one of them, and cancels the others\n");
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn several_agents_or_models_work_side_by_side() {
        let all = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let told = |agents: &[&str], models: &[&str]| {
            let (agents, models) = (all(agents), all(models));
            let pairs = variants(&agents, &models).into_iter().map(|it| (it.agent, it.model));
            (only(&agents), only(&models), pairs.collect::<Vec<_>>())
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(told(&[], &[]), (None, None, Vec::new()));
        assert_eq!(told(&["a"], &["m"]), (some("a"), some("m"), Vec::new()));
        let pairs = vec![(some("a"), None), (some("b"), None)];
        assert_eq!(told(&["a", "b"], &["m"]), (None, some("m"), pairs));
        let pairs = vec![(some("a"), some("m")), (some("b"), some("n"))];
        assert_eq!(told(&["a", "b"], &["m", "n"]), (None, None, pairs));
    }

    #[test]
    fn what_was_begun_says_how_to_go_on() {
        let task = samples::waiting_for_approval();
        let told = [begun(std::slice::from_ref(&task)), begun(&[task.clone(), task])];
        insta::assert_snapshot!(told.join("---\n"));
    }
}
