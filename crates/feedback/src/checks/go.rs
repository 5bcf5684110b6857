//! `go.mod`: what every Go module can be asked.

use super::{candidate::Candidate, check::Kind, classify::Ecosystem, tree::Survey};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    for file in survey.named("go.mod") {
        let linters = [".golangci.yml", ".golangci.yaml", ".golangci.toml"];
        let linter = linters.into_iter().find(|name| survey.has(&file.directory, name));
        let add = |kind, command: &str, file_name: &str| {
            Candidate::habit(kind, Ecosystem::Go, command, &file.directory, file_name)
        };
        found.push(add(Kind::Build, "go build ./...", file.path));
        found.push(add(Kind::Lint, "go vet ./...", file.path));
        found.extend(
            linter.map(|name| add(Kind::Lint, "golangci-lint run", &file.directory.file(name))),
        );
        found.push(add(Kind::Test, "go test ./...", file.path));
    }
    found
}
