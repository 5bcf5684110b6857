//! What runs inside the sandbox, as the agent, to send its work out.
//!
//! Whoever is inside can make it say anything; it is asked for objects, and these are judged outside.

use std::collections::BTreeMap;

use contracts::{
    forge::Taking,
    sandbox::{Exec, User},
};
use git::inside;

use crate::inspection::Limits;

/// What comes before the pack.
pub(super) const HEADING: &str = "lamp-change 1 ";

/// Its input are lines of an index with what was handed over beside the commit. What is still so does not come along, so that a directory
/// full of packages that git does not ignore does not go over the limits. Outside it is looked at again; where this fails, only there.
const SEND: &str = r#"
cat >"$private/left"
narrow() {
    cp "$GIT_INDEX_FILE" "$private/handed" &&
        GIT_INDEX_FILE="$private/handed" careful update-index -z --replace --index-info <"$private/left" &&
        handed=$(GIT_INDEX_FILE="$private/handed" careful write-tree --missing-ok) &&
        GIT_INDEX_FILE="$private/names" careful update-index -z --index-info <"$private/left" &&
        GIT_INDEX_FILE="$private/names" careful ls-files -z >"$private/paths" &&
        careful update-index -z --force-remove --stdin <"$private/paths" &&
        careful diff-tree -r -z --name-only --no-renames --diff-filter=d "$handed" "$tree" >"$private/changed" &&
        careful update-index -z --add --replace --stdin <"$private/changed" &&
        tree=$(careful write-tree)
}
if [ -s "$private/left" ]; then
    whole=$tree
    narrow 2>/dev/null || tree=$whole
fi
printf 'lamp-change 1 %s\n' "$tree"
printf '%s\n^%s\n' "$tree" "$before" | careful pack-objects --revs --stdout --quiet --threads=1
"#;

pub(super) fn command(taking: &Taking, objects: &str, limits: Limits) -> Exec {
    Exec {
        argv: inside::collecting(SEND, taking.base.as_str(), objects),
        environment: BTreeMap::new(),
        path: Vec::new(),
        sweeps: true,
        directory: taking.directory.clone(),
        user: User::Agent,
        terminal: None,
        limit: limits.time,
        // One more than is read: who is at the limit was over it.
        output_limit: limits.pack_bytes + 4_096,
    }
}
