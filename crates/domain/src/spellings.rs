//! The ways in which a secret's value is written by accident: as it is, in base64, in hexadecimal, in a URL, in JSON, quoted.
//!
//! This is the one list: what is printed and what a host answers are searched for the same spellings. Whoever searches decides how: `secrets`
//! also reads through percent signs and backslashes, which can be put before any letter.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use zeroize::Zeroizing;

/// A spelling with fewer bytes is not looked for: it would be found everywhere.
pub const SHORTEST: usize = 6;

/// Lines of a value with at least this many bytes are looked for one by one: logs put something before each line.
const LINE: usize = 16;

/// All spellings of `value`, each once, none shorter than [`SHORTEST`].
pub fn of(value: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all = Spellings::default();
    let raw = value.as_bytes();
    all.add(raw);
    all.base64(raw);
    for line in value.lines().map(str::trim) {
        // `-----BEGIN PRIVATE KEY-----` is no secret.
        if line.len() >= LINE && line.len() < value.trim().len() && !line.starts_with("-----") {
            all.add(line.as_bytes());
        }
    }
    // The end of the last line is nobody's secret, and what stands around the value goes on after it.
    let shown = value.trim_end_matches(['\r', '\n']).as_bytes();
    for digits in [SMALL, CAPITAL] {
        all.each(raw, |byte, out| out.extend(hexadecimal(byte, digits)));
        all.each(shown, |byte, out| match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(byte),
            plain if plain.is_ascii_alphanumeric() => out.push(plain),
            other => {
                out.push(b'%');
                out.extend(hexadecimal(other, digits));
            }
        });
    }
    all.each(shown, json);
    // PHP and some others write JSON like this, so that it can stand in a page.
    all.each(shown, |byte, out| match byte {
        b'/' => out.extend(b"\\/"),
        other => json(other, out),
    });
    // As Go and Python write it: without what HTML reads, and in ASCII.
    all.add(&json_in_ascii(value.trim_end_matches(['\r', '\n'])));
    // A form in a body: a space is a plus there.
    all.add(Zeroizing::new(value.replace(' ', "+")).as_bytes());
    // The two ways to put a quote into what a shell reads between quotes.
    for quote in [r"'\''", r#"'"'"'"#] {
        all.add(Zeroizing::new(value.replace('\'', quote)).as_bytes());
    }
    for [double, single] in
        [["&quot;", "&#39;"], ["&#34;", "&#39;"], ["&quot;", "&#x27;"], ["\"", "'"]]
    {
        all.each(raw, |byte, out| match byte {
            b'&' => out.extend(b"&amp;"),
            b'<' => out.extend(b"&lt;"),
            b'>' => out.extend(b"&gt;"),
            b'"' => out.extend(double.as_bytes()),
            b'\'' => out.extend(single.as_bytes()),
            plain => out.push(plain),
        });
    }
    all.0
}

#[derive(Default)]
struct Spellings(Vec<Zeroizing<Vec<u8>>>);

impl Spellings {
    fn add(&mut self, spelling: &[u8]) {
        if spelling.len() >= SHORTEST && self.0.iter().all(|known| known.as_slice() != spelling) {
            self.0.push(Zeroizing::new(spelling.to_vec()));
        }
    }

    /// Adds what `put` makes of each byte.
    fn each(&mut self, raw: &[u8], put: impl Fn(u8, &mut Vec<u8>)) {
        // Room for all of it, so that growing leaves no copy behind.
        let mut out = Zeroizing::new(Vec::with_capacity(raw.len() * 6));
        for byte in raw {
            put(*byte, &mut out);
        }
        self.add(&out);
    }

    /// The whole value by itself, and, wherever it stands in something longer, the letters that it alone decides.
    fn base64(&mut self, raw: &[u8]) {
        for engine in [STANDARD, URL_SAFE] {
            let whole = Zeroizing::new(engine.encode(raw));
            self.add(whole.as_bytes());
            self.add(whole.trim_end_matches('=').as_bytes());
            for before in 0..3 {
                let mut shifted = Zeroizing::new(Vec::with_capacity(before + raw.len()));
                shifted.resize(before, 0);
                shifted.extend_from_slice(raw);
                let text = Zeroizing::new(engine.encode(&shifted));
                let (first, last) = ((before * 8).div_ceil(6), (before + raw.len()) * 8 / 6);
                self.add(text.as_bytes().get(first..last).unwrap_or_default());
            }
        }
    }
}

const SMALL: &[u8; 16] = b"0123456789abcdef";
const CAPITAL: &[u8; 16] = b"0123456789ABCDEF";

fn hexadecimal(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|half| digits.get(usize::from(half)).copied().unwrap_or(b'0'))
}

/// As it stands between the quotes of JSON.
fn json(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend([b'\\', byte]),
        b'\n' => out.extend(b"\\n"),
        b'\r' => out.extend(b"\\r"),
        b'\t' => out.extend(b"\\t"),
        8 => out.extend(b"\\b"),
        12 => out.extend(b"\\f"),
        0..0x20 => {
            out.extend(b"\\u00");
            out.extend(hexadecimal(byte, SMALL));
        }
        plain => out.push(plain),
    }
}

/// The same, with `&`, `<`, `>` and everything beyond ASCII as numbers.
fn json_in_ascii(value: &str) -> Zeroizing<Vec<u8>> {
    // Room for all of it, so that growing leaves no copy behind.
    let mut out = Zeroizing::new(Vec::with_capacity(value.len() * 6));
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() && !b"&<>".contains(&byte) => json(byte, &mut out),
            Ok(_) | Err(_) => {
                out.extend(b"\\u");
                out.extend(unit.to_be_bytes().into_iter().flat_map(|it| hexadecimal(it, SMALL)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(value: &str) -> Vec<String> {
        of(value).iter().map(|it| String::from_utf8(it.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_value_is_known_in_every_spelling() {
        insta::assert_snapshot!(spelt("it's \"a\\key/1>&\n").join("\n"));
    }

    #[test]
    fn a_plain_value_has_each_spelling_once_and_none_that_is_everywhere() {
        let spelt = spelt("s3cr3t77");
        let mut once = spelt.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), spelt.len());
        assert!(spelt.iter().all(|it| it.len() >= SHORTEST), "{spelt:?}");
        assert!(of("abc").iter().all(|it| it.len() >= SHORTEST));
    }

    #[test]
    fn json_is_known_as_every_language_writes_it() {
        let spelt = spelt("k\u{e9}y/<1>");
        for written in ["k\u{e9}y/<1>", "k\u{e9}y\\/<1>", r"k\u00e9y/\u003c1\u003e"] {
            assert!(spelt.contains(&written.to_owned()), "{written}: {spelt:?}");
        }
    }

    #[test]
    fn long_lines_of_a_value_are_looked_for_by_themselves() {
        let spelt = spelt("-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\nshort\n-----END KEY-----\n");
        assert!(spelt.contains(&"MIGHAgEAMBMGByqGSM49".to_owned()));
        assert!(!spelt.contains(&"-----BEGIN KEY-----".to_owned()));
    }
}
