//! What looks like a placeholder in a request's head: in its target, in any header, and in the two halves of Basic authentication.
//!
//! The broker is told, so that it hands out only what is asked for, and that somebody shows a placeholder where it means nothing. Bodies are
//! not searched: nothing is ever swapped in them.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{ask::bounds::PLACEHOLDERS_LIMIT, readers::head::RequestHead};

const BEGIN: &[u8] = b"lamp_";

/// A name of at most 128, what is before and behind it.
const LONGEST: usize = 5 + 128 + 1 + 32;

/// Each once, in the order in which they stand.
pub(super) fn shown(head: &RequestHead, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    search(target.as_bytes(), &mut found);
    for header in head.headers.iter() {
        search(&header.value, &mut found);
        if let Some(pair) = basic(&header.value) {
            search(&pair, &mut found);
        }
    }
    found
}

/// User and password of `Basic`, whatever header it is in.
pub(super) fn basic(value: &[u8]) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    STANDARD.decode(rest.trim_ascii()).ok()
}

fn search(text: &[u8], found: &mut Vec<String>) {
    let mut rest = text;
    while let Some(at) = rest.windows(BEGIN.len()).position(|window| window == BEGIN) {
        let Some(begun) = rest.get(at..) else { return };
        let is_of_one = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let length = begun.iter().take_while(is_of_one).take(LONGEST).count();
        let word = begun.get(..length).and_then(|word| std::str::from_utf8(word).ok());
        if let Some(word) = word.filter(|word| word.len() > BEGIN.len() + 33)
            && !found.iter().any(|known| known == word)
        {
            if found.len() == PLACEHOLDERS_LIMIT {
                return;
            }
            found.push(word.to_owned());
        }
        rest = begun.get(BEGIN.len()..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_wherever_they_stand_and_told_once() {
        let one = format!("lamp_API_TOKEN_{}", "0a".repeat(16));
        let mut found = Vec::new();
        for text in [format!("Bearer {one}"), format!("{one},{one}"), "lamp_ lamp_x_12".to_owned()]
        {
            search(text.as_bytes(), &mut found);
        }
        assert_eq!(found, std::slice::from_ref(&one));
        let pair = STANDARD.encode(format!("x:{one}"));
        assert_eq!(
            basic(format!("bAsIc {pair}").as_bytes()),
            Some(format!("x:{one}").into_bytes())
        );
        for number in 0..100 {
            search(format!("lamp_N{number}_{}", "0a".repeat(16)).as_bytes(), &mut found);
        }
        assert_eq!(found.len(), PLACEHOLDERS_LIMIT);
    }
}
