//! `lamp verify`: checks a signed receipt, row by row, as anybody can.
//!
//! For a file nothing is asked of any server: the receipt, public keys, and git in this directory are enough. Neither is it for a pull request where
//! the keys are named and this repository has its receipt, or no server answers. For a task, and otherwise, the receipt comes from the server, and
//! what it is compared with as far as the server and this directory know it.

use std::{
    io::{Read as _, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use domain::{
    code::{CommitId, RepositoryName},
    plan::Plan,
};
use evidence::{
    envelope::ENVELOPE_LIMIT,
    keys::TrustedKeys,
    receipt::TreeId,
    verify::{Finding, Known, Subject, Verified, verify},
};
use serde::Serialize;
use terminal::{
    colors::Colors,
    data_directory::{Account, DataFlag},
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
    report::Hint,
};
use wire::{
    client::Client,
    task::shown::{Task, TaskQuery},
};

use super::{
    World, held_against, named, receipt_here,
    repository::{git, here},
};
use crate::{
    remote::ServerFlag,
    timeline::{headline, put::put_line, words},
};

/// Check the signed receipt of a change: who asked, who approved what, what ran, and for which commit
///
/// A file is checked offline, with public keys alone; with `--keys`, so is a pull request whose receipt is in this repository, below `refs/lamp`. Rows that there is nothing to compare with are told as `unknown`, never as good. Ends with 1
/// when the receipt was not signed by a key that is trusted, was changed, or is about something else, and with 6 when it is true and says that nothing was proven.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    server: ServerFlag,

    /// A file with a receipt (`./FILE`, where its name has no dot), a task, or the number of a pull request
    #[arg(value_name = "FILE|TASK|PR")]
    what: String,

    /// A directory with the public keys that are trusted, or one such file [default: `keys/public` in the data directory]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,

    /// Compare with this commit of the repository here, such as `HEAD` or a branch
    #[arg(long, value_name = "REVISION")]
    commit: Option<String>,

    /// The repository of the pull request [default: the one that you are in]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    /// Also write the receipt to this file, so that it can be checked offline
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    #[command(flatten)]
    format: FormatFlag,
}

/// A receipt, and what is known of its change without it.
#[derive(Debug, Default)]
struct Given {
    envelope: Vec<u8>,
    repository: Option<RepositoryName>,
    commit: Option<CommitId>,
    tree: Option<TreeId>,
    plan: Option<Plan>,
    request: Option<String>,
}

#[derive(Debug, Serialize)]
struct Told {
    /// Whether it is true. An honest receipt that nothing was proven is.
    holds: bool,
    proven: bool,
    headline: String,
    signed_by: Vec<String>,
    commit: String,
    rows: Vec<ToldRow>,
}

#[derive(Debug, Serialize)]
struct ToldRow {
    subject: &'static str,
    finding: &'static str,
    detail: String,
}

impl Verify {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let trusted = self.trusted(world)?;
        let mut given = self.given(world).await?;
        if let Some(path) = &self.save {
            fs_err::write(path, &given.envelope)?;
        }
        if let Some(revision) = &self.commit {
            given.commit = Some(resolved(revision)?);
        }
        if let Some(commit) = &given.commit {
            // Where this directory has the commit, git says which files it is; where it has not, nobody does.
            given.tree = held_against::tree(Path::new("."), commit).ok();
        }
        let known = Known {
            repository: given.repository.as_ref(),
            commit: given.commit.as_ref(),
            tree: given.tree.as_ref(),
            plan: given.plan.as_ref(),
            request: given.request.as_deref(),
            ..Known::default()
        };
        let verified = verify(&given.envelope, &trusted, &known).map_err(|error| {
            anyhow!(error).context(Hint::new(
                "the receipt is not to be trusted",
                "get it again from where it was made, and the public keys from whoever runs that server",
            ))
        })?;
        match self.format.format() {
            Format::Json => {
                writeln!(out, "{}", words::json_page(&Versioned::new(told(&verified)))?)?;
            }
            Format::People => write!(out, "{}", page(&verified, world.colors))?,
        }
        Ok(match verified.checklist.finding() {
            Finding::Holds | Finding::Unknown => Exit::Done,
            Finding::Unproven => headline::UNPROVEN,
            Finding::DoesNotHold => Exit::Failed,
        })
    }

    fn trusted(&self, world: World<'_>) -> anyhow::Result<TrustedKeys> {
        let place = match &self.keys {
            Some(place) => place.clone(),
            None => DataFlag::default()
                .directory(world.environment, None, Account::own())?
                .join("keys/public"),
        };
        let keys = held_against::keys(&place).with_context(|| {
            Hint::new(
                "there are no keys to check the receipt with",
                "name those of the server that made it: `--keys DIR`; they are in `keys/public` of its data directory",
            )
        })?;
        if keys.is_empty() {
            bail!(Hint::new(
                format!("there is no key in `{}`", place.display()),
                "name the directory with the public keys of the server: `--keys DIR`"
            ));
        }
        Ok(keys)
    }

    async fn given(&self, world: World<'_>) -> anyhow::Result<Given> {
        // A plain word is never a file: whoever delivers one that is called as a number or as a task would choose what is verified.
        if self.what.contains(['/', '.']) {
            return from_file(Path::new(&self.what));
        }
        let number = self.what.parse::<u64>().ok().filter(|_| self.what.len() <= 9);
        if let (Some(number), Some(_)) = (number, &self.keys)
            && let Some(given) = self.of_pull_here(number)?
        {
            return Ok(given);
        }
        let client = self.server.client(world.environment)?;
        let Some(number) = number else {
            let task = named::find(&client, &self.what).await?;
            return of_task(&client, &task).await;
        };
        let error = match self.of_pull(&client, number).await {
            Ok(given) => return Ok(given),
            Err(error) => error,
        };
        self.of_pull_here(number)?.ok_or_else(|| {
            error.context(Hint::new(
                "neither a server nor this repository has its receipt",
                receipt_here::BRING,
            ))
        })
    }

    /// Out of the repository that we stand in, if it has the pull request.
    fn of_pull_here(&self, number: u64) -> anyhow::Result<Option<Given>> {
        let Some(found) = receipt_here::find(Path::new("."), number)? else { return Ok(None) };
        let repository = self.repo.as_ref().map(|name| name.parse()).transpose()?;
        let receipt_here::Found { envelope, commit } = found;
        Ok(Some(Given { envelope, repository, commit: Some(commit), ..Given::default() }))
    }

    async fn of_pull(&self, client: &Client, number: u64) -> anyhow::Result<Given> {
        let repository = match &self.repo {
            Some(name) => name.clone(),
            None => here()?.0,
        };
        let pull = client.pull(&repository, number).await.explained()?;
        let mut query = TaskQuery {
            repository: Some(repository.clone()),
            limit: Some(500),
            ..TaskQuery::default()
        };
        loop {
            let page = client.tasks(&query).await.explained()?;
            let found = page.tasks.iter().find(|it| it.pull_request == Some(number));
            if let Some(found) = found {
                let task = client.task(&found.id).await.explained()?;
                let given = of_task(client, &task).await?;
                // What the branch is at now, whoever pushed it.
                let head = pull.head.unwrap_or(pull.delivered);
                return Ok(Given { commit: Some(head.parse()?), ..given });
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => {
                    bail!("no task of this server made pull request {number} of `{repository}`")
                }
            }
        }
    }
}

fn from_file(path: &Path) -> anyhow::Result<Given> {
    if !path.is_file() {
        bail!(Hint::new(
            format!("there is no file `{}`", words::line(&path.display().to_string(), 200)),
            "name a file with a receipt, a task, or the number of a pull request"
        ));
    }
    let mut envelope = Vec::new();
    let most = u64::try_from(ENVELOPE_LIMIT).unwrap_or(u64::MAX).saturating_add(2);
    fs_err::File::open(path)?.take(most).read_to_end(&mut envelope)?;
    // Editors and shells like to end a file with a line's end; the receipt has none.
    if envelope.last() == Some(&b'\n') {
        envelope.pop();
    }
    Ok(Given { envelope, ..Given::default() })
}

async fn of_task(client: &Client, task: &Task) -> anyhow::Result<Given> {
    let receipt = client.task_receipt(&task.id).await.explained()?;
    let plan = client.task_plan(&task.id).await.explained()?.plan;
    Ok(Given {
        // The server sends it in its one spelling; its keys stand in the order of their letters.
        envelope: receipt.to_string().into_bytes(),
        repository: task.repositories.first().map(|it| it.name.parse()).transpose()?,
        commit: task.commit.as_ref().map(|it| it.parse()).transpose()?,
        tree: None,
        plan: held_against::plan(&plan),
        request: Some(task.text.clone()),
    })
}

fn resolved(revision: &str) -> anyhow::Result<CommitId> {
    let word = format!("{revision}^{{commit}}");
    let commit = git(Path::new("."), &["rev-parse", "--verify", "--end-of-options", &word])
        .with_context(|| {
            format!("`{}` is no commit of this repository", words::line(revision, 100))
        })?;
    Ok(commit.parse()?)
}

fn told(verified: &Verified) -> Told {
    let rows = verified.checklist.rows().iter().map(|row| ToldRow {
        subject: row.subject.name(),
        finding: row.finding.name(),
        detail: row.detail.clone(),
    });
    Told {
        holds: verified.checklist.finding() != Finding::DoesNotHold,
        proven: is_proven(verified),
        headline: verified.statement.receipt.headline().to_string(),
        signed_by: verified.signed_by.iter().map(ToString::to_string).collect(),
        commit: verified.statement.commit.to_string(),
        rows: rows.collect(),
    }
}

fn is_proven(verified: &Verified) -> bool {
    let row = verified.checklist.of(Subject::Checks);
    row.is_some_and(|row| row.finding == Finding::Holds)
}

fn page(verified: &Verified, colors: Colors) -> String {
    let mut text = String::new();
    let (mut wrong, mut unknown) = (0_u64, 0_u64);
    for row in verified.checklist.rows() {
        let name = format!("{:<13}", row.finding.name());
        let finding = match row.finding {
            Finding::Holds => colors.good(name),
            Finding::DoesNotHold => {
                wrong += 1;
                colors.bad(name)
            }
            Finding::Unproven => colors.warning(name),
            Finding::Unknown => {
                unknown += 1;
                colors.weak(name)
            }
        };
        let detail = words::line(&row.detail, 600);
        put_line!(text, "{:<10}  {finding}  {detail}", row.subject.name());
    }
    let commit = words::short(&verified.statement.commit.to_string());
    let has_commit =
        verified.checklist.of(Subject::Commit).is_some_and(|row| row.finding != Finding::Unknown);
    if !has_commit {
        put_line!(
            text,
            "\nTo compare it with a commit that you have: `--commit REVISION`, in its repository."
        );
    }
    let conclusion = match (wrong, unknown) {
        (0, 0) => format!("\nThe receipt of commit {commit} holds.\n"),
        (0, _) => format!(
            "\nWhat could be compared holds for commit {commit}; {} could not.\n",
            crate::amount::count(unknown, "row")
        ),
        (_, _) => format!(
            "\nThe receipt does NOT hold: look at the rows above. It is about commit {commit}.\n"
        ),
    };
    text.push_str(&conclusion);
    let headline = verified.statement.receipt.headline();
    // That it holds says who did what; what the checks are worth is said beside it.
    if !is_proven(verified) {
        put_line!(text, "It is true, and says: {}.", colors.warning(headline.to_string()));
    }
    if let Some(warning) = headline.warning() {
        put_line!(text, "  ! {warning}");
    }
    text
}
