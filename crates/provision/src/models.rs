//! Which of the server's models a program asks, and where it finds it inside.

use agents::{Endpoint, Format, Program};
use config::server::Model;
use domain::policy::{Bundle, ModelProvider, Rule};
use egress::bundles::model;

/// A model that a program can speak with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken<'a> {
    pub endpoint: Endpoint,
    pub provider: ModelProvider,
    /// What is asked there where nobody names a model.
    pub usual: Option<&'a str>,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    #[error("`lamp.yaml` sets up no model that `{program}` can speak with")]
    Unspoken { program: &'static str },
    #[error("{0}")]
    Unknown(String),
}

impl NoModel {
    /// What a person can do.
    pub const HELP: &str = "add one below `models` of `lamp.yaml`, such as `{ name: anthropic, provider: anthropic, secret: ANTHROPIC_API_KEY }`";
}

/// The languages that a provider's models are asked in.
pub const fn speaks(provider: ModelProvider) -> &'static [Format] {
    match provider {
        ModelProvider::Anthropic => &[Format::AnthropicMessages],
        ModelProvider::Openai | ModelProvider::OpenaiCompatible => {
            &[Format::OpenAiChat, Format::OpenAiResponses]
        }
        ModelProvider::Gemini => &[Format::Gemini],
    }
}

/// The rule that lets a sandbox ask a provider.
pub const fn rule(provider: ModelProvider) -> Rule {
    Rule::Bundle(Bundle::Model(provider))
}

/// The first of `models` that the program can speak with, in the language that it speaks best; `wanted` is one by its name. None for a
/// program that asks no model.
pub fn find<'a>(
    models: &'a [Model],
    program: &Program,
    wanted: Option<&str>,
) -> Result<Option<Spoken<'a>>, NoModel> {
    if !program.asks_a_model() {
        return Ok(None);
    }
    let offered = models.iter().filter(|it| wanted.is_none_or(|wanted| wanted == it.name.as_str()));
    let found = program.formats.iter().find_map(|format| {
        let fits = offered.clone().find(|it| speaks(it.provider).contains(format));
        fits.map(|model| (model, *format))
    });
    let Some((found, format)) = found else {
        return Err(NoModel::Unspoken { program: program.name });
    };
    let known = model::provider(found.provider);
    let known = known.map_err(|error| NoModel::Unknown(error.to_string()))?;
    let url = format!("http://{}/{}{}", model::INSIDE_HOST, found.name, known.inside());
    Ok(Some(Spoken {
        endpoint: Endpoint { format, url },
        provider: found.provider,
        usual: found.model.as_ref().map(config::names::ModelName::as_str),
    }))
}
