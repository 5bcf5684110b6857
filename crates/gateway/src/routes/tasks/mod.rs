//! Tasks: handed over, watched, decided about, and what came of them.

pub(crate) mod ask;
pub(crate) mod back;
pub(crate) mod begin;
pub(crate) mod look;
pub(crate) mod made;
pub(crate) mod pick;
pub(crate) mod records;
pub(crate) mod stream;

use axum::{
    Router,
    routing::{get, post},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{pulls, totals};
use crate::task_door::{Behind, TaskDoor};

/// Which task.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TaskPath {
    /// The id of a task, or a beginning of it that no other has.
    #[param(pattern = "^t_[0-7][0-9a-hjkmnp-tv-z]{3,25}$", example = "t_01jbrt5cy4fn")]
    pub(crate) task: String,
}

/// Every route of tasks and pull requests, to be merged with [`crate::router`]'s.
pub fn tasks_router(door: TaskDoor) -> Router {
    Router::new()
        .route("/v1/tasks", get(look::list).post(begin::begin))
        .route("/v1/tasks/{task}", get(look::one))
        .route("/v1/tasks/{task}/events", get(records::events))
        .route("/v1/tasks/{task}/transcript", get(records::transcript))
        .route("/v1/tasks/{task}/context", get(records::context))
        .route("/v1/tasks/{task}/usage", get(records::usage))
        .route("/v1/tasks/{task}/plan", get(records::plan))
        .route("/v1/tasks/{task}/stream", get(stream::stream))
        .route("/v1/tasks/{task}/approve", post(ask::approve))
        .route("/v1/tasks/{task}/reject", post(ask::reject))
        .route("/v1/tasks/{task}/answer", post(ask::answer))
        .route("/v1/tasks/{task}/message", post(ask::message))
        .route("/v1/tasks/{task}/pause", post(ask::pause))
        .route("/v1/tasks/{task}/resume", post(ask::resume))
        .route("/v1/tasks/{task}/cancel", post(ask::cancel))
        .route("/v1/tasks/{task}/retry", post(ask::retry))
        .route("/v1/tasks/{task}/amend", post(ask::amend))
        .route("/v1/tasks/{task}/budget", post(ask::budget))
        .route("/v1/tasks/{task}/pick", post(pick::pick))
        .route("/v1/tasks/{task}/revert", post(back::revert))
        .route("/v1/tasks/{task}/diff", get(made::diff))
        .route("/v1/tasks/{task}/checks", get(made::checks))
        .route("/v1/tasks/{task}/review", get(made::review))
        .route("/v1/tasks/{task}/review/dismiss", post(ask::dismiss))
        .route("/v1/tasks/{task}/receipt", get(made::receipt))
        .route("/v1/inbox", get(look::inbox))
        .route("/v1/queue", get(look::queue))
        .route("/v1/usage", get(totals::usage))
        .route("/v1/why", get(totals::why))
        .route("/v1/repositories", get(totals::repositories))
        .route("/v1/pulls", get(pulls::list))
        .route("/v1/pulls/{number}", get(pulls::one))
        .route("/v1/pulls/{number}/diff", get(pulls::diff))
        .route("/v1/pulls/{number}/comments", post(pulls::comment))
        .route("/v1/pulls/{number}/reviews", post(pulls::review))
        .route("/v1/pulls/{number}/checks", post(pulls::check))
        .route("/v1/pulls/{number}/merge", post(pulls::merge))
        .route("/v1/pulls/{number}/close", post(pulls::close))
        .method_not_allowed_fallback(super::not_so)
        .with_state(Behind::new(door))
}
