//! A toy internet: two network namespaces, a house with the real `lamp up` in it, and an outside where every arrival is counted.
//!
//! ```text
//!  house                                  internet
//!  ┌──────────────────────────┐  veth    ┌──────────────────────────────────────────────┐
//!  │ lamp up, its gateway     │─────────▶│ every address is here: public, private,      │
//!  │ 192.168.77.1             │          │ metadata, IPv4 and IPv6                      │
//!  │ names are asked of DNS   │          │ DNS, HTTP, HTTPS, TCP, UDP; packets counted  │
//!  └──────────────────────────┘          └──────────────────────────────────────────────┘
//! ```
//!
//! Whatever leaves the house arrives, wherever it was meant to go: a dial that nobody may make is not lost, it is seen. So
//! [`Internet::since`] with nothing in it means that nothing was sent, not that nobody listened.
//!
//! **Invariants:** the namespaces hold no name in the file system; they live as long as one process that waits at a pipe of
//! this one, so nothing of them is left however a test ends. [`Internet::since`] comes back only when every packet that was
//! sent before the call has been looked at.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::indexing_slicing,
    reason = "a stage for tests: what cannot be built fails the test"
)]

mod beats;
mod canaries;
mod certificates;
mod house;
mod names;
mod own_house;
mod packets;
mod place;
mod seen;
mod sites;

use std::{
    net::{IpAddr, UdpSocket},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use testkit::model::Model;
use tokio_util::task::TaskTracker;

use self::{
    certificates::Authority, names::Names, packets::Watch, place::Namespace, seen::Seen,
    sites::Sites,
};
pub use self::{
    certificates::Certificate,
    house::{House, Plan, Record, Running, Said, breathe, program},
    own_house::{OwnHouse, declared, npm},
    seen::Arrival,
    sites::{Reply, Request, json, ok, status, text},
};

/// Where a name leads that nobody said anything about.
pub const PUBLIC: &str = "93.184.216.34";
/// The same for IPv6, where somebody asks for it.
pub const PUBLIC_6: &str = "2606:2800:220:1::34";
/// The house's own addresses.
pub const HOUSE: &str = "192.168.77.1";
pub const HOUSE_6: &str = "fd77::1";
/// The first that the house sees of the internet.
const NEXT_HOP: &str = "192.168.77.2";
/// Who answers the house's questions about names.
const RESOLVER: &str = "9.9.9.53";

/// Addresses where UDP is answered too. TCP is answered at every address.
const ADDRESSES: [&str; 12] = [
    PUBLIC,
    PUBLIC_6,
    RESOLVER,
    "8.8.8.8",
    "10.0.0.5",
    "172.17.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd12:3456::5",
    NEXT_HOP,
];

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The outside, and the namespace of the house. Everything ends when it is dropped.
#[derive(Debug)]
pub struct Internet {
    names: Arc<Names>,
    sites: Arc<Sites>,
    seen: Arc<Seen>,
    files: TempDir,
    bundle: PathBuf,
    /// Sends what [`Internet::since`] waits for. It stands in the house.
    bell: UdpSocket,
    runtime: Option<tokio::runtime::Runtime>,
    _watch: Watch,
    _outside: Namespace,
    house: Namespace,
}

impl Internet {
    /// Builds it, or says why this host cannot.
    pub fn build() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err(
                "network namespaces that a server with sandboxes runs in need root".to_owned()
            );
        }
        let (house, internet) = place::joined(&ADDRESSES)?;
        let files = tempfile::Builder::new().prefix("net").tempdir().unwrap();
        let authority = Authority::new();
        let bundle = files.path().join("authorities.pem");
        std::fs::write(&bundle, authority.pem()).unwrap();
        let resolving = files.path().join("resolv.conf");
        let text = format!("nameserver {RESOLVER}\noptions timeout:1 attempts:2\n");
        std::fs::write(&resolving, text).unwrap();
        house.cover(&resolving, &["/etc/resolv.conf"])?;
        house.cover(&bundle, &certificates::BUNDLES)?;

        let seen = Arc::new(Seen::default());
        let watch = Watch::start(&internet, Arc::clone(&seen));
        let bell = house.within(|| UdpSocket::bind((HOUSE, 0)).unwrap());
        // Its threads are made where it is built, and stay there.
        let runtime = internet.within(|| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2).enable_all().build().unwrap()
        });
        let names = Arc::new(Names::new(Arc::clone(&seen)));
        let sites = Arc::new(Sites::new(Arc::clone(&seen), authority));
        let tasks = TaskTracker::new();
        let serving = async {
            names::serve(&names, &ADDRESSES, &tasks).await;
            sites::serve(&sites, &tasks).await;
            canaries::serve(&seen, &ADDRESSES, &tasks).await;
        };
        // A listener belongs to the namespace of the thread that makes it.
        internet.within(|| runtime.block_on(serving));
        let runtime = Some(runtime);
        Ok(Self {
            names,
            sites,
            seen,
            files,
            bundle,
            bell,
            runtime,
            _watch: watch,
            _outside: internet,
            house,
        })
    }

    /// Where a name leads: `addresses` is told how often that kind of address was asked for before.
    pub fn name(
        &self,
        name: &str,
        addresses: impl Fn(usize) -> Vec<IpAddr> + Send + Sync + 'static,
    ) {
        self.names.set(name, Box::new(addresses));
    }

    /// The same, for a name that always means the same.
    pub fn points(&self, name: &str, addresses: &[&str]) {
        let all: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        self.name(name, move |_| all.clone());
    }

    /// What a host answers, over HTTP and over HTTPS. Other hosts answer `200` with the word `arrived`.
    pub fn site(&self, host: &str, reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.sites.set(host, Box::new(reply));
    }

    /// A scripted model at this host: what it is told to do with a stream, it does on the wire.
    pub fn model(&self, host: &str, model: &Model) {
        let model = model.clone();
        self.site(host, move |request| sites::modelled(&model, request));
    }

    /// How a host proves who it is. Others have certificates that are as they should be.
    pub fn certificate(&self, host: &str, certificate: Certificate) {
        self.sites.prove(host, certificate);
    }

    /// All that arrived so far.
    pub fn seen(&self) -> Vec<Arrival> {
        self.since(0)
    }

    /// How much arrived so far, for [`Internet::since`].
    pub fn mark(&self) -> usize {
        self.settle();
        self.seen.count()
    }

    /// What arrived after the mark, with everything that is on its way.
    pub fn since(&self, mark: usize) -> Vec<Arrival> {
        self.settle();
        self.seen.since(mark)
    }

    /// Waits until something arrived after the mark that is wanted, and gives what arrived.
    pub fn awaited(&self, mark: usize, wanted: impl Fn(&Arrival) -> bool) -> Vec<Arrival> {
        self.seen.wait(PATIENCE, |all| all.iter().skip(mark).any(&wanted));
        self.since(mark)
    }

    /// The certificate of the authority that everyone in the house believes.
    pub fn authority(&self) -> &Path {
        &self.bundle
    }

    /// A directory that goes with it.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    /// A command that runs in the house, beside the server and outside of every sandbox.
    pub fn in_house(&self, program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
        self.house.command(program)
    }

    /// Rings, and waits until it is heard: packets are looked at in the order in which they come.
    fn settle(&self) {
        let number = self.seen.next_bell();
        self.bell.send_to(&number.to_be_bytes(), (NEXT_HOP, packets::BELL)).unwrap();
        self.seen.heard(number, PATIENCE);
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
