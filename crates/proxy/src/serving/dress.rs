//! The request as it goes out: what the program may not send is taken off, one credential is put on, placeholders are swapped.
//!
//! **Invariants:** a placeholder is swapped only in a place that its grant names, and what was put in is not looked at again. A
//! credential goes to a public host only inside TLS.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{dial::place, placeholders::basic};
use crate::{
    ask::{Dial, Grant, Place, Scheme, Swap},
    readers::{
        head::{HeadError, Headers, RequestHead},
        target::{PathAndQuery, TargetError},
    },
};

#[derive(Debug, thiserror::Error)]
pub(super) enum DressError {
    #[error("what would be sent cannot be written: {0}")]
    Head(#[from] HeadError),
    #[error("the path that would be sent cannot be written: {0}")]
    Target(#[from] TargetError),
    #[error("a credential would be sent without TLS")]
    Plain,
}

/// Whether the answer has to come as it is, because it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Passed,
    Read,
}

/// The head that is sent for a grant.
pub(super) fn dress(
    head: &RequestHead,
    asked: &PathAndQuery,
    grant: &Grant,
    reading: Reading,
) -> Result<RequestHead, DressError> {
    let has_credentials = !grant.set.is_empty() || !grant.swaps.is_empty();
    if has_credentials && grant.scheme == Scheme::Http && matches!(grant.dial, Dial::Public { .. })
    {
        return Err(DressError::Plain);
    }
    let asked = match &grant.target {
        Some(target) => target.parse()?,
        None => asked.clone(),
    };
    let target = swap_query(&asked, &grant.swaps)?;
    let (host, port) = place(&grant.dial);
    let usual = match grant.scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    let host = if port == usual { host.to_owned() } else { format!("{host}:{port}") };
    let mut onward = head.onward(&target, &host, grant.upgrade)?;
    for name in &grant.strip {
        onward.headers.remove_alike(name);
    }
    onward.headers = swap_headers(&onward.headers, &grant.swaps)?;
    for (name, _value) in &grant.set {
        onward.headers.remove_alike(name);
    }
    for (name, value) in &grant.set {
        onward.headers.append(name, value.0.as_bytes())?;
    }
    match reading {
        Reading::Passed => {}
        Reading::Read => {
            onward.headers.remove_alike("accept-encoding");
            onward.headers.append("Accept-Encoding", b"identity")?;
        }
    }
    Ok(onward)
}

fn swap_headers(headers: &Headers, swaps: &[Swap]) -> Result<Headers, HeadError> {
    let mut out = Headers::default();
    for header in headers.iter() {
        let here = |swap: &&Swap| {
            swap.places.iter().any(|place| match place {
                Place::Header(name) => header.name.eq_ignore_ascii_case(name),
                Place::Basic | Place::Query(_) => false,
            })
        };
        let mut value = replaced(&header.value, &swaps.iter().filter(here).collect::<Vec<_>>());
        if header.name.eq_ignore_ascii_case("authorization") {
            let basic: Vec<&Swap> =
                swaps.iter().filter(|swap| swap.places.contains(&Place::Basic)).collect();
            if let Some(changed) = swap_basic(&header.value, &basic) {
                value = changed;
            }
        }
        out.append(&header.name, &value)?;
    }
    Ok(out)
}

/// `Basic` with its placeholder swapped, if it has one.
fn swap_basic(value: &[u8], swaps: &[&Swap]) -> Option<Vec<u8>> {
    let pair = basic(value)?;
    let changed = replaced(&pair, swaps);
    (changed != pair).then(|| format!("Basic {}", STANDARD.encode(changed)).into_bytes())
}

/// All placeholders in one pass, so that a value is never searched; each once, as nobody needs a value twice in one place.
fn replaced(text: &[u8], swaps: &[&Swap]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut unused = swaps.to_vec();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let found = unused.iter().position(|swap| {
            !swap.placeholder.is_empty() && rest.starts_with(swap.placeholder.as_bytes())
        });
        if let Some(found) = found {
            let swap = unused.swap_remove(found);
            out.extend_from_slice(swap.value.0.as_bytes());
            rest = rest.get(swap.placeholder.len()..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

fn swap_query(target: &PathAndQuery, swaps: &[Swap]) -> Result<PathAndQuery, TargetError> {
    let Some(query) = target.query() else { return Ok(target.clone()) };
    let swapped = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        let allowed = Place::Query(name.to_owned());
        let swap = swaps
            .iter()
            .find(|swap| swap.placeholder == value && swap.places.contains(&allowed))?;
        Some(format!("{name}={}", encoded(&swap.value.0)))
    };
    let parameters: Vec<String> = query
        .split('&')
        .map(|parameter| swapped(parameter).unwrap_or_else(|| parameter.to_owned()))
        .collect();
    format!("{}?{}", target.written_path(), parameters.join("&")).parse()
}

/// A value as it may stand in a query.
fn encoded(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

fn digit(half: u8) -> char {
    char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Secret;

    #[test]
    fn a_placeholder_is_swapped_once_and_a_value_is_not_searched() {
        let swap = |placeholder: &str, value: &str| Swap {
            placeholder: placeholder.to_owned(),
            value: Secret(value.to_owned()),
            places: Vec::new(),
        };
        let (one, two) = (swap("<one>", "1<two>"), swap("<two>", "2"));
        let swapped =
            |text: &str| String::from_utf8(replaced(text.as_bytes(), &[&one, &two])).unwrap();
        assert_eq!(swapped("Bearer <one>"), "Bearer 1<two>");
        assert_eq!(swapped("<one> <one> <two>"), "1<two> <one> 2");
    }
}
