//! Where a task is below the server's address.

use super::escaped;

/// The address of a task, and something of it.
pub(super) fn of(task: &str, rest: &str) -> String {
    format!("/tasks/{}{rest}", escaped(task))
}
