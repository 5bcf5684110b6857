//! What the platform team says about the way out: where registries, clouds and forges are, and how much may go there.

use domain::policy::{CloudProvider, Ecosystem, HostName};

use crate::{
    shape::{Count, flag, known_words, record},
    units::Storage,
};

known_words! { Ecosystem;
    Npm = "npm": ["npm, and what reads `.npmrc`."],
    Pypi = "pypi": ["pip, and what reads `pip.conf`."],
    Crates = "crates": ["cargo."],
    Go = "go": ["Go's modules."],
    Maven = "maven": ["Maven."],
    Debian = "debian": ["apt."],
}

record! {
    /// The hosts of a package registry, instead of those that the package manager is set up for.
    pub struct RegistrySection {
        /// Which one.
        ecosystem: Ecosystem,
        /// Its hosts. They are for reading, over HTTPS.
        hosts: Vec<HostName>,
    }
}

known_words! { CloudProvider;
    Aws = "aws": ["Amazon's."],
    Gcp = "gcp": ["Google's."],
    Azure = "azure": ["Microsoft's."],
}

record! {
    /// The hosts of a cloud provider that `cloud:…` means. Without an entry it means none.
    pub struct CloudSection {
        /// Which one.
        provider: CloudProvider,
        /// Hosts of services that are used, such as `sts.eu-central-1.amazonaws.com`. All methods are allowed there.
        hosts: Vec<HostName>,
    }
}

/// Whether a model may use tools that run at its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderTools {
    Allowed,
    Refused,
}

flag!(ProviderTools, Allowed, Refused);

record! {
    defaulted
    /// How much one sandbox may send and receive in all.
    pub struct Traffic {
        /// Requests and connections.
        requests: Count<1, 1_000_000_000> = Count::nearest_to(1_000_000),
        /// Bytes to the world.
        upload: Storage = Storage::gib(16),
        /// Bytes from the world.
        download: Storage = Storage::gib(256),
    }
}
