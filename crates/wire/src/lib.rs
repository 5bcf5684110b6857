//! The public HTTP contract: shapes, OpenAPI, and a small client.
//!
//! | module | what |
//! |---|---|
//! | [`sandbox`] | create, list, measure sandboxes |
//! | [`exec`] | a command inside, over a WebSocket |
//! | [`files`] | files inside |
//! | [`agent`] | agents, and one at work in a sandbox, over a WebSocket |
//! | [`image`] | what sandboxes start from |
//! | [`egress`] | what a sandbox may reach, explained and learned |
//! | [`secret`] | secrets: set and described, never read back |
//! | [`task`] | tasks: handed over, watched, decided about |
//! | [`pull`], [`why`] | what became of their work, and where a line is from |
//! | [`money`], [`time`] | amounts and points in time |
//! | [`server`] | what this server is and can do |
//! | [`error`] | what every refusal looks like |
//! | [`client`] | all of it, called over a unix socket or the loopback |
//!
//! Everything is under [`VERSION`]. Keys may be added; a key that changes its meaning makes a new version.
//! The shapes know nothing of the rooms behind the door, so that neither has to move when the other does.

pub mod agent;
pub mod client;
pub mod egress;
pub mod error;
pub mod exec;
pub mod files;
pub mod image;
pub mod money;
pub mod pull;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod task;
pub mod time;
pub mod why;

/// The path that every address begins with.
pub const VERSION: &str = "/v1";

/// What the name of the command line begins with, where callers name themselves.
pub const CLI: &str = "lamp/";

/// How the command line names itself in `User-Agent`.
pub const USER_AGENT: &str = concat!("lamp/", env!("CARGO_PKG_VERSION"));

/// The most bytes that a JSON body may have.
pub const JSON_LIMIT: usize = 1 << 20;

/// The most bytes that a path inside a sandbox may have: what Linux allows.
pub const PATH_LIMIT: usize = 4096;
