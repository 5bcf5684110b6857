//! Files that a forge runs with rights of its own (RV6): known by where they are.
//!
//! One list for both who ask: whoever takes a change out refuses those that nobody approved, and whoever reads an approval looks whether
//! it names one. A file that only one of them knew could never be approved, or would leave unseen.

/// What a forge, or a service beside it, runs: a directory at the top, or a file at the top.
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
    (".drone.yaml", "Drone"),
    (".drone.jsonnet", "Drone"),
    (".drone.star", "Drone"),
    (".cirrus.yml", "Cirrus CI"),
    (".cirrus.yaml", "Cirrus CI"),
    (".cirrus.star", "Cirrus CI"),
    (".build.yml", "SourceHut"),
    (".build.yaml", "SourceHut"),
    (".builds/", "SourceHut"),
    (".woodpecker.yml", "Woodpecker"),
    (".woodpecker.yaml", "Woodpecker"),
    (".woodpecker/", "Woodpecker"),
    (".teamcity/", "TeamCity"),
    (".tekton/", "Tekton"),
    (".semaphore/", "Semaphore"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    ("azure-pipelines.yaml", "Azure Pipelines"),
    (".azure-pipelines/", "Azure Pipelines"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    ("appveyor.yml", "AppVeyor"),
    ("appveyor.yaml", "AppVeyor"),
    (".appveyor.yml", "AppVeyor"),
    (".appveyor.yaml", "AppVeyor"),
    ("cloudbuild.yaml", "Cloud Build"),
    ("cloudbuild.yml", "Cloud Build"),
    ("cloudbuild.json", "Cloud Build"),
    ("buildspec.yml", "CodeBuild"),
    ("buildspec.yaml", "CodeBuild"),
    ("codefresh.yml", "Codefresh"),
    ("codefresh.yaml", "Codefresh"),
    (".onedev-buildspec.yml", "OneDev"),
    (".travis.yaml", "Travis CI"),
    ("bitbucket-pipelines.yaml", "Bitbucket Pipelines"),
];

/// Files that are run wherever they are: a job names the place, and the place is not in the repository.
const ANYWHERE: &[(&str, &str)] = &[("jenkinsfile", "Jenkins")];

/// Which forge runs the file at `path`, if one does. Case does not count, as it does not for some forges.
pub fn workflow(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let is_it = |place: &str| match place.strip_suffix('/') {
        Some(directory) => path.starts_with(place) || path == directory,
        None => path == place,
    };
    let name = path.rsplit('/').next().unwrap_or(&path);
    // `Jenkinsfile.release` is as usual a name as the plain one.
    let stem = name.split('.').next().unwrap_or(name);
    let anywhere = || ANYWHERE.iter().find(|(known, _)| stem == *known);
    WORKFLOWS.iter().find(|(place, _)| is_it(place)).or_else(anywhere).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflows_are_known_by_where_they_are() {
        for (path, what) in [
            (".github/workflows/ci.yml", "GitHub Actions"),
            (".GitHub/Workflows/ci.yml", "GitHub Actions"),
            (".github/workflows", "GitHub Actions"),
            (".gitlab-ci.yml", "GitLab CI"),
            (".circleci/config.yml", "CircleCI"),
            ("Jenkinsfile", "Jenkins"),
            ("svc/Jenkinsfile", "Jenkins"),
            ("ci/Jenkinsfile.release", "Jenkins"),
            (".cirrus.yml", "Cirrus CI"),
            (".build.yml", "SourceHut"),
            (".builds/a.yml", "SourceHut"),
            (".drone.jsonnet", "Drone"),
            (".drone.star", "Drone"),
            ("azure-pipelines.yaml", "Azure Pipelines"),
            ("cloudbuild.yml", "Cloud Build"),
            ("cloudbuild.yaml", "Cloud Build"),
            ("cloudbuild.json", "Cloud Build"),
            (".appveyor.yaml", "AppVeyor"),
            ("buildspec.yml", "CodeBuild"),
            ("buildspec.yaml", "CodeBuild"),
            ("codefresh.yml", "Codefresh"),
            (".onedev-buildspec.yml", "OneDev"),
        ] {
            assert_eq!(workflow(path), Some(what), "{path}");
        }
        for path in ["docs/.github/workflows/ci.yml", ".github/CODEOWNERS", ".github", "src"] {
            assert_eq!(workflow(path), None, "{path}");
        }
    }
}
