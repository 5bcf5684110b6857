//! JSON in lines, JSON as a whole, and XML, in what tools print.
#![no_main]

mod feedback;

use ::feedback::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| feedback::try_all(&[Format::Documents], input));
