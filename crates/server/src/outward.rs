//! All that stands between sandboxes and the outside, opened together and closed in order: the gate first, what writes down what it did after it,
//! and the store last.

use std::{
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use provision::layers::Layers;
use secrets::keeper::Keeper;
use store::Store;
use terminal::{environment::Environment, report::Hint};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    gatekeeper::{Gatekeeper, Plan},
    kept::{Kept, unusable},
    networks::Networks,
    reload::Reloader,
    trail::{self, Trail},
};

#[derive(Debug)]
pub(crate) struct Outward {
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) store: Arc<Store>,
    /// Where exchanges are written down.
    log: PathBuf,
    gate: Work,
    books: Work,
}

/// Tasks, and what ends them.
#[derive(Debug, Default)]
struct Work {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Work {
    async fn end(&self, grace: Duration) {
        self.stop.cancel();
        self.tasks.close();
        drop(tokio::time::timeout(grace, self.tasks.wait()).await);
    }
}

impl Outward {
    /// Comes back when the gateway serves.
    pub(crate) async fn open(
        data: &Path,
        kept: &Kept,
        keeper: &Keeper,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let store = Arc::new(kept.open_or_make().await?);
        let (gate, books) = (Work::default(), Work::default());
        let directory = directory(data);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let log = trail::log_file(&directory);
        let opened = Trail::open(&log, Arc::clone(&store), keeper.clone());
        let (trail, writer) = opened.with_context(|| {
            Hint::new(
                format!("cannot write `{}`", log.display()),
                "look at the rights of the data directory",
            )
        })?;
        books.tasks.spawn(writer.run(books.stop.clone()));
        let said = &kept.said;
        let layers = Layers::of(said).map_err(unusable)?;
        let plan = Plan { said, layers: &layers, keeper, trail, environment };
        let gatekeeper = Gatekeeper::start(directory, plan, (&gate.tasks, &gate.stop)).await?;
        let reloader = Arc::new(Reloader::new(
            (said.clone(), layers),
            Arc::clone(gatekeeper.broker()),
            Arc::clone(&store),
            environment.home.clone(),
        ));
        Ok(Self { gatekeeper, reloader, store, log, gate, books })
    }

    pub(crate) fn networks(&self) -> Networks {
        Networks {
            reloader: Arc::clone(&self.reloader),
            broker: Arc::clone(self.gatekeeper.broker()),
            log: self.log.clone(),
        }
    }

    /// After the sandboxes were let go: what they did meanwhile is still written down.
    pub(crate) async fn close(self, grace: Duration) {
        self.gate.end(grace).await;
        self.books.end(grace).await;
        self.store.close().await;
    }
}

/// Where the broker keeps what it knows of sandboxes.
pub(crate) fn directory(data: &Path) -> PathBuf {
    data.join("egress")
}
