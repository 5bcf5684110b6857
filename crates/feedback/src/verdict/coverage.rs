//! Coverage of changed lines.
