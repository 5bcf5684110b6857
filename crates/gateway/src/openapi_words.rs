//! What the words of a call look like: those in its address and after `?`, and what is said over its WebSocket.
//!
//! The rules are those of the parsers behind it. A tool that reads the document then knows what is refused before it asks.

use serde_json::{Value, json};
use utoipa::openapi::{
    RefOr,
    extensions::Extensions,
    path::{Operation, Parameter, ParameterIn},
    schema::Schema,
};

/// A parameter by its place and its name, and the pattern of its values.
const PATTERNS: [(ParameterIn, &str, &str); 4] = [
    (ParameterIn::Path, "sandbox", "^(s_[0-7][0-9a-hjkmnp-tv-z]{25}|[a-z][a-z0-9-]{0,63})$"),
    (ParameterIn::Path, "key", "^[0-9a-f]{8,64}$"),
    (ParameterIn::Path, "name", "^[A-Za-z_][A-Za-z0-9_]{0,127}$"),
    (
        ParameterIn::Query,
        "repository",
        "^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$",
    ),
];

/// A call over a WebSocket, the first message, what may be said after it, and what is said back.
const SOCKETS: [(&str, &str, &str, &str); 2] = [
    ("sandboxes_exec", "StartExec", "ClientSays", "ServerSays"),
    ("agents_work", "StartAgent", "AgentHears", "AgentSays"),
];

/// Says how the words of a call are written, where it does not say so itself.
pub(crate) fn describe(call: &mut Operation) {
    for parameter in call.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            describe_parameter(parameter);
        }
    }
    let name = call.operation_id.as_deref().unwrap_or_default();
    if let Some((_, first, says, hears)) = SOCKETS.iter().find(|(socket, ..)| *socket == name) {
        let messages =
            json!({ "first": shape(first), "client": shape(says), "server": shape(hears) });
        call.extensions = Some(Extensions::from_iter([("x-websocket-messages", messages)]));
    }
}

fn describe_parameter(parameter: &mut Parameter) {
    let known = PATTERNS
        .iter()
        .find(|(place, name, _)| *place == parameter.parameter_in && *name == parameter.name);
    if let Some((_, _, pattern)) = known
        && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        && schema.pattern.is_none()
    {
        schema.pattern = Some((*pattern).to_owned());
    }
}

fn shape(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
