//! Who thinks in the demo: the bundled answers, or a real model whose key the person has.

use std::net::SocketAddr;

use anyhow::bail;
use config::names::ModelName;
use terminal::{environment::Environment, report::Hint};

use super::model;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mind {
    /// Where the bundled answers are.
    Bundled(SocketAddr),
    Real(Real),
}

/// A model that costs money.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Real {
    pub(crate) provider: Provider,
    pub(crate) model: ModelName,
    pub(crate) key: String,
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Real").field("model", &self.model).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    Openai,
}

impl Provider {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }

    /// The variable that holds its key here, and the secret that does on the server.
    pub(crate) const fn secret(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
        }
    }
}

impl Real {
    /// The model of that name at the provider whose key is there; with both keys, the name tells.
    pub(crate) fn find(name: &str, environment: &Environment) -> anyhow::Result<Self> {
        let model: ModelName = name.parse()?;
        let (anthropic, openai) = (&environment.anthropic_api_key, &environment.openai_api_key);
        let (provider, key) = match (anthropic, openai) {
            (Some(key), Some(_)) if name.starts_with("claude") => (Provider::Anthropic, key),
            (Some(key), None) => (Provider::Anthropic, key),
            (Some(_) | None, Some(key)) => (Provider::Openai, key),
            (None, None) => bail!(Hint::new(
                format!("there is no key to ask `{name}` with"),
                "set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or leave `--model` out: the answers are bundled then",
            )),
        };
        Ok(Self { provider, model, key: key.clone() })
    }
}

impl Mind {
    /// `lamp.yaml`.
    pub(crate) fn server_file(&self) -> String {
        let model = match self {
            Self::Bundled(address) => format!(
                "name: bundled, provider: openai-compatible, url: 'http://localhost:{}/v1', addresses: [127.0.0.1], model: {}",
                address.port(),
                model::NAME
            ),
            Self::Real(Real { provider, model, .. }) => format!(
                "name: {0}, provider: {0}, secret: {1}, model: '{model}'",
                provider.name(),
                provider.secret()
            ),
        };
        format!(
            "version: 1\nsandboxes: {{ warm: 0, disk_budget: 2GiB, disk_guaranteed: 256MiB }}\nmodels:\n  - {{ {model} }}\n"
        )
    }

    /// `policy.yaml`: the model, and nothing else.
    pub(crate) fn policy_file(&self) -> String {
        let provider = match self {
            Self::Bundled(_) => "openai-compatible",
            Self::Real(real) => real.provider.name(),
        };
        let phases = ["research", "implement", "review"]
            .map(|phase| format!("  {phase}: {{ allow: ['model:{provider}'] }}\n"));
        format!("version: 1\negress:\n{}", phases.concat())
    }
}

#[cfg(test)]
mod tests {
    use config::FileKind;

    use super::*;

    fn environment(anthropic: Option<&str>, openai: Option<&str>) -> Environment {
        Environment {
            anthropic_api_key: anthropic.map(str::to_owned),
            openai_api_key: openai.map(str::to_owned),
            ..Environment::default()
        }
    }

    #[test]
    fn the_key_that_is_there_says_who_is_asked() {
        let asked = |name: &str, environment: &Environment| {
            let real = Real::find(name, environment).unwrap();
            (real.provider, real.key)
        };
        let both = environment(Some("a"), Some("o"));
        assert_eq!(asked("claude-x", &both), (Provider::Anthropic, "a".to_owned()));
        assert_eq!(asked("gpt-x", &both), (Provider::Openai, "o".to_owned()));
        let (one, other) = (environment(Some("a"), None), environment(None, Some("o")));
        assert_eq!(asked("x", &one), (Provider::Anthropic, "a".to_owned()));
        assert_eq!(asked("claude-x", &other), (Provider::Openai, "o".to_owned()));
        assert!(Real::find("x", &Environment::default()).is_err());
        assert!(Real::find("a: b'", &both).is_err());
    }

    #[test]
    fn the_files_can_be_read_and_hold_no_key() {
        let real = Real::find("claude-x", &environment(Some("sk-hidden"), None)).unwrap();
        assert!(!format!("{real:?}").contains("hidden"));
        for mind in [Mind::Bundled("127.0.0.1:7".parse().unwrap()), Mind::Real(real)] {
            let (server, policy) = (mind.server_file(), mind.policy_file());
            assert!(!server.contains("hidden") && !policy.contains("hidden"));
            config::check_as(FileKind::Server, "lamp.yaml", &server).unwrap();
            config::check_as(FileKind::Policy, "policy.yaml", &policy).unwrap();
        }
    }
}
