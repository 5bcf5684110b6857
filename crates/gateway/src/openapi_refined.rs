//! What holds for every call and is not written at each: refusals, names, descriptions, and how to come in.

use std::collections::BTreeSet;

use utoipa::{
    PartialSchema as _,
    openapi::{
        Components, Content, OpenApi, Ref, RefOr, Required, Response, Tag,
        header::HeaderBuilder,
        path::{Operation, ParameterIn},
        schema::{ObjectBuilder, Schema, Type},
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
        server::Server,
        tag::TagBuilder,
    },
};
use wire::error::{MEDIA_TYPE, Refusal};

use crate::openapi_words;

/// How a caller shows who they are.
const TOKEN: &str = "token";

/// The address that needs no token.
const OPEN: &str = "/v1/health";

/// A status, the name of its description, and what it means.
const REFUSALS: [(&str, &str, &str); 12] = [
    ("400", "BadRequest", "The request is not right; `detail` names what"),
    ("401", "Unauthorized", "The token is missing or wrong"),
    ("403", "Forbidden", "The caller may not do this, or comes from where it must not come from"),
    ("404", "NotFound", "There is no such thing, or not yet"),
    ("409", "Conflict", "It cannot be done where things stand now; `help` says what can"),
    ("410", "Gone", "It was destroyed, and does not come back"),
    ("413", "TooLarge", "The body is longer than it may be"),
    ("415", "MediaType", "The body is not said to be JSON"),
    ("422", "Unprocessable", "It is understood, and this server cannot do it"),
    ("429", "TooMany", "Too many calls in a short time"),
    ("500", "Internal", "A fault of the server"),
    ("503", "Busy", "Try again in a moment"),
];

/// Groups of calls, in the order in which people meet them.
const TAGS: [(&str, &str); 9] = [
    ("tasks", "Tasks: handed over, watched, decided about, and what came of them"),
    ("pulls", "Pull requests that tasks delivered, and where a line is from"),
    ("sandboxes", "Sandboxes: computers for one run"),
    ("agents", "Agents: the programs, and one at work in a sandbox"),
    ("files", "Files inside sandboxes"),
    ("images", "What sandboxes start from"),
    ("egress", "What sandboxes may reach, and did"),
    ("secrets", "Secrets: set and described, never read back"),
    ("server", "What this server is and can do"),
];

pub(crate) fn refine(document: &mut OpenApi) {
    document.servers = Some(vec![Server::new("http://127.0.0.1:7180")]);
    document.tags = Some(TAGS.iter().map(|(name, what)| tag(name, what)).collect());
    document.security = Some(vec![SecurityRequirement::new(TOKEN, [] as [&str; 0])]);
    let components = document.components.get_or_insert_default();
    let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert(TOKEN.to_owned(), token.into());
    components.schemas.insert("Refusal".to_owned(), Refusal::schema());
    for (status, name, what) in REFUSALS {
        components.responses.insert(name.to_owned(), refusal(status, what).into());
    }
    components.responses.insert("Problem".to_owned(), refusal("", "Any other refusal").into());
    let all_optional = AllOptional::of(components);
    for (path, item) in &mut document.paths.paths {
        let calls = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
        ];
        for (method, call) in calls {
            if let Some(call) = call {
                refine_call(path, method, call, &all_optional);
            }
        }
    }
}

fn tag(name: &str, what: &str) -> Tag {
    TagBuilder::new().name(name).description(Some(what)).build()
}

fn refusal(status: &str, what: &str) -> Response {
    let mut response = Response::new(what);
    let schema = RefOr::Ref(Ref::from_schema_name("Refusal"));
    response.content.insert(MEDIA_TYPE.to_owned(), Content::new(Some(schema)).into());
    if matches!(status, "429" | "503") {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).build();
        let header =
            HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds to wait"));
        response.headers.insert("Retry-After".to_owned(), header.build().into());
    }
    response
}

/// The shapes all of whose fields may be left out.
struct AllOptional(BTreeSet<String>);

impl AllOptional {
    fn of(components: &Components) -> Self {
        let optional = components.schemas.iter().filter(|(_, schema)| match schema {
            RefOr::T(Schema::Object(shape)) => shape.required.is_empty(),
            RefOr::T(_) | RefOr::Ref(_) => false,
        });
        Self(optional.map(|(name, _)| format!("#/components/schemas/{name}")).collect())
    }

    fn holds(&self, content: &RefOr<Content>) -> bool {
        match content {
            RefOr::T(content) => match &content.schema {
                Some(RefOr::Ref(shape)) => self.0.contains(&shape.ref_location),
                Some(RefOr::T(_)) | None => false,
            },
            RefOr::Ref(_) => false,
        }
    }
}

fn refine_call(path: &str, method: &str, call: &mut Operation, all_optional: &AllOptional) {
    let group = call.tags.as_ref().and_then(|tags| tags.first()).cloned().unwrap_or_default();
    let name = call.operation_id.take().unwrap_or_default();
    call.operation_id = Some(format!("{group}_{name}"));
    openapi_words::describe(call);
    if call.description.is_none() {
        call.description = call.summary.as_ref().map(|summary| format!("{summary}."));
    }
    if path == OPEN {
        call.security = Some(Vec::new());
    }
    let has_path = call.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    });
    for parameter in call.parameters.iter_mut().flatten() {
        // A header that is left out is nothing, and not a null.
        if let RefOr::T(parameter) = parameter
            && parameter.parameter_in == ParameterIn::Header
        {
            parameter.required = Required::False;
        }
    }
    if let Some(body) = &mut call.request_body
        && let RefOr::T(body) = body
    {
        // Nothing at all is read as `{}`, as an empty file, or as an archive of nothing.
        let may_be_left_out = body
            .content
            .iter()
            .all(|(media, content)| media != "application/json" || all_optional.holds(content));
        body.required = Some(if may_be_left_out { Required::False } else { Required::True });
    }
    let responses = &mut call.responses.responses;
    responses.remove("4XX");
    responses.remove("5XX");
    for response in responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            "What was asked for".clone_into(&mut response.description);
        }
    }
    let changes = method != "get";
    for (status, name, _) in REFUSALS {
        let can_come = match status {
            "401" => path != OPEN,
            "404" => has_path || group == "pulls",
            "409" | "413" | "415" => changes,
            "410" => group == "sandboxes" || group == "files",
            _always => true,
        };
        if can_come && !responses.contains_key(status) {
            responses.insert(status.to_owned(), Ref::from_response_name(name).into());
        }
    }
    responses.insert("default".to_owned(), Ref::from_response_name("Problem").into());
}
