//! Maven and Gradle. A wrapper in the repository brings the right version, so it is preferred.

use super::{Step, tree::Place};

pub(super) fn maven(place: &Place<'_>) -> Option<Step> {
    let is_module = place.above().is_some_and(|root| root.has("pom.xml"));
    if !place.has("pom.xml") || is_module {
        return None;
    }
    let program = if place.has("mvnw") { "./mvnw" } else { "mvn" };
    Some(Step {
        command: format!("{program} -B dependency:go-offline"),
        because: vec!["pom.xml".to_owned()],
        lockfiles: vec!["pom.xml".to_owned()],
    })
}

const GRADLE: [&str; 4] =
    ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle"];

pub(super) fn gradle(place: &Place<'_>) -> Option<Step> {
    let manifests: Vec<String> =
        GRADLE.iter().filter(|name| place.has(name)).map(|name| (*name).to_owned()).collect();
    let is_module = place.above().is_some_and(|root| root.first(&GRADLE).is_some());
    if manifests.is_empty() || is_module {
        return None;
    }
    let program = if place.has("gradlew") { "./gradlew" } else { "gradle" };
    let lockfile = place.first(&["gradle.lockfile"]).map(str::to_owned);
    Some(Step {
        command: format!("{program} --no-daemon dependencies"),
        because: manifests.iter().cloned().chain(lockfile.clone()).collect(),
        lockfiles: lockfile.map_or(manifests, |lockfile| vec![lockfile]),
    })
}
