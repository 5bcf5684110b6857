//! Where a failed attempt ended.

use domain::{digest::Digest, progress};
use serde::{Deserialize, Serialize};

use crate::stored::{shape::Shape, text::Text};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::stored) struct Footprint {
    failing: Text<Digest>,
    change: Text<Digest>,
}

impl Shape for Footprint {
    type Of = progress::Footprint;

    fn of(value: &progress::Footprint) -> Self {
        Self { failing: Shape::of(&value.failing()), change: Shape::of(&value.change()) }
    }

    fn value(self) -> progress::Footprint {
        progress::Footprint::from_parts(self.failing.value(), self.change.value())
    }
}
