//! A request as a person writes it: a method and a URL.

use crate::bundles::endpoint::{Endpoint, EndpointError};
use proxy::ask::{Request, Way};

/// `url` without a user; without a scheme it is https. A query counts, a fragment does not.
pub(super) fn request(method: &str, url: &str) -> Result<Request, EndpointError> {
    let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
    let place: Endpoint = url.parse()?;
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let target = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
    let target = target.split('#').next().unwrap_or(target);
    Ok(Request {
        host: place.host().to_string(),
        port: place.port(),
        scheme: place.scheme(),
        method: method.to_owned(),
        target: target.to_owned(),
        content_type: None,
        headers: Vec::new(),
        placeholders: Vec::new(),
        upgrade: None,
        body: None,
        way: Way::Connect,
        peer: None,
    })
}
