//! What an agent intends to do.
//!
//! The hash is not stored: it is computed from the plan, and an approval that names another hash does
//! not fit. So a plan that was changed in the database is a plan that nobody approved.

use crate::stored::shape::{Micros, Millis};

record! {
    Plan of domain::plan::Plan {
        summary: String,
        files: Vec<FileChange>,
        tests: Vec<String>,
        expected_behaviour: String,
        commands: Vec<String>,
        hosts: Vec<String>,
        risks: Vec<String>,
        estimate: Estimate,
    }
}

record! {
    FileChange of domain::plan::FileChange { path: String, why: String }
}

record! {
    Estimate of domain::plan::Estimate {
        time as "time_millis": Option<Millis>,
        cost as "cost_micros": Option<Micros>,
    }
}
