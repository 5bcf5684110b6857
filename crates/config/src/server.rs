//! `lamp.yaml`: how the server runs, written by the platform team.
//!
//! The whole file may be missing: [`ServerFile::default`] is a server for one
//! person on one machine, reachable from that machine only.

mod address;
mod branch;
mod delivery;
mod network;
mod repository;
mod section;

pub use address::{
    DatabaseUrl, DatabaseUrlError, ListenAddress, ListenAddressError, ModelAddress, PublicUrl,
    PublicUrlError,
};
pub use branch::{BranchPattern, BranchPatternError};
pub use delivery::{Identity, PullRequestSection};
pub use network::{CloudSection, ProviderTools, RegistrySection, Traffic};
pub use repository::RepositorySection;
pub use section::{
    Concurrency, Defaults, Listen, Log, LogFormat, LogLevel, Model, Retention, Storing,
};

use domain::policy::HostName;

use crate::{
    names::FilePath,
    policy::{BudgetSection, CeilingsSection, EgressPolicy},
    problem::Problems,
    shape::record,
    unique::report_repeated,
    version::Version,
    yaml::Node,
};

record! {
    defaulted
    /// How the server runs.
    pub struct ServerFile {
        /// The version of this format.
        version: Version = Version::One,
        /// Where the server listens.
        listen: Listen = Listen::default(),
        /// The address under which people reach the server, for links in pull requests. Left out: they name commands instead.
        public_url: Option<PublicUrl> = None,
        /// Where the server keeps its files. Left out: `$XDG_DATA_HOME/lamplighter`, or `/var/lib/lamplighter` as root.
        data: Option<FilePath> = None,
        /// `sqlite:PATH`, or `postgres://USER@HOST/NAME`. Left out: `SQLite` in the data directory.
        database: Option<DatabaseUrl> = None,
        /// The security team's file. Left out: `policy.yaml` beside this file, if it is there.
        policy: Option<FilePath> = None,
        /// How many tasks run at once.
        concurrency: Concurrency = Concurrency::default(),
        /// How long things are kept.
        retention: Retention = Retention::default(),
        /// What the server says about itself.
        log: Log = Log::default(),
        /// What an agent gets that does not say otherwise.
        defaults: Defaults = Defaults::default(),
        /// Disk and warm sandboxes of this host.
        sandboxes: Storing = Storing::default(),
        /// What the agents that a repository defines itself may have beyond the defaults.
        repositories: Vec<RepositorySection> = vec![],
        /// Model providers, by name. Their keys are secrets.
        models: Vec<Model> = vec![],
        /// A directory with templates that replace the built-in ones of what agents are told.
        prompts: Option<FilePath> = None,
        /// How commits and pull requests of tasks look.
        pull_requests: PullRequestSection = PullRequestSection::default(),
        /// The most that one run may use, within the security team's policy.
        limits: CeilingsSection = CeilingsSection::default(),
        /// Money for models per scope and period, beside what the security team's policy says.
        budgets: Vec<BudgetSection> = vec![],
        /// What may be reached over the network, within the security team's policy. A phase that is left out is not narrowed.
        egress: EgressPolicy = EgressPolicy::default(),
        /// Hosts of package registries, instead of those that package managers are set up for.
        registries: Vec<RegistrySection> = vec![],
        /// Hosts of cloud providers. `cloud:…` is off until its hosts are listed.
        clouds: Vec<CloudSection> = vec![],
        /// GitHub Enterprise servers, which belong to the bundle `github` as well.
        github_servers: Vec<HostName> = vec![],
        /// How much one sandbox may send and receive.
        traffic: Traffic = Traffic::default(),
    }
    look = look;
}

fn look(node: &Node, problems: &mut Problems) {
    report_repeated(node.get("models"), "name", problems);
    report_repeated(node.get("repositories"), "name", problems);
    report_repeated(node.get("registries"), "ecosystem", problems);
    report_repeated(node.get("clouds"), "provider", problems);
}
