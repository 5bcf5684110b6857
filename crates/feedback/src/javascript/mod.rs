//! What jest, vitest, node's test runner, eslint and tsc print.

pub(crate) mod eslint;
pub(crate) mod jest;
pub(crate) mod jest_report;
pub(crate) mod mocha;
pub(crate) mod node;
pub(crate) mod thrown;
pub(crate) mod tsc;
pub(crate) mod vitest;
