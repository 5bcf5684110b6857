//! Quantities, as people write them: `2h`, `8GiB`, `$10`, `0.5` of a processor.
//!
//! Each knows its bounds; a value outside of them does not exist.

mod cpu;
mod duration;
mod price;
mod size;

pub use cpu::{Cpu, CpuError};
pub use duration::{DurationError, Keep, RunTime, Wait};
pub use price::{Price, PriceError};
pub use size::{Disk, Memory, SizeError, Speech, Storage};
