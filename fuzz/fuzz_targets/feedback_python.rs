//! Text of pytest, ruff and mypy, and of whom nobody knows.
#![no_main]

mod feedback;

use ::feedback::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| feedback::try_all(
    &[Format::Pytest, Format::Unittest, Format::Ruff, Format::Mypy, Format::Anything],
    input
));
