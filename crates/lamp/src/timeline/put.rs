//! Puts words at the end of a text. Writing to a text does not fail, so nothing is to be handled.

/// The words, as they are.
macro_rules! put {
    ($text:expr, $($words:tt)*) => {{
        use std::fmt::Write as _;
        let _cannot_fail = write!($text, $($words)*);
    }};
}

/// The words, and a line's end.
macro_rules! put_line {
    ($text:expr, $($words:tt)*) => {{
        use std::fmt::Write as _;
        let _cannot_fail = writeln!($text, $($words)*);
    }};
}

pub(crate) use {put, put_line};
