//! Text of cargo, rustc, clippy, libtest and nextest.
#![no_main]

mod feedback;

use ::feedback::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| feedback::try_all(
    &[Format::Rustc, Format::Libtest, Format::Nextest],
    input
));
