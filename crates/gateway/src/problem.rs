//! Refusals: every error as a status, a stable code, a sentence, and what to do about it.

use axum::{
    Json,
    body::to_bytes,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contracts::{
    sandbox::{SandboxError, Transfer},
    secret::{ExposeError, SecretError},
};
use domain::agent::Tier;
use wire::error::{Code, MEDIA_TYPE, Problem, Refusal};

use crate::sockets::NotCleaned;

/// What a route answers, or why it does not.
pub(crate) type Answer<T> = Result<T, Trouble>;

#[derive(Debug)]
pub(crate) struct Trouble(pub(crate) Problem);

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        trouble.0
    }
}

impl From<NotCleaned> for Problem {
    fn from(error: NotCleaned) -> Self {
        Self::new(Code::Internal, error.to_string())
    }
}

impl From<ExposeError> for Trouble {
    fn from(error: ExposeError) -> Self {
        let code = match &error {
            ExposeError::Secret(SecretError::Unknown(_)) => Code::NotFound,
            ExposeError::Untrusted
            | ExposeError::Secret(SecretError::Revoked | SecretError::ForAgents(_))
            | ExposeError::NotExposed(_) => Code::Forbidden,
            ExposeError::Secret(SecretError::Busy { .. }) | ExposeError::NotWritten { .. } => {
                Code::Busy
            }
        };
        let problem = Problem::new(code, error.to_string());
        Self(match error {
            ExposeError::Untrusted => {
                problem.with_help("say `--even-untrusted` if what runs there may have it")
            }
            ExposeError::Secret(_)
            | ExposeError::NotExposed(_)
            | ExposeError::NotWritten { .. } => problem,
        })
    }
}

impl From<SandboxError> for Trouble {
    fn from(error: SandboxError) -> Self {
        Self(problem(error))
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let status = status(self.0.code);
        let mut response = (status, Json(Refusal::new(self.0, status.as_u16()))).into_response();
        let media = HeaderValue::from_static(MEDIA_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The words of a refusal that is not ours, such as one about an address that cannot be decoded.
const LONGEST_WORDS: usize = 4096;

/// Tells what others refuse (the framework, before a route is reached) as we do.
pub(crate) async fn in_one_form(response: Response) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let media = response.headers().get(header::CONTENT_TYPE);
    if media.is_some_and(|media| media == MEDIA_TYPE) {
        return response;
    }
    let code = match status {
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::MediaType,
        other if other.is_server_error() => Code::Internal,
        _other => Code::BadRequest,
    };
    let (parts, body) = response.into_parts();
    let words = to_bytes(body, LONGEST_WORDS).await.unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    let words = words.trim();
    let message = if words.is_empty() { "the request is not right" } else { words };
    let mut told = Trouble(Problem::new(code, message)).into_response();
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    told
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::BadRequest => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Gone => StatusCode::GONE,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::TooMany => StatusCode::TOO_MANY_REQUESTS,
        Code::NameTaken
        | Code::Resting
        | Code::BelongsToTask
        | Code::NotNow
        | Code::Stale
        | Code::KeyReused => StatusCode::CONFLICT,
        Code::TierMissing
        | Code::Limit
        | Code::Image
        | Code::SetupFailed
        | Code::Source
        | Code::ProgramMissing
        | Code::Path
        | Code::Unsupported
        | Code::AgentStopped
        | Code::AgentSilent
        | Code::AgentUnusable
        | Code::ModelRefused
        | Code::OverBudget
        | Code::TimeLimit
        | Code::OutOfMemory => StatusCode::UNPROCESSABLE_ENTITY,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::Busy | Code::Stopped | Code::ModelBusy => StatusCode::SERVICE_UNAVAILABLE,
        Code::Lost | Code::Internal | Code::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn problem(error: SandboxError) -> Problem {
    let message = error.to_string();
    let (code, help) = match &error {
        SandboxError::NotFound { .. } => {
            (Code::NotFound, "`lamp sandbox list` shows those that exist")
        }
        SandboxError::Destroyed { .. } => (Code::Gone, "make a new one with `lamp sandbox create`"),
        SandboxError::Resting { .. } => (Code::Resting, "`lamp sandbox resume` opens it"),
        SandboxError::NameTaken { .. } => {
            (Code::NameTaken, "choose another name, or remove the other with `lamp sandbox delete`")
        }
        SandboxError::TierMissing { tier: Tier::Standard, .. } => (
            Code::TierMissing,
            "`--tier verified` asks for less, if you trust what will run; `lamp doctor` says what this computer lacks",
        ),
        SandboxError::TierMissing { tier: Tier::Verified | Tier::Untrusted, .. } => {
            (Code::TierMissing, "`lamp doctor` says what this computer lacks for it")
        }
        SandboxError::Limit { .. } => (Code::Limit, "ask for an amount within these bounds"),
        SandboxError::Image { .. } => (
            Code::Image,
            "`host` is this computer's own toolchain; `lamp image list` shows what was built",
        ),
        SandboxError::Setup { .. } => {
            (Code::SetupFailed, "the end of its log says why; correct the script and build again")
        }
        SandboxError::Hook { .. } => (
            Code::SetupFailed,
            "correct the hook; `lamp sandbox create` without it opens a sandbox to try it in",
        ),
        SandboxError::Source { .. } => {
            (Code::Source, "check the repository's address and revision")
        }
        SandboxError::ProgramMissing { .. } => (
            Code::ProgramMissing,
            "check its name, or take an image that has it; `sh -c 'command -v NAME'` looks for one",
        ),
        SandboxError::Directory { .. } => {
            (Code::Path, "name one that exists and that its user may enter, or leave it out")
        }
        SandboxError::Unsupported { .. } => {
            (Code::Unsupported, "`lamp doctor` says what this computer can do")
        }
        SandboxError::NoRoom { .. } => (
            Code::Busy,
            "delete sandboxes that are not needed, run `lamp image prune`, or raise `sandboxes.disk_budget` in `lamp.yaml` and restart \
             the server",
        ),
        SandboxError::Busy { .. } => (Code::Busy, "try again in a moment"),
        SandboxError::Lost { .. } => {
            (Code::Lost, "delete it and make a new one; the server's log says more")
        }
    };
    let log = match error {
        SandboxError::Setup { log, .. } => Some(log),
        SandboxError::NotFound { .. }
        | SandboxError::Destroyed { .. }
        | SandboxError::Resting { .. }
        | SandboxError::NameTaken { .. }
        | SandboxError::TierMissing { .. }
        | SandboxError::Limit { .. }
        | SandboxError::Image { .. }
        | SandboxError::Hook { .. }
        | SandboxError::Source { .. }
        | SandboxError::ProgramMissing { .. }
        | SandboxError::Directory { .. }
        | SandboxError::Unsupported { .. }
        | SandboxError::NoRoom { .. }
        | SandboxError::Busy { .. }
        | SandboxError::Lost { .. } => None,
    };
    Problem { log, ..Problem::new(code, message).with_help(help) }
}

/// A transfer that must be done, or the path that it failed at.
pub(crate) fn done(transfer: Transfer) -> Answer<()> {
    match transfer {
        Transfer::Done => Ok(()),
        Transfer::Failed { path, reason } => Err(failed_path(&path, &reason)),
        Transfer::Entries(_) => {
            Err(Problem::new(Code::Internal, "the sandbox listed entries that nobody asked for")
                .into())
        }
    }
}

pub(crate) fn failed_path(path: &str, reason: &str) -> Trouble {
    // The sandbox may have named it too.
    let reason =
        reason.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason);
    Problem::new(Code::Path, format!("`{path}` in the sandbox: {reason}")).into()
}
