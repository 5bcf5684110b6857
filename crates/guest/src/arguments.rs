//! What the launcher says on the command line.

use std::time::Duration;

/// Which users there are to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    /// Root and the agent.
    Range,
    /// Only the one that the guest is already.
    Single,
    /// None: the guest runs outside of any sandbox, for its own tests.
    Outside,
}

/// Where the host speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A listening socket as descriptor 3.
    Listener,
    /// Standard input and output.
    Stdio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) users: Users,
    pub(crate) line: Line,
    /// `None`: no limit.
    pub(crate) lifetime: Option<Duration>,
}

impl Arguments {
    /// `None` when there is an argument that nobody knows: the launcher and the guest are of one build.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut parsed = Self { users: Users::Single, line: Line::Listener, lifetime: None };
        for argument in arguments {
            match argument.split_once('=') {
                Some(("--users", "range")) => parsed.users = Users::Range,
                Some(("--users", "single")) => parsed.users = Users::Single,
                Some(("--lifetime-millis", millis)) => {
                    let millis: u64 = millis.parse().ok()?;
                    parsed.lifetime = (millis > 0).then(|| Duration::from_millis(millis));
                }
                None if argument == "--stdio" => parsed.line = Line::Stdio,
                None if argument == "--outside" => parsed.users = Users::Outside,
                Some(_) | None => return None,
            }
        }
        Some(parsed)
    }
}
