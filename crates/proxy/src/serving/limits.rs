//! How much, how many and how long, in one place.
//!
//! Each sandbox has its own of everything that can be used up, so that one cannot starve another. What takes too long is ended, so that
//! what it held is free again.

use std::time::Duration;

/// Connections that are open from one sandbox. More wait at the door.
pub(super) const CONNECTIONS: usize = 512;

/// Questions that wait for the broker, from one sandbox.
pub(super) const QUESTIONS: usize = 256;

/// Bodies that are held until they were judged, of one sandbox, all together: one of the largest, and smaller ones beside it.
pub(super) const BODIES_KIB: usize = 48 * 1024;

/// Names that are looked up at one time, for one sandbox: each holds a thread.
pub(super) const LOOKUPS: usize = 16;

/// Names that are answered inside at one time, and in one second.
pub(super) const NAME_QUESTIONS: usize = 64;
pub(super) const NAMES_PER_SECOND: u32 = 200;

/// Questions about one refused name within this time are one attempt, and refused once.
pub(super) const ONE_ATTEMPT: Duration = Duration::from_secs(1);

/// Names that have an address of our making, in one sandbox.
pub(super) const NAMES: usize = 4096;

/// Questions over one TCP connection.
pub(super) const NAMES_PER_CONNECTION: usize = 64;

/// Connections to hosts that wait for another request, in one sandbox.
pub(super) const IDLE_UPSTREAM: usize = 64;

/// What the kernel keeps for a program that does not read, in bytes; it takes twice as much as it is told. Left to itself it keeps 4 MiB
/// of each connection. A program is on this machine, so more would not be quicker.
pub(super) const PROGRAM_BUFFER: usize = 128 * 1024;

/// Interim answers of a host, before its answer.
pub(super) const INTERIM_ANSWERS: usize = 16;

/// A program that has opened a connection has this long for its first head or handshake.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// A head that has begun is complete by then.
pub(super) const HEAD: Duration = Duration::from_secs(10);

/// How long a connection waits for its next request.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(90);

/// How long a name may take to be looked up.
pub(super) const LOOKUP: Duration = Duration::from_secs(5);

/// How long all addresses of a host together may take to accept.
pub(super) const DIAL: Duration = Duration::from_secs(10);

/// How long the next address waits for the one before.
pub(super) const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// How long a host may take for its handshake.
pub(super) const UPSTREAM_HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a host may think before it answers, or between two pieces of an answer. Models think for minutes.
pub(super) const ANSWER: Duration = Duration::from_mins(15);

/// How long a program may take between two pieces of a body, or to take what it is sent.
pub(super) const BODY: Duration = Duration::from_mins(2);

/// A tunnel in which nothing moves for so long is closed.
pub(super) const TUNNEL_IDLE: Duration = Duration::from_hours(1);

/// The same, when one side has said that it is done.
pub(super) const HALF_CLOSED_IDLE: Duration = Duration::from_mins(1);

/// How often a tunnel is looked at.
pub(super) const TUNNEL_LOOK: Duration = Duration::from_secs(15);

/// How long a connection to a host is kept for the next request.
pub(super) const UPSTREAM_IDLE: Duration = Duration::from_secs(30);

/// After a refusal, what a program still sends is read over for so long and so far, so that it sees the answer.
pub(super) const LINGER: Duration = Duration::from_secs(2);
pub(super) const LINGER_BYTES: usize = 1024 * 1024;

/// How long everything has to end when the gateway does.
pub(super) const END: Duration = Duration::from_secs(1);
