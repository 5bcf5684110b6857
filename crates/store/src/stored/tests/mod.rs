//! Whatever can happen can be stored and read again; what was stored once can be read for ever; what
//! we did not write is refused.

mod golden;
mod hostile;
mod round_trip;
mod samples;
mod strategies;

use super::*;
