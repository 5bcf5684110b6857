//! What runs inside the sandbox, as the agent, to send its work out.
//!
//! It uses a git directory of its own: the agent's settings, filters and hooks mean nothing here, and a broken or missing `.git`
//! does not matter. Whoever is inside can make it say anything; it is asked for objects, and these are judged outside.

use std::collections::BTreeMap;

use contracts::{
    forge::Taking,
    sandbox::{Exec, User},
};

use crate::inspection::Limits;

/// What comes before the pack.
pub(super) const HEADING: &str = "lamp-change 1 ";

/// With an empty environment but for the way to programs. Arguments: base, the mirror's objects, name of the hash.
const SCRIPT: &str = r#"
set -eu
umask 077
base=$1 objects=$2 hash=$3 work=$PWD
private=$(mktemp -d "${TMPDIR:-/tmp}/lamp-take.XXXXXXXX")
trap 'rm -rf "$private"' EXIT
git init --quiet --bare --template= --object-format="$hash" "$private/git"
{
    echo "$objects"
    if [ -d .git/objects ]; then echo "$work/.git/objects"; fi
} >"$private/git/objects/info/alternates"
export GIT_DIR="$private/git" GIT_WORK_TREE="$work" GIT_INDEX_FILE="$private/index"
careful() {
    git -c core.bare=false -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false \
        -c core.excludesFile="$work/.git/info/exclude" -c core.attributesFile=/dev/null -c core.autocrlf=false \
        -c core.safecrlf=false -c core.splitIndex=false -c index.sparse=false -c gc.auto=0 -c protocol.allow=never \
        -c submodule.recurse=false -c advice.addEmbeddedRepo=false "$@"
}
fresh() {
    rm -f "$GIT_INDEX_FILE"
    careful read-tree "$base"
    careful add --all -- .
}
if ! { cp -p .git/index "$GIT_INDEX_FILE" && careful add --all -- .; } 2>/dev/null; then fresh; fi
tree=$(careful write-tree) || { fresh; tree=$(careful write-tree); }
before=$(careful rev-parse "$base^{tree}")
printf 'lamp-change 1 %s\n' "$tree"
printf '%s\n^%s\n' "$tree" "$before" | careful pack-objects --revs --stdout --quiet --threads=1
"#;

const ENVIRONMENT: &str = "exec env -i PATH=\"$PATH\" HOME=/nonexistent LC_ALL=C GIT_CONFIG_NOSYSTEM=1 \
    GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1 \
    GIT_NO_LAZY_FETCH=1 sh -c \"$@\"";

pub(super) fn command(taking: &Taking, objects: &str, limits: Limits) -> Exec {
    let hash = if taking.base.as_str().len() == 64 { "sha256" } else { "sha1" };
    let words = ["sh", "-c", ENVIRONMENT, "sh", SCRIPT, "lamp-take"];
    let arguments = [taking.base.as_str(), objects, hash];
    Exec {
        argv: words.into_iter().chain(arguments).map(str::to_owned).collect(),
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
