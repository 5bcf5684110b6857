//! Where things are inside.

use std::collections::BTreeSet;

use domain::code::RepositoryName;

/// Checkouts are directories in it.
pub const WORKSPACE: &str = "/workspace";

/// The home of the user that agents are.
pub const HOME: &str = "/home/lamp";

/// The name in [`WORKSPACE`] of each repository of a sandbox, in their order: its last word, or its whole name where two would
/// meet.
pub fn directory_names(repositories: &[&RepositoryName]) -> Vec<String> {
    let last = |name: &RepositoryName| {
        let name = name.as_str();
        name.rsplit('/').next().unwrap_or(name).to_owned()
    };
    let mut taken = BTreeSet::new();
    let mut name = |repository: &RepositoryName| {
        let short = last(repository);
        let meets = repositories.iter().filter(|other| last(other) == short).count() > 1;
        let first = if meets { repository.as_str().replace('/', "-") } else { short };
        let numbered = (2..).map(|number: u32| format!("{first}-{number}"));
        let mut choices = std::iter::once(first.clone()).chain(numbered);
        choices.find(|choice| taken.insert(choice.clone())).unwrap_or_default()
    };
    repositories.iter().map(|repository| name(repository)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_go_by_their_last_word_unless_two_would_meet() {
        let places = |names: &[&str]| {
            let names: Vec<RepositoryName> =
                names.iter().map(|name| name.parse().unwrap()).collect();
            directory_names(&names.iter().collect::<Vec<_>>())
        };
        assert_eq!(places(&["acme/web", "api"]), ["web", "api"]);
        assert_eq!(places(&["acme/web", "beta/web"]), ["acme-web", "beta-web"]);
        assert_eq!(
            places(&["acme-web", "acme/web", "beta/web"]),
            ["acme-web", "acme-web-2", "beta-web"]
        );
        assert_eq!(places(&[]), [""; 0]);
    }
}
