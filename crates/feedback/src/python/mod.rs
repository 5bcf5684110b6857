//! What pytest, unittest, ruff and mypy print.

pub(crate) mod mypy;
pub(crate) mod pytest;
pub(crate) mod pytest_report;
pub(crate) mod ruff;
pub(crate) mod unittest;
