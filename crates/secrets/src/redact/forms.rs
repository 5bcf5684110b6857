//! The ways in which a value is written by accident: as it is, in base64, in hexadecimal, quoted.
//!
//! Percent signs and backslashes are not here. They can be put before any letter, so a text is read through them instead
//! (see [`super::views`]).

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use zeroize::Zeroizing;

/// Lines of a value with at least this many bytes are looked for one by one: logs put something before each line.
const LINE: usize = 16;

/// All forms of `value`, without line breaks, which the search leaves out as well.
pub(super) fn of(value: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = Forms::default();
    let raw = value.as_bytes();
    forms.add(raw);
    forms.base64(raw);
    for line in value.lines().map(str::trim) {
        // `-----BEGIN PRIVATE KEY-----` is no secret.
        if line.len() >= LINE && line.len() < value.trim().len() && !line.starts_with("-----") {
            forms.add(line.as_bytes());
        }
    }
    for byte in [|byte: &u8| format!("{byte:02x}"), |byte: &u8| format!("{byte:02X}")] {
        forms.add(raw.iter().map(byte).collect::<String>().as_bytes());
    }
    // A form in a body: a space is a plus there.
    forms.add(value.replace(' ', "+").as_bytes());
    // The two ways to put a quote into what a shell reads between quotes.
    for quote in [r"'\''", r#"'"'"'"#] {
        forms.add(value.replace('\'', quote).as_bytes());
    }
    for [double, single] in
        [["&quot;", "&#39;"], ["&#34;", "&#39;"], ["&quot;", "&#x27;"], ["\"", "'"]]
    {
        let escaped = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        forms.add(escaped.replace('"', double).replace('\'', single).as_bytes());
    }
    forms.0
}

#[derive(Default)]
struct Forms(Vec<Zeroizing<Vec<u8>>>);

impl Forms {
    fn add(&mut self, form: &[u8]) {
        let mut squeezed = Zeroizing::new(Vec::with_capacity(form.len()));
        squeezed.extend(form.iter().filter(|byte| !is_break(**byte)));
        if !squeezed.is_empty() {
            self.0.push(squeezed);
        }
    }

    /// The whole value by itself, and, wherever it stands in something longer, the letters that it alone decides.
    fn base64(&mut self, raw: &[u8]) {
        for engine in [STANDARD, URL_SAFE] {
            let whole = Zeroizing::new(engine.encode(raw));
            self.add(whole.as_bytes());
            self.add(whole.trim_end_matches('=').as_bytes());
            for before in 0..3 {
                let mut shifted = Zeroizing::new(vec![0; before]);
                shifted.extend_from_slice(raw);
                let text = Zeroizing::new(engine.encode(&shifted));
                let (first, last) = ((before * 8).div_ceil(6), (before + raw.len()) * 8 / 6);
                self.add(text.as_bytes().get(first..last).unwrap_or_default());
            }
        }
    }
}

pub(super) const fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
