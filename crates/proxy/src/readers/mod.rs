//! Strict readers of hostile bytes.
//!
//! Everything here is a pure function or a small state machine over bytes that a program inside a sandbox, or a host that it
//! talks to, has chosen. What can be read in two ways is refused; nothing is tidied up. What was read is written again by us, so
//! that what was judged is what is sent.
//!
//! | module | reads |
//! |---|---|
//! | [`target`] | hosts, ports and paths, wherever they stand |
//! | [`head`] | the head of an HTTP/1.1 request or answer, and how long its body is |
//! | [`framing`] | chunks |
//! | [`socks`] | SOCKS5 |
//! | [`dns`] | questions for names |
//! | [`hello`] | the first message of TLS |
//! | [`packet_line`] | the lines of git's protocol |
//!
//! **Invariants:** no input makes a reader panic, wait for ever, or keep more than its limit. Bytes that arrive in pieces are read
//! as if they had come at once.

pub mod dns;
pub mod framing;
pub mod head;
pub mod hello;
pub mod packet_line;
pub mod socks;
pub mod target;
