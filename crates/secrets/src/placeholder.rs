//! What stands for a secret inside a sandbox: `lamp_GITHUB_0123…`, worth nothing anywhere else.
//!
//! A placeholder is of one sandbox: it is made anew for each, and nobody can guess it. Whoever prints one tells nothing.

use std::{fmt, ops::Range, str::FromStr};

use contracts::secret::SecretName;

use crate::randomness::{NoRandomness, Randomness};

const BEGIN: &str = "lamp_";
const DIGITS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placeholder {
    name: SecretName,
    digits: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is not a placeholder: that is `lamp_`, the name of a secret, `_` and 32 hexadecimal digits"
)]
pub struct PlaceholderError;

impl Placeholder {
    pub fn make(name: SecretName, randomness: &dyn Randomness) -> Result<Self, NoRandomness> {
        let mut bytes = [0; DIGITS / 2];
        randomness.fill(&mut bytes)?;
        Ok(Self { name, digits: format!("{:032x}", u128::from_be_bytes(bytes)) })
    }

    pub const fn name(&self) -> &SecretName {
        &self.name
    }

    /// All placeholders in `text`, and where each stands. They do not overlap.
    pub fn find_all(text: &str) -> Vec<(Range<usize>, Self)> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(place) = text.get(from..).and_then(|rest| rest.find(BEGIN)) {
            let start = from + place;
            match text.get(start..).and_then(Self::at_start) {
                Some((length, placeholder)) => {
                    from = start + length;
                    found.push((start..from, placeholder));
                }
                None => from = start + BEGIN.len(),
            }
        }
        found
    }

    /// The shortest placeholder that `text` begins with, and its length.
    fn at_start(text: &str) -> Option<(usize, Self)> {
        let rest = text.strip_prefix(BEGIN)?;
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let word = rest.bytes().take_while(|byte| is_of_name(*byte)).take(LONGEST).count();
        let ends = rest.get(..word)?.match_indices('_').map(|(end, _)| end);
        ends.filter(|end| *end > 0).find_map(|end| {
            let digits = rest.get(end + 1..=end + DIGITS)?;
            let is_hexadecimal =
                digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let name = rest.get(..end)?.parse().ok()?;
            is_hexadecimal
                .then(|| (BEGIN.len() + end + 1 + DIGITS, Self { name, digits: digits.to_owned() }))
        })
    }
}

/// A name, `_` and the digits.
const LONGEST: usize = 128 + 1 + DIGITS;

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGIN}{}_{}", self.name, self.digits)
    }
}

impl FromStr for Placeholder {
    type Err = PlaceholderError;

    fn from_str(text: &str) -> Result<Self, PlaceholderError> {
        match Self::at_start(text) {
            Some((length, placeholder)) if length == text.len() => Ok(placeholder),
            Some(_) | None => Err(PlaceholderError),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::randomness::SystemRandomness;

    fn make(name: &str) -> Placeholder {
        Placeholder::make(name.parse().unwrap(), &SystemRandomness).unwrap()
    }

    #[test]
    fn a_placeholder_is_found_wherever_it_stands() {
        let (one, two) = (make("GITHUB_TOKEN"), make("npm"));
        let text =
            format!("Authorization: Bearer {one}, lamp_ lamp_x_12 \"{two}\"{two}abc lamp_{one}");
        let found: Vec<String> = Placeholder::find_all(&text)
            .into_iter()
            .map(|(place, _)| text[place].to_owned())
            .collect();
        let (one, two) = (one.to_string(), two.to_string());
        // The last begins at the first `lamp_` that makes a name of what follows.
        assert_eq!(found[..3], [one.clone(), two.clone(), two]);
        assert!(found[3].ends_with(&one[5..]));
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn no_two_are_alike() {
        assert_ne!(make("A"), make("A"));
    }

    #[test]
    fn what_is_nearly_a_placeholder_is_none() {
        let good = make("A").to_string();
        good.parse::<Placeholder>().unwrap();
        let (cut, long, upper) =
            (&good[..good.len() - 1], format!("{good}0"), good.replace("lamp", "LAMP"));
        let nameless = good.replace("_A_", "__");
        for wrong in [cut, &long, &upper, &nameless, "", "lamp_", "lamp_A_"] {
            assert_eq!(wrong.parse::<Placeholder>(), Err(PlaceholderError), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_made_is_read_again(name in "[A-Za-z_][A-Za-z0-9_]{0,127}", before in "[ -~]{0,20}", after in "[^0-9A-Za-z_].{0,20}") {
            let made = make(&name);
            let text = format!("{before} {made}{after}");
            let found = Placeholder::find_all(&text);
            let whole = text.find(&made.to_string()).unwrap();
            prop_assert!(found.iter().any(|(place, _)| place.contains(&whole) && place.end == whole + made.to_string().len()
                || place.start == whole));
        }

        #[test]
        fn any_text_is_searched(text in "(lamp_|_|[0-9a-f]{16}|.){0,40}") {
            let mut last = 0;
            for (place, placeholder) in Placeholder::find_all(&text) {
                prop_assert!(place.start >= last);
                prop_assert_eq!(&text[place.clone()], placeholder.to_string());
                last = place.end;
            }
        }
    }
}
