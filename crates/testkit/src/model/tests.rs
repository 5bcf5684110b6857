//! Requests in, answers out: every language, every fault, and what is remembered.
