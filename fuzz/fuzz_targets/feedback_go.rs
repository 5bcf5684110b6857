//! Text of go and of compilers of C.
#![no_main]

mod feedback;

use ::feedback::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| feedback::try_all(
    &[Format::GoTest, Format::GoBuild, Format::C],
    input
));
