//! What the environment says, read once at the start.
//!
//! A value that is wrong is an error that names the variable and says what it may be. Nothing else is configured anywhere.

use std::{collections::BTreeMap, path::PathBuf};

use crate::address::{Address, AddressError};

/// Whose language the model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Anthropic,
    Openai,
    Gemini,
    Ollama,
}

/// What the work is; decides which tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Research,
    Plan,
    Implement,
    Review,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Implement => "implement",
            Self::Review => "review",
        }
    }

    /// Whether files of the tree may be changed. The mount says so too, and it is the one that counts.
    pub fn may_edit(self) -> bool {
        match self {
            Self::Implement => true,
            Self::Research | Self::Plan | Self::Review => false,
        }
    }
}

#[derive(Clone)]
pub struct Settings {
    pub format: Format,
    pub address: Address,
    pub model: String,
    /// Worthless anywhere but on this run's way to the model; still not shown.
    pub key: String,
    pub mode: Mode,
    /// How much the model can look at.
    pub context_tokens: u64,
    /// How often it is asked in one turn.
    pub max_steps: u32,
    pub max_output_tokens: u64,
    /// Where sessions are kept.
    pub home: PathBuf,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("format", &self.format)
            .field("model", &self.model)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {problem}; {remedy}")]
pub struct SettingsError {
    pub variable: String,
    pub problem: String,
    pub remedy: String,
}

const CONTEXT_TOKENS: u64 = 200_000;
const MAX_STEPS: u64 = 100;
const MAX_OUTPUT_TOKENS: u64 = 16_384;
const LONGEST_KEY: usize = 4096;

impl Settings {
    pub fn read(variables: &BTreeMap<String, String>) -> Result<Self, SettingsError> {
        let text = |name: &str| variables.get(name).map(String::as_str).filter(|it| !it.is_empty());
        let needed = |name: &str, remedy: &str| {
            text(name).ok_or_else(|| wrong(name, "is not set".to_owned(), remedy))
        };
        let format = match needed("LAMP_MODEL_FORMAT", FORMATS)? {
            "anthropic" => Format::Anthropic,
            "openai" => Format::Openai,
            "gemini" => Format::Gemini,
            "ollama" => Format::Ollama,
            other => return Err(wrong("LAMP_MODEL_FORMAT", shown(other), FORMATS)),
        };
        let url = needed("LAMP_MODEL_URL", ADDRESSES)?;
        let proxy = ["http_proxy", "HTTP_PROXY"]
            .into_iter()
            .find_map(|name| text(name).map(|url| (name, url)));
        let direct = text("no_proxy").or_else(|| text("NO_PROXY")).unwrap_or("");
        let address = Address::new(url, proxy.map(|(_, url)| url), direct).map_err(|error| {
            let problem = format!("is wrong: {error}");
            match error {
                AddressError::Proxy(_) => {
                    let name = proxy.map_or("http_proxy", |(name, _)| name);
                    wrong(name, problem, "give it a value such as `http://127.0.0.1:3128`")
                }
                AddressError::Model(_) => wrong("LAMP_MODEL_URL", problem, ADDRESSES),
            }
        })?;
        let model = needed("LAMP_MODEL", "give the model's name as its provider spells it")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-:/@+".contains(c);
        if model.len() > 200 || !model.chars().all(is_name) {
            let remedy = "use at most 200 letters, digits and `._-:/@+`";
            return Err(wrong("LAMP_MODEL", shown(model), remedy));
        }
        let key = text("LAMP_MODEL_KEY").unwrap_or("");
        if key.len() > LONGEST_KEY || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let problem = "cannot stand in a header".to_owned();
            return Err(wrong("LAMP_MODEL_KEY", problem, "use printable ASCII without spaces"));
        }
        let mode = match text("LAMP_MODE").unwrap_or("implement") {
            "research" => Mode::Research,
            "plan" => Mode::Plan,
            "implement" => Mode::Implement,
            "review" => Mode::Review,
            other => return Err(wrong("LAMP_MODE", shown(other), MODES)),
        };
        let number = |name: &str, usual: u64, least: u64, most: u64| {
            let Some(found) = text(name) else { return Ok(usual) };
            let number = found.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                wrong(name, shown(found), &format!("use a whole number from {least} to {most}"))
            })
        };
        let context_tokens = number("LAMP_CONTEXT_TOKENS", CONTEXT_TOKENS, 4096, 10_000_000)?;
        let max_steps = number("LAMP_MAX_STEPS", MAX_STEPS, 1, 10_000)?;
        // A small window needs room for what is asked, too.
        let usual = MAX_OUTPUT_TOKENS.min(context_tokens / 4);
        let max_output_tokens =
            number("LAMP_MAX_OUTPUT_TOKENS", usual, 256, (context_tokens / 2).max(256))?;
        let home = match (text("LAMP_AGENT_HOME"), text("HOME")) {
            (Some(home), _) => PathBuf::from(home),
            (None, Some(home)) => PathBuf::from(home).join(".lamp-agent"),
            (None, None) => {
                let remedy = "name a directory where sessions are kept";
                return Err(wrong(
                    "LAMP_AGENT_HOME",
                    "is not set, and HOME neither".into(),
                    remedy,
                ));
            }
        };
        if !home.is_absolute() {
            let remedy = "give it a path that begins with `/`";
            return Err(wrong("LAMP_AGENT_HOME", shown(&home.to_string_lossy()), remedy));
        }
        Ok(Self {
            format,
            address,
            model: model.to_owned(),
            key: key.to_owned(),
            mode,
            context_tokens,
            max_steps: u32::try_from(max_steps).unwrap_or(u32::MAX),
            max_output_tokens,
            home,
        })
    }
}

const FORMATS: &str = "use one of `anthropic`, `openai`, `gemini`, `ollama`";
const MODES: &str = "use one of `research`, `plan`, `implement`, `review`";
const ADDRESSES: &str = "give it a value such as `http://model.lamp.internal/anthropic`";

fn wrong(variable: &str, problem: String, remedy: &str) -> SettingsError {
    SettingsError { variable: variable.to_owned(), problem, remedy: remedy.to_owned() }
}

fn shown(value: &str) -> String {
    format!("is `{}`", crate::cut::line(value, 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[(&str, &str)]) -> Result<Settings, String> {
        let mut variables: BTreeMap<String, String> = [
            ("LAMP_MODEL_FORMAT", "anthropic"),
            ("LAMP_MODEL_URL", "http://model.lamp.internal/anthropic"),
            ("LAMP_MODEL", "claude-x"),
            ("http_proxy", "http://127.0.0.1:3128"),
            ("HOME", "/home/dev"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        variables.extend(changes.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        Settings::read(&variables).map_err(|error| error.to_string())
    }

    #[test]
    fn three_variables_are_enough() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.mode, Mode::Implement);
        assert_eq!(settings.context_tokens, 200_000);
        assert_eq!(settings.max_output_tokens, 16_384);
        assert_eq!(settings.home, PathBuf::from("/home/dev/.lamp-agent"));
    }

    #[test]
    fn a_small_window_leaves_room_for_the_question() {
        assert_eq!(read(&[("LAMP_CONTEXT_TOKENS", "8192")]).unwrap().max_output_tokens, 2048);
    }

    #[test]
    fn a_wrong_value_is_told_with_its_variable_and_the_remedy() {
        for (name, value, told) in [
            ("LAMP_MODEL_FORMAT", "", "LAMP_MODEL_FORMAT is not set; use one of `anthropic`"),
            ("LAMP_MODEL_FORMAT", "claude", "LAMP_MODEL_FORMAT is `claude`; use one of"),
            ("LAMP_MODEL_URL", "https://x/", "LAMP_MODEL_URL is wrong: it needs TLS"),
            ("LAMP_MODEL_URL", "", "LAMP_MODEL_URL is not set; give it a value such as"),
            ("LAMP_MODEL", "a b", "LAMP_MODEL is `a b`; use at most 200"),
            ("LAMP_MODEL_KEY", "a\r\nb: c", "LAMP_MODEL_KEY cannot stand in a header"),
            ("LAMP_MODE", "yolo", "LAMP_MODE is `yolo`; use one of `research`"),
            ("LAMP_MAX_STEPS", "0", "LAMP_MAX_STEPS is `0`; use a whole number from 1 to 10000"),
            ("LAMP_CONTEXT_TOKENS", "many", "LAMP_CONTEXT_TOKENS is `many`"),
            ("LAMP_MAX_OUTPUT_TOKENS", "900000", "LAMP_MAX_OUTPUT_TOKENS is `900000`"),
            ("LAMP_AGENT_HOME", "here", "LAMP_AGENT_HOME is `here`; give it a path"),
            ("http_proxy", "socks5://x", "http_proxy is wrong: "),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        let settings = read(&[("LAMP_MODEL_KEY", "sk-hidden")]).unwrap();
        assert!(!format!("{settings:?}").contains("hidden"));
    }
}
