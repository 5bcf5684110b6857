# shellcheck shell=bash
# Sourced by the scripts beside it: where things are, and how we speak.

# shellcheck disable=SC2034 # used by the scripts that source this file
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
LAMPLIGHTER_CACHE=${LAMPLIGHTER_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or LAMPLIGHTER_CACHE}/.cache}/lamplighter}
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$LAMPLIGHTER_CACHE/target}
PATH=$LAMPLIGHTER_CACHE/tools/bin:$PATH
export LAMPLIGHTER_CACHE CARGO_TARGET_DIR PATH

say() {
    printf '%s\n' "lamplighter: $*" >&2
}

fail() {
    say "$@"
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# One heading per stage, so that a long log can be skimmed.
stage() {
    printf '\n== %s\n' "$*"
}

# Cargo names the results of our own crates by their place in the workspace, not by where the workspace is. Two
# clones that share a target directory therefore share names, and cargo takes the other clone's result for fresh
# when its sources are older. So when another clone built here last, our sources are made newer than its results;
# the dependencies, which are most of the work, stay warm.
claim_target_dir() {
    local owner=$CARGO_TARGET_DIR/lamplighter-clone
    if [[ -e $owner && $(<"$owner") == "$root" ]]; then
        return
    fi
    mkdir -p "$CARGO_TARGET_DIR"
    find "$root/Cargo.toml" "$root/crates" "$root/tests" "$root/benches" -type f -exec touch {} +
    printf '%s\n' "$root" >"$owner"
}
