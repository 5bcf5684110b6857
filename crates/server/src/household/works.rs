//! All that works on tasks in `lamp up`: the engine with its hands, and the door to it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ::secrets::keeper::Keeper;
use contracts::ids::SystemIds;
use domain::{people::Person, queue::Places};
use engine::{Baselines, Engine, Settings};
use gateway::{Closing, TaskDoor};
use provision::{OWNER, server_files::ServerFiles};
use sandbox::Provider;
use tokio_util::sync::CancellationToken;

use super::{HouseCrew, Household, Makings, house, keys, owner, redactor::Clean, style::Style};
use crate::outward::Outward;

pub(crate) struct Works {
    engine: Engine<Household>,
    crew: Arc<HouseCrew>,
    person: Person,
}

impl Works {
    pub(crate) fn open(
        data: &Path,
        outward: &Outward,
        keeper: &Keeper,
        sandboxes: &Provider,
    ) -> anyhow::Result<Self> {
        let person = owner::person(data, &SystemIds)?;
        let style = Style::of(&outward.reloader.said())?;
        let forge =
            Arc::new(house::open(sandboxes, (keeper, keys::open_seal(data)?), style.names)?);
        let makings = Makings { data, outward, keeper, sandboxes, forge };
        let hands = Household::open(makings)?;
        let crew = Arc::clone(hands.crew());
        let settings = Settings {
            signer: Some(Arc::new(keys::open(data)?.into_signing())),
            baselines: Baselines::at(data.join("baselines")),
            branches: style.branches,
            co_authors: style.co_authors,
            body: style.body.map(Arc::new),
            pages: style.pages,
            ..settings(&outward.reloader.said(), keeper, &person)
        };
        let engine = Engine::new(Arc::clone(&outward.store), Arc::new(hands), settings);
        Ok(Self { engine, crew, person })
    }

    pub(crate) const fn crew(&self) -> &Arc<HouseCrew> {
        &self.crew
    }

    /// For people.
    pub(crate) fn door(&self, closing: Closing) -> TaskDoor {
        TaskDoor {
            front: Arc::new(self.engine.clone()),
            ids: Arc::new(SystemIds),
            person: self.person.clone(),
            owner: OWNER.to_owned(),
            closing,
        }
    }

    /// Drives tasks until it is told to stop. What is under way then is let go, for the next start.
    pub(crate) async fn run(self, stop: CancellationToken) {
        self.engine.run(stop).await;
    }
}

/// How the engine works here.
fn settings(said: &ServerFiles, keeper: &Keeper, owner: &Person) -> Settings {
    let concurrency = &said.server.concurrency;
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let places = Places {
        total: count(concurrency.running.get()),
        per_repository: count(concurrency.per_repository.get()),
        per_person: count(concurrency.per_person.get()),
    };
    let bots = said.policy.triggers.as_ref().map_or(&[][..], |triggers| &triggers.bots);
    Settings {
        // The owner belongs to the data directory, and a directory has one server at a time.
        name: format!("server of {}", owner.id),
        parallel: places.total.saturating_mul(2).clamp(8, 256),
        places,
        bots: bots.iter().map(ToString::to_string).collect(),
        redactor: Arc::new(Clean(keeper.clone())),
        names: BTreeMap::from([(owner.id, OWNER.to_owned())]),
        ..Settings::default()
    }
}
