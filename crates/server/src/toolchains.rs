//! Which toolchains sandboxes on the base `host` see where the server's file names none.

use std::path::Path;

/// Those that version managers keep in a home, each with the version that comes first.
pub fn named(home: Option<&Path>) -> Vec<String> {
    let found = home.map(images::base::host::find).unwrap_or_default();
    found.toolchains.into_iter().map(|toolchain| toolchain.name).collect()
}
