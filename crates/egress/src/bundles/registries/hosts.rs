//! The registries of one host: each known from the start, or asked for when somebody has to know, and once.
//!
//! Package managers take a second of a processor to say where their registries are, and most servers never need to know of most of them.
//!
//! **Invariant:** nothing is decided otherwise than if all were known: who decides waits for [`RegistryHosts::learn`] where it could matter.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
};

use domain::policy::{Ecosystem, HostName};
use proxy::ask::Scheme;
use tokio::sync::watch;

use crate::bundles::endpoint::Endpoint;

/// Asks the package manager of one ecosystem. May take a second.
pub type Ask = dyn Fn(Ecosystem) -> BTreeSet<Endpoint> + Send + Sync;

/// The registries of one sandbox.
#[derive(Default)]
pub struct RegistryHosts {
    known: BTreeMap<Ecosystem, BTreeSet<Endpoint>>,
    /// Those that are asked for when somebody has to know.
    asked: BTreeMap<Ecosystem, Asked>,
    ask: Option<Arc<Ask>>,
}

#[derive(Debug)]
struct Asked {
    places: OnceLock<BTreeSet<Endpoint>>,
    turn: watch::Sender<Turn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    NobodyWantsToKnow,
    Asking,
    Answered,
}

impl RegistryHosts {
    /// These, and no others.
    pub fn new(places: impl IntoIterator<Item = (Ecosystem, BTreeSet<Endpoint>)>) -> Self {
        Self { known: places.into_iter().collect(), ..Self::default() }
    }

    /// All of this host, each of which `ask` finds when it is needed.
    pub fn asking(ask: Arc<Ask>) -> Self {
        let nobody =
            || Asked { places: OnceLock::new(), turn: watch::Sender::new(Turn::NobodyWantsToKnow) };
        let asked = Ecosystem::ALL.into_iter().map(|it| (it, nobody())).collect();
        Self { asked, ask: Some(ask), ..Self::default() }
    }

    /// As far as they are known.
    pub fn of(&self, ecosystem: Ecosystem) -> impl Iterator<Item = &Endpoint> {
        let asked = self.asked.get(&ecosystem).and_then(|asked| asked.places.get());
        self.known.get(&ecosystem).or(asked).into_iter().flatten()
    }

    /// These, with the platform team's word where it has one: whole hosts, over HTTPS.
    #[must_use]
    pub fn overridden(mut self, hosts: &BTreeMap<Ecosystem, Vec<HostName>>) -> Self {
        for (ecosystem, hosts) in hosts {
            let place = |host: &HostName| Endpoint::new(Scheme::Https, host.clone(), 443, "");
            self.known.insert(*ecosystem, hosts.iter().map(place).collect());
            self.asked.remove(ecosystem);
        }
        self
    }

    /// Those of `wanted` for which nobody has answered yet.
    pub fn unknown(&self, wanted: impl IntoIterator<Item = Ecosystem>) -> Vec<Ecosystem> {
        let is_open =
            |it: &Ecosystem| self.asked.get(it).is_some_and(|asked| asked.places.get().is_none());
        wanted.into_iter().filter(is_open).collect()
    }

    /// Comes back when those of `wanted` are known. Who goes away meanwhile does not stop the asking, for those who come later.
    pub async fn learn(self: &Arc<Self>, wanted: impl IntoIterator<Item = Ecosystem>) {
        let wanted = self.unknown(wanted);
        for ecosystem in &wanted {
            self.begin(*ecosystem);
        }
        for ecosystem in &wanted {
            let Some(asked) = self.asked.get(ecosystem) else { continue };
            // We hold the sender, so it does not go away while we wait.
            drop(asked.turn.subscribe().wait_for(|turn| *turn == Turn::Answered).await);
        }
    }

    fn begin(self: &Arc<Self>, ecosystem: Ecosystem) {
        let is_first = |turn: &mut Turn| match turn {
            Turn::NobodyWantsToKnow => {
                *turn = Turn::Asking;
                true
            }
            Turn::Asking | Turn::Answered => false,
        };
        let Some(asked) = self.asked.get(&ecosystem) else { return };
        if !asked.turn.send_if_modified(is_first) {
            return;
        }
        let hosts = Arc::clone(self);
        // Whoever needs the answer waits for it; nobody else does.
        drop(tokio::task::spawn_blocking(move || {
            let (Some(ask), Some(asked)) = (&hosts.ask, hosts.asked.get(&ecosystem)) else {
                return;
            };
            let places = ask(ecosystem);
            drop(asked.places.set(places));
            asked.turn.send_replace(Turn::Answered);
        }));
    }
}

impl fmt::Debug for RegistryHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryHosts").field("known", &self.known).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn place() -> Endpoint {
        "https://found.example.com/x".parse().unwrap()
    }

    #[tokio::test]
    async fn a_package_manager_is_asked_once_and_only_when_somebody_has_to_know() {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let ask = move |ecosystem: Ecosystem| {
            assert_eq!(ecosystem, Ecosystem::Npm, "nobody wants to know of another");
            counted.fetch_add(1, Ordering::Relaxed);
            BTreeSet::from([place()])
        };
        let said = BTreeMap::from([(Ecosystem::Go, vec!["go.example.com".parse().unwrap()])]);
        let hosts = Arc::new(RegistryHosts::asking(Arc::new(ask)).overridden(&said));
        assert_eq!(hosts.of(Ecosystem::Npm).count(), 0);
        assert_eq!(hosts.unknown([Ecosystem::Npm, Ecosystem::Go]), [Ecosystem::Npm]);
        hosts.learn([Ecosystem::Go]).await;
        assert_eq!(times.load(Ordering::Relaxed), 0, "the file says it");
        let twice = [Ecosystem::Npm, Ecosystem::Npm];
        tokio::join!(hosts.learn(twice), hosts.learn(twice));
        hosts.learn(twice).await;
        assert_eq!(times.load(Ordering::Relaxed), 1);
        assert_eq!(hosts.of(Ecosystem::Npm).count(), 1);
        assert!(hosts.unknown(Ecosystem::ALL).len() < Ecosystem::ALL.len());
    }
}
