//! What a task's agents said and did, in the order in which it was told.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{agent::AgentEvent, time::Time};

/// One thing that an agent said or did. It is what a program in a sandbox told: data, never a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptItem {
    /// From 1, without gaps, through the whole task.
    pub number: u64,
    /// The number of the event that asked for the run.
    pub run: u64,
    /// Another attempt has another number, also at the same run.
    pub attempt: u64,
    pub at: Time,
    pub event: AgentEvent,
}

/// A part of a transcript, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptPage {
    pub items: Vec<TranscriptItem>,
    /// Give it as `after` to go on. The same as was given when nothing is new.
    pub next: u64,
    /// Whether there are more right now.
    pub more: bool,
}

/// Which part of a list that only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The number of the last one that was seen; from the first on when it is left out.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// At most 500; 100 when it is left out.
    #[param(minimum = 1, maximum = 500)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
