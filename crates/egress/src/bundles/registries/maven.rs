//! Maven, and Gradle where it uses Maven's repositories.
//!
//! Maven's default is in the model that every project inherits, a file in its own jar; mirrors are in `settings.xml`.

use super::{Answers, Found, Sources};

const SUPER_MODEL: &[&str] = &[
    "sh",
    "-c",
    "unzip -p \"$(dirname \"$(readlink -f \"$(command -v mvn)\")\")\"/../lib/maven-model-builder-*.jar org/apache/maven/model/pom-4.0.0.xml",
];

pub(super) const SOURCES: Sources = Sources {
    commands: &[SUPER_MODEL],
    complaints: &[],
    files: &["/etc/maven/settings.xml", "~/.m2/settings.xml"],
    variables: &[],
};

/// Elements whose `url` is a repository.
const HOLDERS: [&str; 3] = ["mirror", "repository", "pluginRepository"];

pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    let model = answers.command(SUPER_MODEL).unwrap_or_default();
    for text in answers.files.iter().map(String::as_str).chain([model]) {
        for url in repository_urls(text) {
            // A mirror that only blocks is written with an address that nobody has.
            if !url.starts_with("http://0.0.0.0") && !url.starts_with("file:") {
                found.add("settings.xml", &url);
            }
        }
    }
    found
}

/// The text of every `url` directly inside one of [`HOLDERS`]. Comments are skipped.
fn repository_urls(xml: &str) -> Vec<String> {
    let mut urls = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let Some(tag) = rest.get(at..) else { break };
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((head, after)) = tag.strip_prefix('<').and_then(|tag| tag.split_once('>')) else {
            break;
        };
        let name = head.split_whitespace().next().unwrap_or_default().trim_end_matches('/');
        if head.starts_with('/') {
            open.pop();
        } else if !head.ends_with('/') && !head.starts_with(['?', '!']) {
            if name == "url" && open.last().is_some_and(|parent| HOLDERS.contains(parent)) {
                let text = after.split('<').next().unwrap_or_default();
                urls.push(text.trim().replace("&amp;", "&"));
            }
            open.push(name);
        }
        rest = after;
    }
    urls
}
