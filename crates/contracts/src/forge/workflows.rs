//! Files that a forge runs with rights of its own (RV6): known by where they are.
//!
//! One list for both who ask: whoever takes a change out refuses those that nobody approved, and whoever reads an approval looks whether
//! it names one. A file that only one of them knew could never be approved, or would leave unseen.

/// What a forge runs: a directory at the top, or a file at the top.
const WORKFLOWS: &[(&str, &str)] = &[
    (".github/workflows/", "GitHub Actions"),
    (".github/actions/", "GitHub Actions"),
    (".gitea/workflows/", "Gitea Actions"),
    (".forgejo/workflows/", "Forgejo Actions"),
    (".gitlab-ci.yml", "GitLab CI"),
    (".gitlab-ci.yaml", "GitLab CI"),
    (".gitlab/ci/", "GitLab CI"),
    (".circleci/", "CircleCI"),
    (".travis.yml", "Travis CI"),
    (".buildkite/", "Buildkite"),
    (".drone.yml", "Drone"),
    (".woodpecker.yml", "Woodpecker"),
    (".woodpecker.yaml", "Woodpecker"),
    (".woodpecker/", "Woodpecker"),
    (".teamcity/", "TeamCity"),
    (".tekton/", "Tekton"),
    (".semaphore/", "Semaphore"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    (".azure-pipelines/", "Azure Pipelines"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    ("appveyor.yml", "AppVeyor"),
    (".appveyor.yml", "AppVeyor"),
    ("cloudbuild.yaml", "Cloud Build"),
    ("jenkinsfile", "Jenkins"),
];

/// Which forge runs the file at `path`, if one does. Case does not count, as it does not for some forges.
pub fn workflow(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let is_it = |place: &str| match place.strip_suffix('/') {
        Some(directory) => path.starts_with(place) || path == directory,
        None => path == place,
    };
    WORKFLOWS.iter().find(|(place, _)| is_it(place)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflows_are_at_the_top() {
        for (path, what) in [
            (".github/workflows/ci.yml", "GitHub Actions"),
            (".GitHub/Workflows/ci.yml", "GitHub Actions"),
            (".github/workflows", "GitHub Actions"),
            (".gitlab-ci.yml", "GitLab CI"),
            (".circleci/config.yml", "CircleCI"),
            ("Jenkinsfile", "Jenkins"),
        ] {
            assert_eq!(workflow(path), Some(what), "{path}");
        }
        for path in ["docs/.github/workflows/ci.yml", ".github/CODEOWNERS", ".github", "src"] {
            assert_eq!(workflow(path), None, "{path}");
        }
    }
}
