//! What a sandbox's own git is told, to name all that stands in a checkout. A text: nothing of it runs on this host.
//!
//! It is said twice, and has to be the same both times: before an agent begins, to know what it found, and when its work is taken out.

/// Goes before whatever is done with the files of a checkout, in its directory. Arguments: a commit, where the mirror's objects are inside,
/// the name of the hash. Behind it `$tree` has all that is there and is not ignored, `careful` is git, and `$private` is a directory that
/// goes with the script.
///
/// It uses a git directory of its own: the agent's settings, filters and hooks mean nothing here, and a broken or missing `.git` does not
/// matter.
pub const COLLECT: &str = r#"
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
"#;

/// Runs a script of a shell in an empty environment, but for the way to programs.
const ENVIRONMENT: &str = "exec env -i PATH=\"$PATH\" HOME=/nonexistent LC_ALL=C GIT_CONFIG_NOSYSTEM=1 \
    GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1 \
    GIT_NO_LAZY_FETCH=1 sh -c \"$@\"";

/// The words of a command that collects, and then does `more`.
pub fn collecting(more: &str, commit: &str, objects: &str) -> Vec<String> {
    let hash = if commit.len() == 64 { "sha256" } else { "sha1" };
    let script = format!("{COLLECT}{more}");
    let words = ["sh", "-c", ENVIRONMENT, "sh", &script, "lamp-take", commit, objects, hash];
    words.map(str::to_owned).to_vec()
}
