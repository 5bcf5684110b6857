//! What gets through, and what does not.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use proptest::{collection::vec, prelude::*};

use super::*;

const VALUE: &str = "s3cr3t/+va'lue\"&<ü>";

fn redactions(values: &[&str]) -> Arc<Redactions> {
    Arc::new(Redactions::new(values.iter().copied()).unwrap())
}

/// Feeds `text` in pieces of these lengths, over and over.
fn in_pieces(redactions: &Arc<Redactions>, text: &[u8], lengths: &[usize]) -> Vec<u8> {
    let mut redactor = Redactor::new(Arc::clone(redactions));
    let (mut out, mut rest) = (Vec::new(), text);
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).clamp(1, rest.len()));
        out.extend(redactor.feed(piece));
        rest = after;
    }
    out.extend(redactor.finish());
    out
}

fn percent(value: &str, digits: fn(u8) -> String, all: bool) -> String {
    let one = |byte: u8| {
        if !all && (byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)) {
            char::from(byte).to_string()
        } else {
            digits(byte)
        }
    };
    value.bytes().map(one).collect()
}

fn upper(byte: u8) -> String {
    format!("%{byte:02X}")
}

fn lower(byte: u8) -> String {
    format!("%{byte:02x}")
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().concat()
}

fn json_ascii(value: &str) -> String {
    joined(value.encode_utf16().map(|unit| format!("\\u{unit:04x}")))
}

fn json(value: &str) -> String {
    let quoted = serde_json::to_string(value).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

/// `printf %q`.
fn shell(value: &str) -> String {
    value
        .chars()
        .map(|c| if c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") })
        .collect()
}

fn wrapped(text: &str, at: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(at).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// Everything that a value is turned into by accident, made by other code than what looks for it.
fn written(value: &str) -> Vec<String> {
    vec![
        value.to_owned(),
        STANDARD.encode(value),
        URL_SAFE.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
        wrapped(&STANDARD.encode(value), 5),
        percent(&STANDARD.encode(value), upper, false),
        percent(value, upper, false),
        percent(value, lower, false),
        percent(value, upper, true),
        percent(value, lower, true),
        percent(value, upper, false).replace("%20", "+"),
        json(value),
        json_ascii(value),
        joined(value.bytes().map(|byte| format!("{byte:02x}"))),
        joined(value.bytes().map(|byte| format!("{byte:02X}"))),
        joined(value.bytes().map(|byte| format!("\\x{byte:02x}"))),
        format!("'{}'", value.replace('\'', r"'\''")),
        shell(value),
        value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
    ]
}

#[test]
fn a_value_is_removed_however_it_is_written() {
    let redactions = redactions(&[VALUE]);
    for (number, text) in written(VALUE).into_iter().enumerate() {
        let whole = format!("before {text} after");
        let out = redactions.text(&whole);
        assert!(out.contains(MARK), "{number}: {out}");
        assert!(out.starts_with("before ") && out.ends_with(" after"), "{number}: {out}");
        assert!(out.len() <= "before '[redacted]' after".len(), "{number}: {out}");
    }
}

#[test]
fn nothing_of_a_value_is_given_before_it_is_whole() {
    let redactions = redactions(&["sixteen-letters!"]);
    let mut redactor = Redactor::new(redactions);
    assert_eq!(redactor.feed(b"a six"), b"a ");
    assert_eq!(redactor.feed(b"teen-letters"), b"");
    assert_eq!(redactor.feed(b"!"), MARK.as_bytes());
    assert_eq!(redactor.feed(b" sixteen"), b" ");
    assert_eq!(redactor.feed(b" more"), b"sixteen more");
    assert_eq!(redactor.feed(b"100%"), b"100");
    assert_eq!(redactor.finish(), b"%");
}

#[test]
fn whoever_types_sees_a_letter_and_a_value_is_still_removed() {
    let redactions = Arc::new(Redactions::new(["sixteen-letters!"]).unwrap());
    let mut redactor = Redactor::new(redactions);
    assert_eq!(redactor.feed(b"s"), b"");
    assert!(redactor.is_holding());
    assert_eq!((redactor.release(), redactor.is_holding()), (b"s".to_vec(), false));
    assert_eq!(redactor.release(), b"", "once");
    assert_eq!(redactor.feed(b"ee"), b"ee", "it was no value");
    assert_eq!(redactor.feed(b" si"), b" ");
    assert_eq!(redactor.release(), b"si");
    assert_eq!(redactor.feed(b"xteen-letters! ..."), b"[redacted] ...");
    assert_eq!(redactor.feed(b"sixteen-l"), b"");
    assert_eq!((redactor.release(), redactor.is_holding()), (Vec::new(), true), "that tells");
    assert_eq!(redactor.feed(b"etters!!"), b"[redacted]!");
    assert_eq!(redactor.finish(), b"");
    let mut seen = Vec::new();
    for letter in b"sixteen-letters!" {
        seen.extend([redactor.feed(&[*letter]), redactor.release()].concat());
    }
    seen.extend(redactor.finish());
    assert_eq!(String::from_utf8(seen).unwrap(), "six[redacted]");
}

#[test]
fn values_that_overlap_leave_nothing_between_them() {
    let redactions = redactions(&["abcdefgh", "fghijklm", "lmnopqrs"]);
    for lengths in [[1], [2], [3], [5], [9], [100]] {
        let out = in_pieces(&redactions, b"<abcdefghijklmnopqrs> <fghijklm>", &lengths);
        assert_eq!(String::from_utf8(out).unwrap(), "<[redacted]> <[redacted]>");
    }
}

#[test]
fn what_is_held_back_has_a_limit() {
    let redactions = redactions(&["aaaaaaaaaaaaaaaa", VALUE]);
    let mut redactor = Redactor::new(redactions);
    for piece in [&b"a"[..], b"\n", b"a\n", b"\\", b"\\u000a", b"%0a", b"s3cr3t\n\n\n"] {
        for _ in 0..2000 {
            redactor.feed(piece);
            assert!(redactor.stream.held.len() < 3000, "{redactor:?}");
        }
    }
}

#[test]
fn a_key_of_many_lines_is_removed_line_by_line_too() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\nhRANCAATkk0ZcZd1Xk5zqL3\n-----END PRIVATE KEY-----\n";
    let redactions = redactions(&[key]);
    assert_eq!(redactions.text(key), "[redacted]\n");
    assert_eq!(redactions.text(&key.replace('\n', "\r\n")), "[redacted]\r\n");
    let log =
        "1 | -----BEGIN PRIVATE KEY-----\n2 | MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\n";
    assert_eq!(redactions.text(log), "1 | -----BEGIN PRIVATE KEY-----\n2 | [redacted]\n");
    let escaped = serde_json::to_string(key).unwrap();
    assert_eq!(redactions.text(&escaped), "\"[redacted]\\n\"");
}

#[test]
fn a_long_text_is_read_in_parts_and_comes_out_the_same() {
    let redactions = redactions(&[VALUE]);
    let value = STANDARD.encode(VALUE);
    for offset in 0..value.len() + 2 {
        let text = format!("{}{value}{}", "x".repeat(AT_ONCE - offset), "y".repeat(AT_ONCE));
        let out = redactions.text(&text);
        assert_eq!(out, text.replace(&value, MARK), "{offset}");
    }
    let plain = "plain % \\ text\n".repeat(10_000);
    assert!(matches!(redactions.text(&plain), Cow::Borrowed(_)));
}

#[test]
fn no_secrets_means_no_change() {
    let redactions = redactions(&[]);
    assert!(matches!(redactions.text("100% \\ plain"), Cow::Borrowed("100% \\ plain")));
    let mut redactor = Redactor::new(redactions);
    assert_eq!(redactor.feed(b"%\\"), b"%\\");
    assert_eq!(format!("{redactor:?}"), "Redactor { held: 0, .. }");
}

fn values() -> impl Strategy<Value = Vec<String>> {
    vec("[!-~]{8,40}|[a-c]{8,12}|[ -~ü\n]{8,60}", 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn however_a_text_is_cut_the_same_comes_out(
        values in values(),
        parts in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a-c%\\\\\n2-6]{0,9}"), 0..6),
        lengths in vec(1_usize..30, 1..8),
    ) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactions = redactions(&values);
        let mut text = String::new();
        for (value, form, between) in parts {
            let chosen: &&str = value.get(&values);
            let forms = written(chosen);
            let form: Vec<char> = form.get(&forms).chars().collect();
            let keep = form.len() - form.len() % lengths[0].max(2);
            text.extend(&form[..keep]);
            text.push_str(&between);
        }
        let whole = redactions.bytes(text.as_bytes()).into_owned();
        let pieces = in_pieces(&redactions, text.as_bytes(), &lengths);
        prop_assert_eq!(String::from_utf8_lossy(&pieces), String::from_utf8_lossy(&whole));
    }

    #[test]
    fn no_value_gets_through(
        value in "[!-~]{8,60}",
        which in any::<prop::sample::Index>(),
        before in "[ .:=]{0,10}",
        after in "[ .:=]{0,10}",
        lengths in vec(1_usize..20, 1..5),
    ) {
        let redactions = redactions(&[&value]);
        let forms = written(&value);
        let form = which.get(&forms);
        let text = format!("{before}{form}{after}");
        let out = in_pieces(&redactions, text.as_bytes(), &lengths);
        let out = String::from_utf8(out).unwrap();
        prop_assert!(out.contains(MARK), "{form} gets through: {out}");
        // A value may begin or end like what is around it; quotes stay.
        prop_assert!(out.len() <= before.len() + after.len() + MARK.len() + 2, "{out}");
    }

    #[test]
    fn no_value_gets_through_in_the_middle_of_base64(
        value in "[!-~]{8,60}",
        before in vec(any::<u8>(), 0..9),
        after in vec(any::<u8>(), 0..9),
        lengths in vec(1_usize..20, 1..5),
    ) {
        let bytes = [&before[..], value.as_bytes(), &after].concat();
        let redactions = redactions(&[&value]);
        for text in [STANDARD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let out = String::from_utf8(in_pieces(&redactions, text.as_bytes(), &lengths)).unwrap();
            let (first, last) = ((before.len() * 8).div_ceil(6), (before.len() + value.len()) * 8 / 6);
            prop_assert!(out.contains(MARK));
            prop_assert!(!out.contains(&text[first..last]), "{out}");
            prop_assert!(out.len() <= text.len() - (last - first) + MARK.len());
        }
    }

    #[test]
    fn text_without_a_value_comes_out_as_it_was(
        values in vec("[A-Z]{8,20}", 1..4),
        text in vec("[a-z0-9 ]{0,10}|%[0-9a-f]?|\\\\[nu0-9]?|\n|\r\n|ü", 0..30),
        lengths in vec(1_usize..20, 1..5),
    ) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactions = redactions(&values);
        let text = text.concat();
        // Capital letters can come from `%41` and `\u0041` only, and eight of them are not in so short a text.
        prop_assert_eq!(redactions.text(&text), text.as_str());
        prop_assert_eq!(in_pieces(&redactions, text.as_bytes(), &lengths), text.as_bytes());
    }

    #[test]
    fn any_bytes_are_taken(values in values(), bytes in vec(any::<u8>(), 0..300), lengths in vec(1_usize..40, 1..5)) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactions = redactions(&values);
        prop_assert_eq!(in_pieces(&redactions, &bytes, &lengths), redactions.bytes(&bytes).into_owned());
    }
}
