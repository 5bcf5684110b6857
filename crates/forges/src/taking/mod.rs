//! The agent's work comes out of its sandbox as git objects, is looked at, and becomes a commit of ours.
//!
//! ```text
//!  sandbox: script ──pack──▶ quarantine ──▶ inspection ──▶ commit ──▶ mirror, refs/lamp/tasks/<task>/<key>
//!           (not believed)   index-pack      pure           ours       only what the commit reaches
//! ```
//!
//! Invariant: nothing from a sandbox is in the mirror that was not inspected. The ref is written last and never changed: who
//! asks again with the same key gets the same commit, whatever happened meanwhile inside.

mod commit;
pub mod heading;
mod left;
mod quarantine;
mod script;

use contracts::{
    Key,
    forge::{Change, ForgeError, Taking},
    sandbox::{CommandName, Cut, Ended, Exec, HandedOver, Input, SandboxError, Sandboxes, Streams},
};
use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
};
use git::{GitError, Mirror, ObjectName, RefName};
use tokio::sync::mpsc;

pub(crate) use commit::write as write_commit;
use quarantine::Quarantine;

use crate::{
    host::{GitHost, HostError},
    inspection::{Flag, Inspector, Mode, Policy, Refused, Touched},
    refs,
};

#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// With every path, reason and remedy.
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("nothing was changed")]
    NothingChanged,
    /// What came out is not what git makes.
    #[error("its objects are not sound: {reason}")]
    Objects { reason: String },
    #[error(
        "it is larger than {limit} bytes: leave out what is generated (with .gitignore), or raise the limit"
    )]
    LargePack { limit: u64 },
    /// The script inside did not end well. What it said was said by the sandbox.
    #[error("it could not be collected: {reason}")]
    Inside { reason: String },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("{0}")]
    Git(String),
}

impl From<GitError> for TakeError {
    fn from(error: GitError) -> Self {
        Self::Git(error.to_string())
    }
}

/// What git could not do with objects that came out of a sandbox is their fault, unless git itself could not work.
fn fault_of_objects(error: GitError) -> TakeError {
    match error {
        GitError::Io(_) | GitError::Killed => error.into(),
        GitError::Failed { .. }
        | GitError::OutOfTime
        | GitError::TooMuch { .. }
        | GitError::Strange { .. } => TakeError::Objects { reason: error.to_string() },
    }
}

impl From<TakeError> for ForgeError {
    fn from(error: TakeError) -> Self {
        let reason = error.to_string();
        match error {
            TakeError::NothingChanged => Self::NothingChanged,
            TakeError::Host(HostError::NoRepository(repository)) => Self::NoRepository(repository),
            TakeError::Refused(_)
            | TakeError::Objects { .. }
            | TakeError::LargePack { .. }
            | TakeError::Inside { .. }
            | TakeError::Host(HostError::Refused { .. }) => Self::Refused { reason },
            TakeError::Sandbox(_) | TakeError::Host(HostError::Busy { .. }) | TakeError::Git(_) => {
                Self::Busy { reason }
            }
        }
    }
}

/// Takes the work, or finds that it was taken.
pub(crate) async fn take<S: Sandboxes>(
    host: &GitHost,
    sandboxes: &S,
    key: Key,
    taking: &Taking,
) -> Result<Change, TakeError> {
    let mirror = host.mirror(&taking.repository)?;
    let objects = sandboxes.objects_inside(taking.sandbox, &taking.repository);
    let objects = objects.map_err(HostError::from)?;
    let (git, custom) = (host.git(), &host.custom);
    let judge = Judge { policy: custom.policy(taking.workflows), base: &taking.base };
    let name = ref_of(key);
    let quarantine =
        Quarantine::open(&host.scratch(), git, &mirror.path, &taking.base, custom.limits).await?;
    if let Some(commit) = git.resolve(&mirror.path, &name).await? {
        let seen = inspect(host, &quarantine, &judge, commit.as_str()).await?;
        return Ok(seen.change(commit));
    }
    let handed = sandboxes.handed_over(taking.sandbox, &taking.repository);
    let handed = handed.map_err(HostError::from)?;
    let command = script::command(taking, &objects, custom.limits);
    let inside = Inside { command, given: left::handed(&handed) };
    let tree = bring_out(sandboxes, key, taking, inside, &quarantine).await?;
    quarantine.check_whole(&tree, &taking.base).await?;
    let tree = without_leftovers(&quarantine, &handed, taking, tree).await?;
    let parent_tree = format!("{}^{{tree}}", taking.parent);
    let before = git.ask("find a tree", &quarantine.path(), &["rev-parse", &parent_tree]).await?;
    if before == tree.as_str() {
        return Err(TakeError::NothingChanged);
    }
    let seen = inspect(host, &quarantine, &judge, tree.as_str()).await?;
    if seen.touched.is_empty() {
        return Err(TakeError::NothingChanged);
    }
    let commit = commit::commit(git, &quarantine.path(), tree.as_str(), taking, custom).await?;
    let commit = keep(host, &taking.repository, &mirror, &quarantine, &name, commit).await?;
    Ok(seen.change(commit))
}

/// The same tree, but for what was there before the agent began.
async fn without_leftovers(
    quarantine: &Quarantine,
    handed: &HandedOver,
    taking: &Taking,
    tree: ObjectName,
) -> Result<ObjectName, TakeError> {
    if handed.touched.is_empty() {
        return Ok(tree);
    }
    let touched = quarantine.touched(&taking.base, tree.as_str()).await?;
    match left::undoing(handed, &touched, &tree) {
        nothing if nothing.is_empty() => Ok(tree),
        lines => quarantine.with_entries(&tree, &lines).await,
    }
}

/// What runs inside, and what it is given to read.
struct Inside {
    command: Exec,
    given: Vec<u8>,
}

/// Runs the script inside, and has what it sends taken into the quarantine.
async fn bring_out<S: Sandboxes>(
    sandboxes: &S,
    key: Key,
    taking: &Taking,
    Inside { command, given }: Inside,
    quarantine: &Quarantine,
) -> Result<ObjectName, TakeError> {
    // Another name each time: a command that ended is not run again, and what it said is gone.
    let name = CommandName::new(format!("{} {key}", quarantine.name()));
    let (giving, input) = mpsc::channel(1);
    let (sender, output) = mpsc::channel(16);
    let give = async {
        for piece in given.chunks(PIECE) {
            // A script that does not listen is not asked for more than it does.
            if giving.send(Input::Bytes(piece.to_vec())).await.is_err() {
                break;
            }
        }
        drop(giving);
        Ok(())
    };
    let running = async {
        let streams = Streams { input, output: sender };
        Ok(sandboxes.exec(taking.sandbox, &name, &command, streams).await?)
    };
    // The sandbox keeps the time inside; this is for what is done with it here.
    let longest = command.limit.saturating_mul(2);
    let all = async { tokio::try_join!(running, quarantine.receive(output), give) };
    let late = |_| TakeError::Inside { reason: "it took too long".to_owned() };
    let (finished, (heading, complaint), ()) =
        tokio::time::timeout(longest, all).await.map_err(late)??;
    if finished.cut == Cut::Cut {
        return Err(TakeError::LargePack { limit: quarantine.pack_bytes() });
    }
    let ended = match finished.ending {
        Ended::Exited(0) => None,
        Ended::Exited(code) => Some(format!("it ended with {code}")),
        Ended::Killed { signal } => Some(format!("it was killed by signal {signal}")),
        Ended::TimedOut => Some("it took too long".to_owned()),
        Ended::OutOfMemory { .. } => Some("it had not enough memory".to_owned()),
    };
    match (ended, heading) {
        (None, Some(heading)) => Ok(heading.tree),
        (None, None) => Err(TakeError::Inside { reason: "it sent nothing".to_owned() }),
        (Some(ended), _) if complaint.is_empty() => Err(TakeError::Inside { reason: ended }),
        (Some(ended), _) => Err(TakeError::Inside { reason: format!("{ended}: {complaint}") }),
    }
}

/// Bytes that a script is given in one go.
const PIECE: usize = 64 << 10;

/// What a tree is held against.
struct Judge<'t> {
    policy: Policy,
    base: &'t CommitId,
}

/// What was found out about a tree.
struct Seen {
    touched: Vec<Touched>,
    flags: Vec<Flag>,
}

impl Seen {
    fn change(self, commit: CommitId) -> Change {
        let path = |one: &Touched| String::from_utf8_lossy(&one.path).into_owned();
        let paths = self.touched.iter().map(path).collect();
        let flags = self.flags.into_iter().map(Flag::told).collect();
        Change { commit, difference: difference(&self.touched), paths, flags }
    }
}

/// Looks at everything that is different from the base. `tree` is a tree or a commit.
async fn inspect(
    host: &GitHost,
    quarantine: &Quarantine,
    judge: &Judge<'_>,
    tree: &str,
) -> Result<Seen, TakeError> {
    let touched = quarantine.touched(judge.base, tree).await?;
    let mut inspector = Inspector::new(&judge.policy, &*host.secrets);
    inspector.outline(&touched);
    if touched.len() <= judge.policy.limits.files {
        let names = quarantine.names(tree).await?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        inspector.meetings(&touched, names);
        look_inside(&mut inspector, quarantine, judge.policy.limits.file_bytes, &touched).await?;
    }
    Ok(Seen { flags: inspector.verdict()?, touched })
}

/// Sizes first: nothing is read that is too large to be delivered.
async fn look_inside<S: crate::inspection::KnownSecrets + ?Sized>(
    inspector: &mut Inspector<'_, S>,
    quarantine: &Quarantine,
    limit: u64,
    touched: &[Touched],
) -> Result<(), TakeError> {
    let mut blobs = quarantine.blobs()?;
    for one in touched {
        if let Some(object) = one.new_content() {
            let size = blobs.size(object).await.map_err(fault_of_objects)?;
            inspector.size(&one.path, size);
        }
    }
    if inspector.is_refused() {
        return Ok(());
    }
    for one in touched {
        let Some(object) = one.new_content() else { continue };
        let new = blobs.read(object, limit).await.map_err(fault_of_objects)?;
        let old = match old_content(one, touched) {
            // Too large to be compared: then everything in the new one counts.
            Some(object) if blobs.size(object).await? > limit => None,
            Some(object) => Some(blobs.read(object, limit).await?),
            None => None,
        };
        inspector.content(one, old.as_deref(), &new);
    }
    Ok(())
}

/// What stood at the path before; or, for a file that only moved, what stood at its old one.
fn old_content<'t>(one: &'t Touched, touched: &'t [Touched]) -> Option<&'t ObjectName> {
    let is_content = |mode: Mode| match mode {
        Mode::File | Mode::Executable | Mode::Symlink | Mode::Other(_) => true,
        Mode::Submodule => false,
    };
    if let Some(before) = &one.before {
        return is_content(before.mode).then_some(&before.object);
    }
    let new = one.new_content()?;
    let moved = touched.iter().filter(|other| other.after.is_none());
    moved
        .filter_map(|other| other.before.as_ref())
        .find(|before| before.object == *new)
        .map(|it| &it.object)
}

/// Of modes, contents and paths: the same change has the same hash, whatever commit it stands in.
fn difference(touched: &[Touched]) -> Digest {
    let mut bytes = b"lamp difference 1\0".to_vec();
    for one in touched {
        for side in [&one.before, &one.after] {
            let text = side.as_ref().map(|side| format!("{:?} {}", side.mode, side.object));
            bytes.extend(text.unwrap_or_default().bytes());
            bytes.push(0);
        }
        bytes.extend((one.path.len() as u64).to_be_bytes());
        bytes.extend(&one.path);
    }
    Digest::of(&bytes)
}

/// Brings the commit, and nothing that it does not reach, into the mirror.
async fn keep(
    host: &GitHost,
    repository: &RepositoryName,
    mirror: &Mirror,
    quarantine: &Quarantine,
    name: &RefName,
    commit: CommitId,
) -> Result<CommitId, TakeError> {
    let git = host.git();
    let taken = ["update-ref", "refs/heads/taken", commit.as_str()];
    git.ask("name the commit", &quarantine.path(), &taken).await?;
    let _alone = host.alone(repository).await?;
    if let Some(first) = git.resolve(&mirror.path, name).await? {
        return Ok(first);
    }
    let from = quarantine.path().display().to_string();
    let into = format!("refs/heads/taken:{name}");
    let fetch = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-prune",
        "--no-auto-maintenance",
        "--no-write-fetch-head",
    ];
    let fetch: Vec<&str> = fetch.into_iter().chain(["--refmap=", "--", &from, &into]).collect();
    git.ask("keep the commit", &mirror.path, &fetch).await?;
    Ok(commit)
}

/// `refs/lamp/tasks/t_…/12-change-0`.
fn ref_of(key: Key) -> RefName {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let part: String = key.part.chars().map(plain).collect();
    refs::task(&format!("{}/{}-{part}-{}", key.task, key.seq, key.number))
}
