//! An engine that is cut off in the middle of a step, and comes back when its task is over.
//!
//! It plays in a thread of its own, on a runtime that has no other thread, and everything in it stands
//! still when the thread does: it renews no lease and hears nothing, as a process that was frozen, or
//! a machine that was cut off. What it does when it comes back must not cost anything that nobody
//! writes down, and must not hand out credentials.

use std::{
    mem::discriminant,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
};

use contracts::{
    Key,
    forge::{Blamed, Change, Comparison, Delivery, Files, ForgeError, Forges, PullRequest, Taking},
    secret::{SecretError, SecretName, SecretSource, SecretValue},
};
use domain::{
    code::{CommitId, RepositoryName},
    id::{SandboxId, TaskId},
    money::Money,
    task::{Ask, Stage, Task},
};
use engine::{Engine, Hands, Settings};
use testkit::{
    ann,
    clock::AnyClock,
    ids::SystemIds,
    ledger::Ledger,
    people,
    world::{
        PRICE, ScriptedAgents, ScriptedChannels, ScriptedForges, ScriptedOrders, ScriptedOutfits,
        ScriptedPulls, ScriptedSandboxes, ScriptedSecrets, World,
    },
};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Running, is_over};

/// Where an engine is cut off: just before the n-th call of this kind, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Head(u32),
    Grant(u32),
    /// Once an agent has begun. Before, a revocation belongs to an opening, of which there may be several when the machine is busy.
    Revoke(u32),
}

/// Stops the thread at the cut, until the test lets it go on.
#[derive(Debug)]
struct Ice {
    cut: Cut,
    /// Calls of the cut's kind.
    calls: AtomicU32,
    reached: mpsc::Sender<()>,
    thaws: Mutex<mpsc::Receiver<()>>,
}

impl Ice {
    fn touch(&self, call: fn(u32) -> Cut) {
        if discriminant(&call(0)) != discriminant(&self.cut) {
            return;
        }
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call(number) == self.cut {
            self.reached.send(()).unwrap();
            self.thaws.lock().unwrap().recv().unwrap();
        }
    }
}

#[derive(Debug)]
struct IcyWorld {
    world: World,
    secrets: IcySecrets,
    forges: IcyForges,
}

#[derive(Debug)]
struct IcySecrets(ScriptedSecrets, Arc<Ice>, Ledger);

#[derive(Debug)]
struct IcyForges(ScriptedForges, Arc<Ice>);

impl SecretSource for IcySecrets {
    async fn grant(&self, key: Key, sandbox: SandboxId) -> Result<(), SecretError> {
        self.1.touch(Cut::Grant);
        self.0.grant(key, sandbox).await
    }

    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        self.0.value(name, task, sandbox).await
    }

    async fn revoke(&self, key: Key) -> Result<(), SecretError> {
        if self.2.calls().unwrap().iter().any(|call| call.starts_with("agent ")) {
            self.1.touch(Cut::Revoke);
        }
        self.0.revoke(key).await
    }
}

impl Forges for IcyForges {
    async fn head(&self, repository: &RepositoryName) -> Result<CommitId, ForgeError> {
        self.1.touch(Cut::Head);
        self.0.head(repository).await
    }

    async fn base(&self, repository: &RepositoryName) -> Result<String, ForgeError> {
        self.0.base(repository).await
    }

    async fn take_change(&self, key: Key, taking: &Taking) -> Result<Change, ForgeError> {
        self.0.take_change(key, taking).await
    }

    async fn files(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        wanted: fn(&str) -> bool,
    ) -> Result<Files, ForgeError> {
        self.0.files(repository, commit, wanted).await
    }

    async fn compare(
        &self,
        repository: &RepositoryName,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Comparison, ForgeError> {
        self.0.compare(repository, base, head).await
    }

    async fn blame(
        &self,
        repository: &RepositoryName,
        path: &str,
        line: u32,
    ) -> Result<Blamed, ForgeError> {
        self.0.blame(repository, path, line).await
    }

    async fn note_on(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, ForgeError> {
        self.0.note_on(repository, commit).await
    }

    async fn note(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        note: &[u8],
    ) -> Result<(), ForgeError> {
        self.0.note(repository, commit, note).await
    }

    async fn keep_receipt(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        envelope: &[u8],
    ) -> Result<(), ForgeError> {
        self.0.keep_receipt(repository, commit, envelope).await
    }

    async fn deliver(&self, key: Key, delivery: &Delivery) -> Result<PullRequest, ForgeError> {
        self.0.deliver(key, delivery).await
    }
}

impl Hands for IcyWorld {
    type Sandboxes = ScriptedSandboxes;
    type Agents = ScriptedAgents;
    type Outfits = ScriptedOutfits;
    type Orders = ScriptedOrders;
    type Forges = IcyForges;
    type Pulls = ScriptedPulls;
    type Channels = ScriptedChannels;
    type Secrets = IcySecrets;
    type Clock = AnyClock;
    type Ids = SystemIds;

    fn sandboxes(&self) -> &ScriptedSandboxes {
        self.world.sandboxes()
    }

    fn outfits(&self) -> &ScriptedOutfits {
        self.world.outfits()
    }

    fn orders(&self) -> &ScriptedOrders {
        self.world.orders()
    }

    fn pulls(&self) -> &ScriptedPulls {
        self.world.pulls()
    }

    fn agents(&self) -> &ScriptedAgents {
        self.world.agents()
    }

    fn forges(&self) -> &IcyForges {
        &self.forges
    }

    fn channels(&self) -> &ScriptedChannels {
        self.world.channels()
    }

    fn secrets(&self) -> &IcySecrets {
        &self.secrets
    }

    fn clock(&self) -> &AnyClock {
        self.world.clock()
    }

    fn ids(&self) -> &SystemIds {
        self.world.ids()
    }
}

/// An engine that will stand still at its cut.
struct Late {
    at_the_cut: mpsc::Receiver<()>,
    thaw: mpsc::Sender<()>,
    stop: CancellationToken,
    thread: JoinHandle<()>,
}

impl Late {
    /// Lets it go on with what it was at, as if nothing had happened, until it has to wait for someone.
    async fn come_back_and_leave(self, fixture: &Fixture) {
        self.stop.cancel();
        self.thaw.send(()).unwrap();
        // Its database is in our thread, which must go on meanwhile.
        while !self.thread.is_finished() {
            fixture.settle().await;
        }
        self.thread.join().unwrap();
    }
}

fn settings(name: &str) -> Settings {
    Settings {
        lease: Duration::from_millis(300),
        sweep_every: Duration::from_millis(50),
        ..World::settings(name)
    }
}

impl Fixture {
    async fn for_two() -> Self {
        Self::with(AnyClock::System, settings("prompt")).await
    }

    /// Another engine on the same database, which will be cut off.
    async fn run_until(&self, cut: Cut) -> Late {
        let (reached, at_the_cut) = mpsc::channel();
        let (thaw, thawing) = mpsc::channel();
        let thaws = Mutex::new(thawing);
        let ice = Arc::new(Ice { cut, calls: AtomicU32::new(0), reached, thaws });
        // Its own, as another process would have: connections that stand still are nobody else's. What writes for it is not in its
        // thread, as a writer of SQLite that stands still would hold up everybody.
        let store = self.another_store().await;
        let ledger = self.ledger.clone();
        let world = World::new(ledger.clone(), AnyClock::System);
        let stop = CancellationToken::new();
        let token = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let world = IcyWorld {
                    secrets: IcySecrets(world.secrets().clone(), Arc::clone(&ice), ledger),
                    forges: IcyForges(world.forges().clone(), ice),
                    world,
                };
                let engine = Engine::new(store, world.into(), settings("late"));
                engine.run(token).await;
            });
        });
        Late { at_the_cut, thaw, stop, thread }
    }

    /// Waits until `late` stands still. Meanwhile people decide.
    async fn wait_for_the_cut(&self, late: &Late) {
        let stop = CancellationToken::new();
        let deciding = people::decide_until(&self.engine, &AnyClock::System, stop.clone());
        let waiting = async {
            while late.at_the_cut.try_recv().is_err() {
                assert!(!late.thread.is_finished(), "the engine ended before its cut");
                self.settle().await;
            }
            stop.cancel();
        };
        tokio::join!(deciding, waiting);
    }

    /// An engine stands still at `cut`; Ann cancels its task, and another engine ends it.
    async fn over_behind_the_back_of_one_at(&self, task: TaskId, cut: Cut) -> (Late, Running) {
        let late = self.run_until(cut).await;
        self.wait_for_the_cut(&late).await;
        self.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
        let running = self.run();
        self.wait_until(task, is_over).await;
        (late, running)
    }

    /// Nothing is left of the task, and all that it used is written down.
    async fn assert_settled(&self, task: TaskId) {
        let spent = |it: &Task| {
            let charges = self.ledger.names(&format!("charge-{task}")).unwrap().len() as u64;
            let sandboxes = self.ledger.names(&format!("meter-{task}")).unwrap().len() as u64;
            it.spent.money == Money::from_micros(PRICE * charges)
                && it.spent.cpu_millis == 100 * sandboxes
        };
        let is_settled = |it: &Task| {
            is_over(it) && spent(it) && self.ledger.names("sandbox").unwrap().is_empty()
        };
        let task_now = self.wait_until(task, is_settled).await;
        assert!(is_settled(&task_now));
        assert_eq!(self.ledger.names(&format!("grant-{task}")).unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_reviewer_that_comes_late_spends_nothing_when_the_task_is_over() {
    let fixture = Fixture::for_two().await;
    let task = fixture.submit("fix it").await;
    // The first two are for the workspaces of research and implementation.
    let (late, running) = fixture.over_behind_the_back_of_one_at(task, Cut::Grant(3)).await;
    late.come_back_and_leave(&fixture).await;
    fixture.assert_settled(task).await;
    running.stop().await;
}

#[tokio::test]
async fn an_engine_that_comes_late_grants_nothing_when_the_task_is_over() {
    let fixture = Fixture::for_two().await;
    let task = fixture.submit("fix it").await;
    let (late, running) = fixture.over_behind_the_back_of_one_at(task, Cut::Grant(1)).await;
    late.come_back_and_leave(&fixture).await;
    fixture.assert_settled(task).await;
    running.stop().await;
}

#[tokio::test]
async fn a_sandbox_that_is_opened_late_is_removed_and_paid_for() {
    let fixture = Fixture::for_two().await;
    let task = fixture.submit("fix it").await;
    let (late, running) = fixture.over_behind_the_back_of_one_at(task, Cut::Head(1)).await;
    late.come_back_and_leave(&fixture).await;
    assert_eq!(fixture.ledger.names(&format!("meter-{task}")).unwrap().len(), 1, "it was opened");
    fixture.assert_settled(task).await;
    running.stop().await;
}

#[tokio::test]
async fn an_engine_that_comes_late_takes_nothing_from_a_task_that_went_on() {
    let fixture = Fixture::for_two().await;
    let task = fixture.submit("endless").await;
    let late = fixture.run_until(Cut::Revoke(1)).await;
    fixture.wait_for_call("agent Research").await;
    fixture.engine.ask(task, ann(), Ask::Pause).await.unwrap();
    fixture.wait_for_the_cut(&late).await;
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    let running = fixture.run();
    fixture.wait_for_calls("agent Research", 2).await;
    late.come_back_and_leave(&fixture).await;
    let text = "look at the clock".to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    running.stop().await;
}
