//! Gradle and Maven: their own `test`, from the outermost build.

use super::{candidate::Candidate, check::Kind, classify::Ecosystem, tree::Survey};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let builds: [(&[&str], &str, [&str; 2]); 2] = [
        (
            &["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"],
            "gradlew",
            ["./gradlew test", "gradle test"],
        ),
        (&["pom.xml"], "mvnw", ["./mvnw -B test", "mvn -B test"]),
    ];
    let mut found = Vec::new();
    for (files, wrapper, [wrapped, bare]) in builds {
        let directories = survey.directories(files);
        for directory in &directories {
            // A build runs the tests of the builds below it.
            if directory.above().any(|above| directories.contains(&above)) {
                continue;
            }
            let Some(file) = files.iter().find(|name| survey.has(directory, name)) else {
                continue;
            };
            let command = if survey.has(directory, wrapper) { wrapped } else { bare };
            found.push(Candidate::habit(
                Kind::Test,
                Ecosystem::Jvm,
                command,
                directory,
                &directory.file(file),
            ));
        }
    }
    found
}
