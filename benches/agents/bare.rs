//! A program on the host: with a home of its own, no walls, and no gateway before its model.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use agents::program::{Launch, Program};
use anyhow::{Context as _, bail};
use contracts::sandbox::HOME;
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use super::{
    LONGEST, cast::Actor, model::Scripted, project, shelf::Shelf, speech::Talk, verdict::Times,
};

/// Programs that every system has.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How long one may take to go by itself, as in our house.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Bare {
    program: &'static Program,
    launch: Launch,
    path: String,
    home: PathBuf,
    directory: PathBuf,
    /// What it is told: what ours was told, word for word.
    prompt: String,
}

impl Bare {
    /// Makes its home, and a checkout of the project.
    pub fn new(
        actor: Actor,
        shelf: &Shelf,
        scratch: &Path,
        project: &Path,
        port: u16,
        prompt: String,
    ) -> anyhow::Result<Self> {
        let program = actor.program()?;
        let home = scratch.join(format!("home-{actor}"));
        let directory = scratch.join(format!("project-{actor}"));
        project::check_out(project, &directory)?;
        let mut launch = actor.launch(port)?;
        let outward = |text: &String| text.replace(HOME, &home.to_string_lossy());
        launch.argv = launch.argv.iter().map(outward).collect();
        for file in &launch.files {
            let path = home.join(file.path);
            fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            fs::write(path, outward(&file.text))?;
        }
        if program.packages.is_empty() {
            let path = Path::new(launch.argv.first().context("nothing to start")?);
            fs::create_dir_all(path.parent().context("a program is in a directory")?)?;
            fs::write(path, programs::agent())?;
            fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        }
        fs::create_dir_all(&home)?;
        let mut path: Vec<String> = program.path().iter().map(|it| shelf.outward(it)).collect();
        path.push(PATH.to_owned());
        Ok(Self { program, launch, path: path.join(":"), home, directory, prompt })
    }

    /// Starts it, tells it what it is to do, and waits until it has answered.
    pub async fn speaks(&self, model: &Scripted) -> anyhow::Result<Times> {
        let speaking = async {
            model.forget();
            let begun = Instant::now();
            let mut running = self.start()?;
            let directory = self.directory.to_string_lossy();
            let spoke =
                running.talk.until_over(self.program.speech, &self.prompt, &directory).await?;
            let asked = model.first_asked().context("it asked no model")?;
            running.end().await?;
            anyhow::Ok(Times { briefed: None, asked: asked - begun, spoke: spoke - begun })
        };
        let spoken = timeout(LONGEST, speaking).await.context("it takes too long")?;
        spoken.with_context(|| format!("{} on the host", self.program.name))
    }

    /// Starts it, and waits until it waits for its model.
    pub async fn waits(&self, model: &Scripted) -> anyhow::Result<Running> {
        model.forget();
        let mut running = self.start()?;
        let directory = self.directory.to_string_lossy().into_owned();
        let speech = self.program.speech;
        let waiting = async {
            tokio::select! {
                over = running.talk.until_over(speech, &self.prompt, &directory) => {
                    over.and_then(|_spoke| bail!("it did not wait for its model"))
                }
                _ = model.until_asked() => anyhow::Ok(()),
            }
        };
        timeout(LONGEST, waiting)
            .await
            .context("it does not ask its model")?
            .with_context(|| format!("{} on the host", self.program.name))?;
        Ok(running)
    }

    fn start(&self) -> anyhow::Result<Running> {
        let (program, arguments) = self.launch.argv.split_first().context("nothing to start")?;
        // Looked up in its path and not in ours.
        let program = find(program, &self.path)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs([("PATH", self.path.as_str()), ("LANG", "C.UTF-8"), ("TERM", "dumb")])
            .env("HOME", &self.home)
            .envs(&self.launch.environment)
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let group = Group(group.context("it has ended")?);
        let talk = Talk::new(to.context("no input")?, from.context("no output")?);
        Ok(Running { talk, child, group })
    }
}

fn find(program: &str, path: &str) -> anyhow::Result<PathBuf> {
    let mut places = path.split(':').map(|directory| Path::new(directory).join(program));
    let found = places.find(|place| place.is_file());
    found.with_context(|| format!("there is no `{program}`"))
}

/// A program that runs, with all that it has started.
#[derive(Debug)]
pub struct Running {
    talk: Talk,
    child: Child,
    group: Group,
}

impl Running {
    /// Its first process.
    pub fn first(&self) -> u32 {
        self.group.0.as_raw_nonzero().get().unsigned_abs()
    }

    /// Lets it go, or ends it.
    pub async fn end(mut self) -> anyhow::Result<()> {
        self.talk.hang_up();
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.child.start_kill()?;
            self.child.wait().await?;
        }
        Ok(())
    }
}

/// Ends what a program has started, with it.
#[derive(Debug)]
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
