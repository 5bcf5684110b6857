//! How a task remembers what it has heard on its pull request.

use super::{Heard, Remark, Stage, Task, WakeCause};

impl Task {
    /// Remembers what woke it.
    pub(super) fn hear(&mut self, cause: &WakeCause) {
        match cause {
            // Told to the task itself, and kept nowhere else.
            WakeCause::Comment { .. } => {}
            WakeCause::Remarks(remarks) => self.heard.extend(remarks.iter().map(Remark::heard)),
            WakeCause::FailedCheck { check } => {
                if let Stage::PullRequestOpen { head, .. } = &self.stage {
                    let (head, check) = (head.clone(), check.clone());
                    self.heard.insert(Heard::Check { head, check });
                }
            }
        }
    }
}
