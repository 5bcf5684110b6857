//! How much a sandbox may send and receive, all together and by one rule.
//!
//! An allowed host is a way out for whatever fits into addresses and headers; what limits it is how much goes there.

use std::collections::HashMap;

/// Requests and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub requests: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
}

/// What holds for every sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowances {
    /// All together.
    pub task: Allowance,
    /// By one rule.
    pub rule: Allowance,
    /// By one rule about a package registry, which has little to be told.
    pub registry: Allowance,
}

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

impl Default for Allowances {
    fn default() -> Self {
        Self {
            task: Allowance { requests: 1_000_000, bytes_up: 16 * GIB, bytes_down: 256 * GIB },
            rule: Allowance { requests: 500_000, bytes_up: 8 * GIB, bytes_down: 128 * GIB },
            registry: Allowance { requests: 500_000, bytes_up: 256 * MIB, bytes_down: 128 * GIB },
        }
    }
}

/// What one sandbox has used. It grows, and never shrinks.
#[derive(Debug, Default)]
pub struct Traffic {
    total: Used,
    by_rule: HashMap<String, Used>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Used {
    requests: u64,
    bytes_up: u64,
    bytes_down: u64,
}

/// What one more exchange may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub bytes_up: u64,
    pub bytes_down: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{whose} has used up its {what}, which are {limit}")]
pub struct UsedUp {
    whose: String,
    what: &'static str,
    limit: u64,
}

impl Traffic {
    /// Counts one more exchange by `rule`, if there is room for it.
    pub fn begin(&mut self, allowances: &Allowances, rule: &str) -> Result<Room, UsedUp> {
        let by_rule =
            if rule.starts_with("registry:") { allowances.registry } else { allowances.rule };
        let used = self.by_rule.get(rule).copied().unwrap_or_default();
        let task = self.total.room(allowances.task, "this sandbox")?;
        let rule_room = used.room(by_rule, &format!("the rule `{rule}`"))?;
        self.total.requests += 1;
        self.by_rule.entry(rule.to_owned()).or_default().requests += 1;
        Ok(Room {
            bytes_up: task.bytes_up.min(rule_room.bytes_up),
            bytes_down: task.bytes_down.min(rule_room.bytes_down),
        })
    }

    pub fn end(&mut self, rule: Option<&str>, bytes_up: u64, bytes_down: u64) {
        self.total.add(bytes_up, bytes_down);
        if let Some(used) = rule.and_then(|rule| self.by_rule.get_mut(rule)) {
            used.add(bytes_up, bytes_down);
        }
    }
}

impl Used {
    const fn add(&mut self, bytes_up: u64, bytes_down: u64) {
        self.bytes_up = self.bytes_up.saturating_add(bytes_up);
        self.bytes_down = self.bytes_down.saturating_add(bytes_down);
    }

    fn room(&self, allowance: Allowance, whose: &str) -> Result<Room, UsedUp> {
        let left = |what: &'static str, used: u64, limit: u64| match limit.saturating_sub(used) {
            0 => Err(UsedUp { whose: whose.to_owned(), what, limit }),
            left => Ok(left),
        };
        left("requests", self.requests, allowance.requests)?;
        Ok(Room {
            bytes_up: left("bytes to send", self.bytes_up, allowance.bytes_up)?,
            bytes_down: left("bytes to receive", self.bytes_down, allowance.bytes_down)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_is_refused_by_name() {
        let small = |requests| Allowance { requests, bytes_up: 100, bytes_down: 1_000 };
        let allowances = Allowances { task: small(4), rule: small(2), registry: small(2) };
        let mut traffic = Traffic::default();
        let room = traffic.begin(&allowances, "github").unwrap();
        assert_eq!(room, Room { bytes_up: 100, bytes_down: 1_000 });
        traffic.end(Some("github"), 40, 10);
        assert_eq!(traffic.begin(&allowances, "github").unwrap().bytes_up, 60);
        let told = |error: Result<Room, UsedUp>| error.unwrap_err().to_string();
        let by_rule = told(traffic.begin(&allowances, "github"));
        assert_eq!(by_rule, "the rule `github` has used up its requests, which are 2");
        traffic.end(Some("github"), 60, 10);
        let by_task = told(traffic.begin(&allowances, "other"));
        assert_eq!(by_task, "this sandbox has used up its bytes to send, which are 100");
    }
}
