//! Text of jest, vitest, node's test runner, eslint and tsc, and TAP.
#![no_main]

mod feedback;

use ::feedback::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| feedback::try_all(
    &[Format::Jest, Format::Vitest, Format::NodeTest, Format::Tap, Format::Eslint, Format::Tsc],
    input
));
