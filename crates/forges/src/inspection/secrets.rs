//! Secrets in what is about to be published.
//!
//! Tokens of well-known services have a shape that nothing else has: these are refused. A long random value beside a word like
//! `password` may be one: that is flagged. What stood in the file before is not told again, and neither are examples. What was
//! found is never repeated in a message: only its line and its kind are.

use std::{collections::HashSet, fmt, sync::OnceLock};

use aho_corasick::AhoCorasick;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A token of this service.
    Token(&'static str),
    PrivateKey,
    /// `https://user:password@host`.
    PasswordInAddress,
    /// Signed claims: often short-lived, or made for a test.
    SignedToken,
    /// Random, beside a word that promises a secret.
    RandomValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    Known,
    Likely,
}

impl Kind {
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::Token(_) | Self::PrivateKey => Certainty::Known,
            Self::PasswordInAddress | Self::SignedToken | Self::RandomValue => Certainty::Likely,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(service) => write!(f, "a token of {service}"),
            Self::PrivateKey => f.write_str("a private key"),
            Self::PasswordInAddress => f.write_str("a password in an address"),
            Self::SignedToken => f.write_str("a signed token"),
            Self::RandomValue => f.write_str("a secret value"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// From one.
    pub line: usize,
    pub kind: Kind,
    /// Where it is in the text.
    pub range: std::ops::Range<usize>,
}

/// How a token of a service looks: these letters, then at least so many of an alphabet.
struct Shape {
    start: &'static str,
    service: &'static str,
    alphabet: fn(u8) -> bool,
    least: usize,
    most: usize,
}

const fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn wide(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

const LONG: usize = 500;

const fn shape(
    start: &'static str,
    service: &'static str,
    alphabet: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> Shape {
    Shape { start, service, alphabet, least, most }
}

const SHAPES: &[Shape] = &[
    shape("AKIA", "AWS", upper, 16, 16),
    shape("ASIA", "AWS", upper, 16, 16),
    shape("ghp_", "GitHub", word, 36, LONG),
    shape("gho_", "GitHub", word, 36, LONG),
    shape("ghu_", "GitHub", word, 36, LONG),
    shape("ghs_", "GitHub", word, 36, LONG),
    shape("ghr_", "GitHub", word, 36, LONG),
    shape("github_pat_", "GitHub", word, 40, LONG),
    shape("glpat-", "GitLab", wide, 20, LONG),
    shape("xoxb-", "Slack", wide, 20, LONG),
    shape("xoxp-", "Slack", wide, 20, LONG),
    shape("xoxa-", "Slack", wide, 20, LONG),
    shape("xoxs-", "Slack", wide, 20, LONG),
    shape("xapp-", "Slack", wide, 20, LONG),
    shape("sk-ant-", "Anthropic", wide, 30, LONG),
    shape("sk-proj-", "OpenAI", wide, 30, LONG),
    shape("sk_live_", "Stripe", word, 20, LONG),
    shape("rk_live_", "Stripe", word, 20, LONG),
    shape("AIza", "Google", wide, 35, 35),
    shape("npm_", "npm", word, 36, 36),
    shape("pypi-AgE", "PyPI", wide, 50, LONG),
    shape("hf_", "Hugging Face", word, 34, 34),
    shape("dop_v1_", "DigitalOcean", hex, 64, 64),
    shape("shpat_", "Shopify", hex, 32, 32),
    shape("lin_api_", "Linear", word, 40, LONG),
    shape("AGE-SECRET-KEY-1", "age", upper, 58, 58),
];

/// Beside one of these a random value is suspicious.
const WORDS: &[&str] = &[
    "secret",
    "passwd",
    "password",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "private_key",
    "auth_token",
    "access_token",
    "credential",
];

/// What is in `new` and was not in `old`.
pub fn find_new(old: Option<&[u8]>, new: &[u8]) -> Vec<Found> {
    let mut found = find(new);
    if let Some(old) = old.filter(|_| !found.is_empty()) {
        let before: HashSet<&[u8]> =
            find(old).into_iter().filter_map(|one| old.get(one.range)).collect();
        found.retain(|one| new.get(one.range.clone()).is_none_or(|it| !before.contains(it)));
    }
    found
}

/// All that looks like a secret, in order.
pub fn find(text: &[u8]) -> Vec<Found> {
    const MOST: usize = 100;
    let mut found: Vec<(usize, usize, Kind)> = Vec::new();
    let Some(starts) = starts() else { return Vec::new() };
    for start in starts.find_overlapping_iter(text) {
        let at = start.start();
        // A match inside of what is found already is a part of it.
        if found.last().is_some_and(|(from, to, _)| (*from..*to).contains(&at)) {
            continue;
        }
        let hit = match Meaning::of(start.pattern().as_usize()) {
            Meaning::Token(shape) => token(text, at, shape),
            Meaning::Key => private_key(text, at),
            Meaning::Address => password(text, at),
            Meaning::Signed => signed(text, at),
            Meaning::Word => random_value(text, start.end()),
        };
        if let Some((from, to, kind)) = hit
            && !found.iter().any(|(a, b, _)| from < *b && *a < to)
        {
            found.push((from, to, kind));
        }
        if found.len() == MOST {
            break;
        }
    }
    let told = |(from, to, kind)| Found { line: line_of(text, from), kind, range: from..to };
    found.into_iter().map(told).collect()
}

/// From one.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    1 + text.iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// What the pattern of a number means: first the shapes, then these three, then the words.
enum Meaning {
    Token(&'static Shape),
    Key,
    Address,
    Signed,
    Word,
}

const OTHERS: [&str; 3] = ["-----BEGIN ", "://", "eyJ"];

impl Meaning {
    fn of(pattern: usize) -> Self {
        if let Some(shape) = SHAPES.get(pattern) {
            return Self::Token(shape);
        }
        match pattern - SHAPES.len() {
            0 => Self::Key,
            1 => Self::Address,
            2 => Self::Signed,
            3.. => Self::Word,
        }
    }
}

/// One pass for all. Case counts only where it is looked at again.
fn starts() -> Option<&'static AhoCorasick> {
    static STARTS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let build = || {
        let shapes = SHAPES.iter().map(|shape| shape.start);
        let all = shapes.chain(OTHERS).chain(WORDS.iter().copied());
        AhoCorasick::builder().ascii_case_insensitive(true).build(all).ok()
    };
    STARTS.get_or_init(build).as_ref()
}

type Hit = Option<(usize, usize, Kind)>;

fn run_of(text: &[u8], from: usize, most: usize, alphabet: fn(u8) -> bool) -> usize {
    text.iter().skip(from).take(most).take_while(|byte| alphabet(**byte)).count()
}

fn is_inside_a_word(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|byte| word(*byte))
}

fn token(text: &[u8], at: usize, shape: &Shape) -> Hit {
    let start = at + shape.start.len();
    if text.get(at..start)? != shape.start.as_bytes() || is_inside_a_word(text, at) {
        return None;
    }
    // One more than allowed shows that it goes on, and is something else.
    let length = run_of(text, start, shape.most + 1, shape.alphabet);
    let is_cut = length > shape.most && shape.most != LONG;
    if length < shape.least || is_cut {
        return None;
    }
    let value = text.get(start..start + length)?;
    (!is_example(value)).then_some((at, start + length, Kind::Token(shape.service)))
}

fn private_key(text: &[u8], at: usize) -> Hit {
    const ENDING: &[u8] = b"PRIVATE KEY";
    let near = text.get(at..text.len().min(at + 100))?;
    let line = near.split(|byte| *byte == b'\n').next()?;
    let heading = line.windows(ENDING.len()).position(|part| part == ENDING)?;
    // A heading alone is a word in a program that reads keys.
    let start = at + heading;
    let body = text.get(start..)?.iter().take(400);
    let letters = body.filter(|byte| byte.is_ascii_alphanumeric()).count();
    (letters > 100).then_some((at, start + ENDING.len(), Kind::PrivateKey))
}

fn password(text: &[u8], at: usize) -> Hit {
    let start = at + "://".len();
    let plain = |byte: u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'<' | b'>')
    };
    let length = run_of(text, start, 300, plain);
    let authority = text.get(start..start + length)?;
    let user = authority.iter().rposition(|byte| *byte == b'@')?;
    let user = authority.get(..user)?;
    let colon = user.iter().position(|byte| *byte == b':')?;
    let value = user.get(colon + 1..)?;
    let is_variable = value.iter().any(|byte| matches!(byte, b'$' | b'{' | b'%' | b'*'));
    let weak = [&b"password"[..], b"pass", b"secret", b"postgres", b"root", b"user", b"test"];
    if value.len() < 6 || is_variable || weak.contains(&value) || is_example(value) {
        return None;
    }
    let from = start + colon + 1;
    Some((from, from + value.len(), Kind::PasswordInAddress))
}

fn signed(text: &[u8], at: usize) -> Hit {
    // Inside of what was looked at already there is nothing new: so this takes no longer, the more of them there are.
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    if text.get(at..at + 3)? != b"eyJ" || before.is_some_and(|byte| wide(*byte)) {
        return None;
    }
    let head = run_of(text, at, 2_000, wide);
    let claims = at + head + 1;
    if text.get(at + head) != Some(&b'.') || text.get(claims..claims + 3) != Some(b"eyJ") {
        return None;
    }
    let body = run_of(text, claims, 8_000, wide);
    let mark = claims + body + 1;
    let signature = run_of(text, mark, 2_000, wide);
    let is_whole = text.get(claims + body) == Some(&b'.') && signature >= 20;
    is_whole.then_some((at, mark + signature, Kind::SignedToken))
}

/// `api_key = "…"`, `password: …`, `"secret": "…"`: a value soon after the word, long and random.
fn random_value(text: &[u8], end: usize) -> Hit {
    const NEAR: usize = 40;
    let rest = text.get(end..)?;
    let near = rest.get(..rest.len().min(NEAR))?;
    let sign = near.iter().position(|byte| matches!(byte, b'=' | b':'))?;
    let between = near.get(..sign)?;
    if between.iter().any(|byte| matches!(byte, b'\n' | b'(' | b')' | b';' | b',')) {
        return None;
    }
    let gap = |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'=' | b':' | b'`' | b'>');
    let from = end + sign + run_of(text, end + sign, 12, gap);
    let value_of = |byte: u8| wide(byte) || matches!(byte, b'+' | b'/' | b'=' | b'.');
    let length = run_of(text, from, 200, value_of);
    let value = text.get(from..from + length)?;
    let is_random = length >= 20 && randomness(value) >= least_randomness(value);
    let mixed = value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic);
    (is_random && mixed && !is_example(value)).then_some((from, from + length, Kind::RandomValue))
}

/// Hexadecimal has fewer letters to be random with.
fn least_randomness(value: &[u8]) -> f64 {
    if value.iter().all(u8::is_ascii_hexdigit) { 3.0 } else { 3.8 }
}

/// Shannon's, in bits for each byte.
fn randomness(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let all = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX).max(1));
    let share = |count: u32| f64::from(count) / all;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -share(*count) * share(*count).log2())
        .sum()
}

/// `xxxxxxxx`, `AKIA…EXAMPLE`, `your-key-here`.
fn is_example(value: &[u8]) -> bool {
    let letters: HashSet<u8> = value.iter().copied().collect();
    let lower = value.to_ascii_lowercase();
    let says = |text: &[u8]| lower.windows(text.len()).any(|part| part == text);
    letters.len() < 6
        || [&b"example"[..], b"xxxx", b"your", b"placeholder", b"dummy", b"redacted"]
            .into_iter()
            .any(says)
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
