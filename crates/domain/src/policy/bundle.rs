//! Capabilities that a rule can name instead of addresses.
//!
//! A bundle says what one wants to do (`registry:npm`, `model:anthropic`); which
//! hosts that means is the gateway's knowledge, shipped as a table and adapted
//! to a company's mirrors.

use std::{fmt, str::FromStr};

use super::{HostError, HostName};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bundle {
    /// GitHub: reading, and the writes that the task's own branch needs.
    Github,
    /// One repository on any host that speaks git's smart protocol.
    Git { host: HostName, repository: String },
    /// A package registry, for reading only.
    Registry(Ecosystem),
    /// A model provider's API.
    Model(ModelProvider),
    /// A cloud provider's API. Off until the platform team says which hosts.
    Cloud(CloudProvider),
    /// A private host that the security team has named in its policy.
    Internal(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    Npm,
    Pypi,
    Crates,
    Go,
    Maven,
    Debian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelProvider {
    Anthropic,
    Openai,
    Gemini,
    OpenaiCompatible,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloudProvider {
    Aws,
    Gcp,
    Azure,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    #[error("unknown bundle `{0}`")]
    Unknown(String),
    #[error("unknown registry `{0}`")]
    UnknownRegistry(String),
    #[error("unknown model provider `{0}`")]
    UnknownModel(String),
    #[error("unknown cloud provider `{0}`")]
    UnknownCloud(String),
    #[error("`{0}` does not name a repository as `git:HOST/OWNER/NAME`")]
    MalformedRepository(String),
    #[error("`{0}` does not name an internal host as `internal:NAME`")]
    MalformedInternal(String),
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Ecosystem {
    pub const ALL: [Self; 6] =
        [Self::Npm, Self::Pypi, Self::Crates, Self::Go, Self::Maven, Self::Debian];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Crates => "crates",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Debian => "debian",
        }
    }
}

impl ModelProvider {
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::Openai, Self::Gemini, Self::OpenaiCompatible];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
            Self::OpenaiCompatible => "openai-compatible",
        }
    }
}

impl CloudProvider {
    pub const ALL: [Self; 3] = [Self::Aws, Self::Gcp, Self::Azure];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Azure => "azure",
        }
    }
}

impl Bundle {
    /// Every bundle that can be written without a name of one's own.
    pub fn well_known() -> Vec<Self> {
        let registries = Ecosystem::ALL.into_iter().map(Self::Registry);
        let models = ModelProvider::ALL.into_iter().map(Self::Model);
        let clouds = CloudProvider::ALL.into_iter().map(Self::Cloud);
        [Self::Github].into_iter().chain(registries).chain(models).chain(clouds).collect()
    }
}

impl FromStr for Bundle {
    type Err = BundleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "github" {
            return Ok(Self::Github);
        }
        let Some((kind, name)) = text.split_once(':') else {
            return Err(BundleError::Unknown(text.to_owned()));
        };
        match kind {
            "git" => repository(text, name),
            "registry" => Ecosystem::ALL
                .into_iter()
                .find(|ecosystem| ecosystem.as_str() == name)
                .map(Self::Registry)
                .ok_or_else(|| BundleError::UnknownRegistry(name.to_owned())),
            "model" => ModelProvider::ALL
                .into_iter()
                .find(|provider| provider.as_str() == name)
                .map(Self::Model)
                .ok_or_else(|| BundleError::UnknownModel(name.to_owned())),
            "cloud" => CloudProvider::ALL
                .into_iter()
                .find(|provider| provider.as_str() == name)
                .map(Self::Cloud)
                .ok_or_else(|| BundleError::UnknownCloud(name.to_owned())),
            "internal" if is_plain(name) => Ok(Self::Internal(name.to_owned())),
            "internal" => Err(BundleError::MalformedInternal(text.to_owned())),
            _unknown => Err(BundleError::Unknown(text.to_owned())),
        }
    }
}

fn repository(text: &str, name: &str) -> Result<Bundle, BundleError> {
    let malformed = || BundleError::MalformedRepository(text.to_owned());
    let (host, repository) = name.split_once('/').ok_or_else(malformed)?;
    if !repository.split('/').all(is_plain) {
        return Err(malformed());
    }
    Ok(Bundle::Git { host: host.parse()?, repository: repository.to_owned() })
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name != "." && name != ".." && name.chars().all(plain)
}

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Github => f.write_str("github"),
            Self::Git { host, repository } => write!(f, "git:{host}/{repository}"),
            Self::Registry(ecosystem) => write!(f, "registry:{}", ecosystem.as_str()),
            Self::Model(provider) => write!(f, "model:{}", provider.as_str()),
            Self::Cloud(provider) => write!(f, "cloud:{}", provider.as_str()),
            Self::Internal(name) => write!(f, "internal:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_reads_as_it_prints() {
        let mut all = Bundle::well_known();
        all.push("git:git.example.com/web/shop.git".parse().unwrap());
        all.push("internal:build-cache".parse().unwrap());
        for bundle in all {
            assert_eq!(bundle.to_string().parse(), Ok(bundle));
        }
        for wrong in
            ["", "npm", "registry:nmp", "model:", "git:x", "git:h/../x", "internal:", "a:b"]
        {
            assert!(wrong.parse::<Bundle>().is_err(), "{wrong}");
        }
    }
}
