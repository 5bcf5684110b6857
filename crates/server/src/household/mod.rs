//! The engine's hands in this program: sandboxes, agents, git, secrets and the server's files, joined so that a task can be worked on.
//!
//! ```text
//!  lamp.yaml, policy.yaml, agents/*.yaml ──▶ Staff ──▶ roster (who works)   outfits (in what, with which way out)
//!                                                          │                      │
//!  engine ── Hands ──▶ Household ── sandboxes, crew, forges, secrets, notices ─────┘
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`posts`], [`outfits`] | who works for a task and in what, by [`provision`] |
//! | [`owners`] | agents that repositories define themselves, and the definitions that tasks were begun with |
//! | [`found`] | what a project needs, installed as its own files say |
//! | [`wardrobe`], [`account`] | what sandboxes were given, and what they did, for receipts |
//! | [`secrets`], [`redactor`] | secrets by step, and none in what is kept |
//! | [`house`], [`style`] | repositories, work on its way out, and how it looks there |
//! | [`clerk`], [`works`] | which tasks may be begun, and what drives them |
//! | [`channels`], [`owner`], [`keys`] | who is told, whose server it is, and with what it signs |

mod account;
mod channels;
mod clerk;
mod found;
pub(crate) mod house;
mod keys;
mod outfits;
mod owner;
pub(crate) mod owners;
mod posts;
mod redactor;
mod secrets;
mod style;
mod wardrobe;
mod works;

use std::{path::Path, sync::Arc};

use ::agents::{Crew, Parts, brief::Templates};
use ::secrets::keeper::Keeper;
use anyhow::Context as _;
use contracts::{clock::SystemClock, ids::SystemIds};
use engine::Hands;
use sandbox::Provider;
use terminal::report::Hint;

pub(crate) use self::works::Works;
use self::{
    channels::Notices,
    clerk::Clerk,
    house::PlainForge,
    outfits::Outfitter,
    posts::Posts,
    secrets::{PATIENCE, Purse},
    wardrobe::Wardrobe,
};
use crate::{outward::Outward, provider::Mirrored};

/// All who work with programs in sandboxes here, for tasks and for people.
pub(crate) type HouseCrew = Crew<Provider, Posts>;

/// The hands.
#[derive(Debug)]
pub(crate) struct Household {
    sandboxes: Provider,
    outfits: Outfitter,
    orders: Clerk,
    crew: Arc<HouseCrew>,
    forge: Arc<PlainForge>,
    notices: Notices,
    secrets: Purse<Provider>,
}

/// What it is made of.
pub(crate) struct Makings<'a> {
    /// The data directory.
    pub(crate) data: &'a Path,
    pub(crate) outward: &'a Outward,
    pub(crate) keeper: &'a Keeper,
    pub(crate) sandboxes: &'a Provider,
    pub(crate) forge: Arc<PlainForge>,
}

impl Household {
    pub(crate) fn open(makings: Makings<'_>) -> anyhow::Result<Self> {
        let Makings { data, outward, keeper, sandboxes, forge } = makings;
        let what =
            || Hint::new("cannot keep what tasks need", "look at the data directory's rights");
        let wardrobe = Arc::new(Wardrobe::open(data.join("outfits")).with_context(what)?);
        let notices = Notices::open(data.join("notices")).with_context(what)?;
        let posts =
            Posts { reloader: Arc::clone(&outward.reloader), wardrobe: Arc::clone(&wardrobe) };
        Ok(Self {
            sandboxes: sandboxes.clone(),
            outfits: Outfitter {
                sandboxes: sandboxes.clone(),
                networks: outward.networks(),
                wardrobe,
            },
            orders: Clerk {
                reloader: Arc::clone(&outward.reloader),
                broker: Arc::clone(outward.gatekeeper.broker()),
                mirrored: Mirrored(sandboxes.clone()),
            },
            crew: Arc::new(crew(data, outward, sandboxes, posts)?),
            forge,
            notices,
            secrets: Purse {
                keeper: keeper.clone(),
                meter: Arc::clone(outward.gatekeeper.broker()) as _,
                sandboxes: sandboxes.clone(),
                patience: PATIENCE,
            },
        })
    }

    /// Whoever else has work for the crew.
    pub(crate) const fn crew(&self) -> &Arc<HouseCrew> {
        &self.crew
    }
}

fn crew(
    data: &Path,
    outward: &Outward,
    sandboxes: &Provider,
    roster: Posts,
) -> anyhow::Result<HouseCrew> {
    let said = outward.reloader.said();
    let prompts = said.server.prompts.as_ref().map(|path| said.beside.join(path.as_str()));
    let templates = Templates::load(prompts.as_deref()).with_context(|| {
        Hint::new(
            "the prompts cannot be used",
            "correct them, or leave `prompts` out of `lamp.yaml`",
        )
    })?;
    let crew = Crew::open(Parts {
        sandboxes: Arc::new(sandboxes.clone()),
        meter: Arc::clone(outward.gatekeeper.broker()) as _,
        roster,
        templates,
        directory: data.join("agents"),
        limits: ::agents::Limits {
            silence: said.server.defaults.silence.get(),
            output: said.server.defaults.output.bytes(),
        },
        builtin: programs::agent(),
    });
    crew.context("cannot keep what agents do")
}

impl Hands for Household {
    type Sandboxes = Provider;
    type Outfits = Outfitter;
    type Orders = Clerk;
    type Agents = HouseCrew;
    type Forges = PlainForge;
    type Pulls = PlainForge;
    type Channels = Notices;
    type Secrets = Purse<Provider>;
    type Clock = SystemClock;
    type Ids = SystemIds;

    fn sandboxes(&self) -> &Provider {
        &self.sandboxes
    }

    fn outfits(&self) -> &Outfitter {
        &self.outfits
    }

    fn orders(&self) -> &Clerk {
        &self.orders
    }

    fn agents(&self) -> &HouseCrew {
        &self.crew
    }

    fn forges(&self) -> &PlainForge {
        &self.forge
    }

    fn pulls(&self) -> &PlainForge {
        &self.forge
    }

    fn channels(&self) -> &Notices {
        &self.notices
    }

    fn secrets(&self) -> &Purse<Provider> {
        &self.secrets
    }

    fn clock(&self) -> &SystemClock {
        &SystemClock
    }

    fn ids(&self) -> &SystemIds {
        &SystemIds
    }
}
