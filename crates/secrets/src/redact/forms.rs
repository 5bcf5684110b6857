//! What is looked for: every spelling of a value ([`domain::spellings`]), without line breaks, which the search leaves out as well.
//!
//! Percent signs and backslashes can be put before any letter, so a text is also read through them (see [`super::views`]).

use domain::spellings;
use zeroize::Zeroizing;

pub(super) fn of(value: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = spellings::of(value);
    for form in &mut forms {
        form.retain(|byte| !is_break(*byte));
    }
    forms.retain(|form| form.len() >= spellings::SHORTEST);
    forms
}

pub(super) const fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
