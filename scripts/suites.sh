# shellcheck shell=bash disable=SC2154 # `root` is from lib.sh
# Sourced after lib.sh: the long suites, what each covers, and whether that has already passed on this machine.
#
# A suite is due unless exactly what it covers has passed here before: the sources of its rooms and of all rooms below them, its own scripts, the
# lock file, the compiler and the kernel. What cannot be told is due. The table for people is in AGENTS.md.

readonly passed_place=$LAMPLIGHTER_CACHE/passed

# The rooms that a suite begins with, one on a line. Rooms whose programs are embedded are no dependencies that a manifest names.
suite_rooms() {
    case $1 in
    agents) printf '%s\n' lamp testkit guest launcher apprentice proxy ;;
    api) printf '%s\n' lamp guest launcher apprentice proxy ;;
    chaos) printf '%s\n' engine store testkit ;;
    documents) (cd "$root/crates" && printf '%s\n' *) ;;
    # A target names in its source what it reads with.
    fuzz-*) grep -rhoE '\b[a-z_]+::' "$root/fuzz/fuzz_targets/${1#fuzz-}.rs" "$root/fuzz/fuzz_targets/feedback" | tr -d : | sort -u ;;
    kernel) printf '%s\n' sandbox guest launcher apprentice proxy ;;
    *) fail "there is no suite $1" ;;
    esac
}

# What else it reads, as paths in the tree, one on a line.
suite_paths() {
    printf '%s\n' Cargo.toml Cargo.lock
    case $1 in
    agents) printf '%s\n' tests/agents tests/internet tests/probe tests/Cargo.toml ;;
    api) printf '%s\n' tests/api scripts/api scripts/api-tools.sh docs/reference .spectral.yaml ;;
    chaos) printf '%s\n' tests/chaos tests/arena.rs tests/player.rs tests/lib.rs tests/scripted_engine.rs tests/Cargo.toml ;;
    documents) printf '%s\n' tests benches docs examples README.md ;;
    fuzz-*)
        printf '%s\n' fuzz/Cargo.toml fuzz/Cargo.lock fuzz/fuzz_targets/feedback "fuzz/fuzz_targets/${1#fuzz-}.rs" scripts/fuzz
        # Some seeds are a link to where the room has its samples.
        realpath --relative-to "$root" "$root/fuzz/seeds/${1#fuzz-}"
        ;;
    kernel) printf '%s\n' scripts/vm ;;
    esac
}

# The directories of these rooms and of all that they use, tests of theirs included.
rooms_below() {
    local room name seen=' '
    local -a waiting=("$@")
    while ((${#waiting[@]} > 0)); do
        room=${waiting[0]} waiting=("${waiting[@]:1}")
        [[ $seen != *" $room "* && -e $root/crates/$room/Cargo.toml ]] || continue
        seen+="$room "
        echo "crates/$room"
        while read -r name; do
            waiting+=("$name")
        done < <(sed -n 's/^\([a-z_-]*\)\(\.workspace\)\? *=.*/\1/p' "$root/crates/$room/Cargo.toml")
    done
}

# A word for everything that a suite covers, as it is now; fails where it cannot be told.
suite_state() {
    local -a rooms paths
    mapfile -t rooms < <(suite_rooms "$1")
    mapfile -t paths < <(suite_paths "$1"; rooms_below "${rooms[@]}")
    {
        rustc --version && uname -sr &&
            (cd "$root" && git ls-files -z --cached --others --exclude-standard -- "${paths[@]}" | LC_ALL=C sort -zu |
                tar --create --no-recursion --null --files-from - --mtime @0 --owner 0 --group 0)
    } | sha256sum | cut -c1-32
}

# Whether it must run; says why not.
suite_is_due() {
    local state mark
    [[ ${LAMPLIGHTER_ALL:-} != yes ]] || return 0
    state=$(suite_state "$1" 2>/dev/null) || return 0
    mark=$passed_place/$1-$state
    [[ -e $mark ]] || return 0
    echo "nothing that it covers has changed since it passed here, $(<"$mark")"
    return 1
}

# Where it is remembered that it passed. Asked before it runs, so that what is changed meanwhile is not taken for tested. A run of another length
# than the usual is not remembered.
suite_mark() {
    local state
    [[ -z ${CHAOS_TASKS:-}${FUZZ_SECONDS:-} ]] || return 1
    state=$(suite_state "$1" 2>/dev/null) && echo "$passed_place/$1-$state"
}

suite_passed() {
    [[ -n $1 ]] || return 0
    mkdir -p "$passed_place"
    find "$passed_place" -type f -mtime +30 -delete
    printf '%s at %s\n' "$(date -u '+%F %H:%M UTC')" "$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo 'no commit')" >"$1"
}
