//! Maven and Gradle. A wrapper in the repository brings the right version, so it is preferred.
//!
//! Java takes the home of whoever runs it from the list of accounts and not from `HOME`, so both are told where to keep things.

use domain::policy::Ecosystem;

use super::{Step, tree::Place};

pub(super) fn maven(place: &Place<'_>) -> Option<Step> {
    let is_module = place.above().is_some_and(|root| root.has("pom.xml"));
    if !place.has("pom.xml") || is_module {
        return None;
    }
    let program = if place.has("mvnw") { "sh ./mvnw" } else { "mvn" };
    let program = format!("{program} -B -ntp -q -Dmaven.repo.local=\"$HOME/.m2/repository\"");
    Some(Step {
        // Modules that need each other are only found where all of them are built.
        command: format!(
            "{{ {program} dependency:go-offline || {program} -DskipTests test-compile; }}"
        ),
        because: vec!["pom.xml".to_owned()],
        lockfiles: vec!["pom.xml".to_owned()],
        registries: vec![Ecosystem::Maven],
    })
}

const GRADLE: [&str; 4] =
    ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle"];

pub(super) fn gradle(place: &Place<'_>) -> Option<Step> {
    let mut files: Vec<String> =
        GRADLE.iter().filter(|name| place.has(name)).map(|name| (*name).to_owned()).collect();
    let is_module = place.above().is_some_and(|root| root.first(&GRADLE).is_some());
    if files.is_empty() || is_module {
        return None;
    }
    let program = if place.has("gradlew") { "sh ./gradlew" } else { "gradle" };
    files.extend(place.first(&["gradle.lockfile"]).map(str::to_owned));
    Some(Step {
        command: format!(
            "GRADLE_USER_HOME=\"$HOME/.gradle\" {program} --no-daemon -q dependencies"
        ),
        because: files.clone(),
        lockfiles: files,
        registries: vec![Ecosystem::Maven],
    })
}
