//! The certificate authority of one sandbox, and what it signs.
//!
//! TLS is looked into by answering in a host's name. The certificates that it is answered with are signed by an authority that one
//! sandbox believes and nobody else does, and whose key never enters the sandbox. The broker makes it; it is sent along with the doors.

mod authority;
mod leaf;

pub use self::{
    authority::{AuthorityError, make},
    leaf::{Leafs, LeafsError},
};

#[cfg(test)]
mod tests;
