//! What is known of a program that works as an agent, before it runs.

/// When a person's words reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// In the middle of its work.
    AtOnce,
    /// When its turn is over.
    AfterTurn,
    /// Not at all.
    Never,
}

/// Whether a sandbox has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// At the version that we know.
    Here {
        version: String,
    },
    /// At another one, which may speak otherwise.
    Other {
        version: String,
        wanted: String,
    },
    Missing,
    /// It is there and does not start.
    Broken {
        reason: String,
    },
    /// It is brought along, or its owner says what is started.
    NotAsked,
}
