//! An agent that says what a test wants to hear while it researches, and then follows its script.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use contracts::agent::{AgentError, AgentEvent, Agents, Mode, Outcome, Run, Words};
use domain::{cost::Cost, id::TaskId};
use engine::{Engine, Hands, Settings};
use testkit::{
    clock::AnyClock,
    ids::SystemIds,
    world::{
        ScriptedAgents, ScriptedChannels, ScriptedForges, ScriptedOrders, ScriptedOutfits,
        ScriptedPulls, ScriptedSandboxes, ScriptedSecrets, World,
    },
};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Running};

/// What it says.
pub(crate) type Speech = fn() -> Box<dyn Iterator<Item = AgentEvent> + Send>;

/// Where it stops talking until it is told to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Never,
    /// In its first attempt, after so many events.
    After(usize),
}

#[derive(Debug)]
pub(crate) struct Talker {
    scripted: ScriptedAgents,
    speech: Speech,
    pause: Pause,
    attempts: AtomicU32,
    /// How many events it has said.
    said: watch::Sender<usize>,
    go_on: Notify,
}

impl Talker {
    pub(crate) async fn has_said(&self, count: usize) {
        self.said.subscribe().wait_for(|said| *said >= count).await.unwrap();
    }

    pub(crate) fn go_on(&self) {
        self.go_on.notify_one();
    }
}

impl Agents for Talker {
    async fn run(
        &self,
        run: &Run,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> Result<Outcome, AgentError> {
        if run.mode != Mode::Research {
            return self.scripted.run(run, words, events).await;
        }
        let attempt = self.attempts.fetch_add(1, Ordering::SeqCst) + 1;
        for (event, count) in (self.speech)().zip(1..) {
            // Whoever no longer listens has stopped the run.
            drop(events.send(event).await);
            self.said.send_replace(count);
            if attempt == 1 && self.pause == Pause::After(count) {
                self.go_on.notified().await;
            }
        }
        // What the script itself says is not heard.
        self.scripted.run(run, words, mpsc::channel(8).0).await
    }

    async fn bill(&self, task: TaskId) -> Result<Cost, AgentError> {
        self.scripted.bill(task).await
    }
}

#[derive(Debug)]
pub(crate) struct TalkingWorld {
    world: World,
    pub(crate) talker: Talker,
}

impl TalkingWorld {
    pub(crate) fn new(
        fixture: &Fixture,
        clock: AnyClock,
        speech: Speech,
        pause: Pause,
    ) -> Arc<Self> {
        let talker = Talker {
            scripted: ScriptedAgents::new(fixture.ledger.clone(), clock.clone()),
            speech,
            pause,
            attempts: AtomicU32::new(0),
            said: watch::Sender::new(0),
            go_on: Notify::new(),
        };
        Arc::new(Self { world: World::new(fixture.ledger.clone(), clock), talker })
    }

    /// An engine with this world, on the fixture's store.
    pub(crate) fn engine(self: &Arc<Self>, fixture: &Fixture, settings: Settings) -> Engine<Self> {
        Engine::new(Arc::clone(fixture.store()), Arc::clone(self), settings)
    }

    #[expect(clippy::disallowed_methods, reason = "`Running::stop` waits for it")]
    pub(crate) fn run(self: &Arc<Self>, fixture: &Fixture, settings: Settings) -> Running {
        let stop = CancellationToken::new();
        let (engine, token) = (self.engine(fixture, settings), stop.clone());
        Running { stop, engine: tokio::spawn(async move { engine.run(token).await }) }
    }
}

impl Hands for TalkingWorld {
    type Sandboxes = ScriptedSandboxes;
    type Agents = Talker;
    type Outfits = ScriptedOutfits;
    type Orders = ScriptedOrders;
    type Forges = ScriptedForges;
    type Pulls = ScriptedPulls;
    type Channels = ScriptedChannels;
    type Secrets = ScriptedSecrets;
    type Clock = AnyClock;
    type Ids = SystemIds;

    fn sandboxes(&self) -> &ScriptedSandboxes {
        self.world.sandboxes()
    }

    fn agents(&self) -> &Talker {
        &self.talker
    }

    fn forges(&self) -> &ScriptedForges {
        self.world.forges()
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

    fn channels(&self) -> &ScriptedChannels {
        self.world.channels()
    }

    fn secrets(&self) -> &ScriptedSecrets {
        self.world.secrets()
    }

    fn clock(&self) -> &AnyClock {
        self.world.clock()
    }

    fn ids(&self) -> &SystemIds {
        self.world.ids()
    }
}
