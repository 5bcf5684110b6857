//! Who is asked: the scripted model, which notes when that was.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use std::time::Instant;

use testkit::model::{Model, Script, serve};
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

/// What it says.
const ANSWER: &str = "The sum subtracts where it should add.";

/// What it does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Will {
    Answer,
    /// Takes the question, and says nothing.
    Hang,
}

/// The model, for as long as this is.
#[derive(Debug)]
pub struct Scripted {
    pub port: u16,
    asked: Arc<Asked>,
    hangs: Arc<AtomicBool>,
    /// Ends with this.
    _serving: JoinSet<std::io::Result<()>>,
}

#[derive(Debug, Default)]
struct Asked {
    first: Mutex<Option<Instant>>,
    news: Notify,
}

impl Scripted {
    pub async fn start() -> anyhow::Result<Self> {
        let (asked, hangs) = (Arc::new(Asked::default()), Arc::new(AtomicBool::new(false)));
        let model = Model::new();
        let (note, hang) = (Arc::clone(&asked), Arc::clone(&hangs));
        // The first rule is asked about every question, whatever is in it.
        model.when(
            move |_| {
                note.now();
                hang.load(Ordering::Relaxed)
            },
            "play: hang ;; play: text never ;;".parse()?,
        );
        model.otherwise(Script::new().text(ANSWER));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, model));
        Ok(Self { port, asked, hangs, _serving: serving })
    }

    pub fn will(&self, will: Will) {
        self.hangs.store(will == Will::Hang, Ordering::Relaxed);
    }

    /// Forgets that it was asked.
    pub fn forget(&self) {
        *self.asked.lock() = None;
    }

    /// When it was asked first since it forgot.
    pub fn first_asked(&self) -> Option<Instant> {
        *self.asked.lock()
    }

    /// Waits until it is asked.
    pub async fn until_asked(&self) -> Instant {
        loop {
            let news = self.asked.news.notified();
            if let Some(first) = self.first_asked() {
                return first;
            }
            news.await;
        }
    }
}

impl Asked {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) {
        self.lock().get_or_insert_with(Instant::now);
        self.news.notify_one();
    }
}
