//! Where programs are looked for inside.
//!
//! ```text
//!  a virtual environment and programs in the home ─▶ what the image says ─▶ programs of the checkout's packages
//! ```
//!
//! What is in the home was put there by a setup or by the agent itself. What is in a checkout was perhaps put there by a stranger, so it
//! comes last: it is found where nothing else has that name, and is nobody's `git`. Root's commands are looked for in neither.

use std::collections::BTreeMap;

use contracts::sandbox::HOME;

/// Where neither the image nor the caller says.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Of the home.
const OWN: [&str; 5] = [".venv/bin", ".local/bin", ".cargo/bin", "go/bin", ".bun/bin"];

/// Of a checkout.
const PACKAGES: &str = "node_modules/.bin";

/// Adds to the `PATH` of an environment what whoever works in `directory` expects to find.
pub(super) fn extend(environment: &mut BTreeMap<String, String>, directory: &str) {
    let image = environment.get("PATH").map_or(PATH, String::as_str);
    let own = OWN.iter().map(|place| format!("{HOME}/{place}"));
    let packages = format!("{}/{PACKAGES}", directory.trim_end_matches('/'));
    // A colon would be the end of it.
    let packages = Some(packages).filter(|it| it.starts_with('/') && !it.contains(':'));
    let all: Vec<String> = own.chain([image.to_owned()]).chain(packages).collect();
    environment.insert("PATH".to_owned(), all.join(":"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(image: Option<&str>, directory: &str) -> String {
        let image = image.map(|path| ("PATH".to_owned(), path.to_owned()));
        let mut environment = image.into_iter().collect();
        extend(&mut environment, directory);
        environment.remove("PATH").unwrap()
    }

    #[test]
    fn the_home_comes_first_and_a_checkout_last() {
        insta::assert_snapshot!(path(Some("/image/bin:/bin"), "/workspace/web"), @"/home/lamp/.venv/bin:/home/lamp/.local/bin:/home/lamp/.cargo/bin:/home/lamp/go/bin:/home/lamp/.bun/bin:/image/bin:/bin:/workspace/web/node_modules/.bin");
        assert!(path(None, "/workspace/a:b").ends_with(PATH), "a directory is one place");
    }
}
