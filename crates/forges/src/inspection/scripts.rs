//! Scripts of `package.json` that run when somebody installs.

use std::collections::BTreeMap;

/// Those that package managers run by themselves.
const BY_THEMSELVES: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "dependencies",
];

pub(super) fn is_package(path: &[u8]) -> bool {
    path == b"package.json" || path.ends_with(b"/package.json")
}

/// The names of scripts that run on installing, and are not what they were. When the new file cannot be read, that is told as a
/// change of all of them: whoever reads it more kindly than we do may find anything.
pub(super) fn changed(old: Option<&[u8]>, new: &[u8]) -> Vec<String> {
    let before = old.and_then(read).unwrap_or_default();
    let Some(after) = read(new) else {
        return vec!["(not readable)".to_owned()];
    };
    let differs = |(name, script): &(&String, &String)| before.get(*name) != Some(*script);
    after.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

fn read(package: &[u8]) -> Option<BTreeMap<String, String>> {
    #[derive(serde::Deserialize)]
    struct Package {
        #[serde(default)]
        scripts: BTreeMap<String, serde_json::Value>,
    }
    let package: Package = serde_json::from_slice(package).ok()?;
    let runs = |name: &str| BY_THEMSELVES.contains(&name);
    let scripts = package.scripts.into_iter().filter(|(name, _)| runs(name));
    Some(scripts.map(|(name, script)| (name, script.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_runs_on_installing_is_told_when_it_is_new_or_different() {
        let old = br#"{"scripts":{"prepare":"a","test":"b"}}"#;
        assert_eq!(changed(Some(old), old), [""; 0]);
        assert_eq!(changed(Some(old), br#"{"scripts":{"prepare":"a","test":"x"}}"#), [""; 0]);
        assert_eq!(changed(Some(old), br#"{"scripts":{"prepare":"x"}}"#), ["prepare"]);
        assert_eq!(changed(None, br#"{"scripts":{"postinstall":"curl"}}"#), ["postinstall"]);
        assert_eq!(changed(None, br#"{"name":"x"}"#), [""; 0]);
        assert_eq!(changed(None, b"{"), ["(not readable)"]);
    }
}
