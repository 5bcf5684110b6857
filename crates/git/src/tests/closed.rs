//! Each test takes one thing away from somebody who got further than they should: a file in git's home, a setting of a mirror, a path,
//! a pack. Each fails when the setting, variable or limit that it is about is left out.

use std::{fs, os::unix::fs::PermissionsExt as _};

use domain::code::CommitId;

use super::{Bench, git_in, name, person};
use crate::{
    Allowance, FetchLimits, Git, GitError, Hash, Mirror, Mirrors, Patch, QUICK, RefName, Succeeded,
    Update, run,
};

/// A mirror with two commits.
async fn mirrored(bench: &Bench) -> (Mirrors, Mirror, [CommitId; 2]) {
    let first = bench.commit("first\n");
    let second = bench.commit("second\n");
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let mirror = mirrors.known(&web).unwrap();
    (mirrors, mirror, [first, second])
}

async fn patch(mirrors: &Mirrors, mirror: &Mirror, [first, second]: &[CommitId; 2]) -> String {
    let range = format!("{first}..{second}");
    match mirrors.git().patch(&mirror.path, second, &range).await.unwrap() {
        Patch::Whole(text) => String::from_utf8(text).unwrap(),
        Patch::Cut(text) => panic!("{text:?}"),
    }
}

#[tokio::test]
async fn the_environment_is_ours_alone() {
    let bench = Bench::new();
    let program = bench.path("program");
    fs::write(&program, "#!/bin/sh\nexec env\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let home = bench.path("home");
    fs::create_dir(&home).unwrap();
    let command = Git::new(&program, &home).on(&bench.path("source/.git"));
    let said = run(command, &[], QUICK).await.unwrap().output;
    let mut lines: Vec<String> = String::from_utf8(said)
        .unwrap()
        .lines()
        // What the shell of this test adds.
        .filter(|line| !["PWD=", "_=", "SHLVL=", "OLDPWD="].iter().any(|it| line.starts_with(it)))
        .map(str::to_owned)
        .collect();
    lines.sort();
    let home = format!("HOME={}", home.display());
    let expected = [
        "GIT_ASKPASS=false",
        "GIT_ATTR_NOSYSTEM=1",
        "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_LITERAL_PATHSPECS=1",
        "GIT_NO_LAZY_FETCH=1",
        "GIT_NO_REPLACE_OBJECTS=1",
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
        "GIT_TERMINAL_PROMPT=0",
        &home,
        "LC_ALL=C",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "SSH_ASKPASS=false",
        "TZ=UTC",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn attributes_that_somebody_left_in_the_home_hide_nothing() {
    let bench = Bench::new();
    let (mirrors, mirror, commits) = mirrored(&bench).await;
    let hidden = bench.path("mirrors/home/.config/git");
    fs::create_dir_all(&hidden).unwrap();
    fs::write(hidden.join("attributes"), "* -diff\n").unwrap();
    let shown = patch(&mirrors, &mirror, &commits).await;
    assert!(shown.contains("+second"), "{shown}");
    // The trap works: a git with this home and its own settings falls into it.
    let range = format!("{}..{}", commits[0], commits[1]);
    let mut fooled = person(&mirror.path);
    fooled.env("HOME", bench.path("mirrors/home")).env_remove("XDG_CONFIG_HOME");
    let fooled = fooled.args(["diff", &range]).output().unwrap();
    assert!(String::from_utf8_lossy(&fooled.stdout).contains("Binary files"));
}

#[tokio::test]
async fn a_path_is_a_path_whatever_it_looks_like() {
    let bench = Bench::new();
    let (mirrors, mirror, _) = mirrored(&bench).await;
    let log = ["log", "--format=%H", "trunk", "--", ":(exclude)nothing"];
    let found = mirrors.git().ask("look", &mirror.path, &log).await.unwrap();
    assert_eq!(found, "", "no file is called so");
    assert_ne!(git_in(&mirror.path, &log), "", "the trap works");
}

#[tokio::test]
async fn a_program_that_a_mirror_wants_to_be_compared_with_does_not_run() {
    let bench = Bench::new();
    let (mirrors, mirror, commits) = mirrored(&bench).await;
    let ran = bench.path("ran");
    let script = format!("touch {}", ran.display());
    git_in(&mirror.path, &["config", "diff.external", &script]);
    // As somebody would write it who forgets `--no-ext-diff`.
    let mut command = mirrors.git().on(&mirror.path);
    command.args(["diff", &format!("{}..{}", commits[0], commits[1])]);
    let _ = run(command, &[], QUICK).await.unwrap();
    assert!(!ran.exists(), "a program of the mirror ran");
    assert!(patch(&mirrors, &mirror, &commits).await.contains("+second"));
    git_in(&mirror.path, &["diff", commits[0].as_str(), commits[1].as_str()]);
    assert!(ran.exists(), "the trap works");
}

/// A repository whose pack is small, and whose second content is a difference to a first of 64 MiB.
fn unfolds(bench: &Bench) -> CommitId {
    let mut content = vec![b'x'; 64 << 20];
    fs::write(bench.path("source/large"), &content).unwrap();
    bench.commit("a first");
    content.push(b'y');
    fs::write(bench.path("source/large"), &content).unwrap();
    let commit = bench.commit("a second");
    let settings = ["-c", "core.bigFileThreshold=1g", "-C", "source"];
    let repack = ["repack", "--quiet", "-a", "-d", "-f", "--depth=5", "--window=5"];
    bench.git(&[&settings[..], &repack[..]].concat());
    commit
}

#[tokio::test]
async fn a_small_pack_that_unfolds_to_much_ends_at_the_limit_of_memory() {
    let bench = Bench::new();
    let commit = unfolds(&bench);
    let web = name("web");
    let little = bench.limited(FetchLimits { memory_bytes: 96 << 20, ..FetchLimits::default() });
    little.register(&web, &bench.source()).await.unwrap();
    let error = little.fetch(&web, None).await.unwrap_err();
    assert!(error.to_string().contains("ut of memory"), "{error}");
    assert!(!little.has(&web, &commit).await.unwrap());
    assert_eq!(fs::read_dir(little.objects(&web).join("pack")).unwrap().count(), 0);
    // It was only that.
    let enough = bench.mirrors();
    enough.fetch(&web, None).await.unwrap();
    assert!(enough.has(&web, &commit).await.unwrap());
}

#[tokio::test]
async fn what_only_looks_has_a_limit_of_memory_too() {
    let bench = Bench::new();
    let commit = unfolds(&bench);
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let mirror = mirrors.known(&web).unwrap();
    let show = |memory_bytes| {
        let mut command = mirrors.git().on(&mirror.path);
        command.args(["-c", "core.bigFileThreshold=1g"]);
        command.args(["cat-file", "blob", &format!("{commit}~1:large")]);
        run(command, &[], Allowance { memory_bytes, output_bytes: 1 << 30, ..QUICK })
    };
    assert_eq!(show(Some(48 << 20)).await.unwrap().succeeded, Succeeded::No);
    assert_eq!(show(QUICK.memory_bytes).await.unwrap().succeeded, Succeeded::Yes);
    assert!(QUICK.memory_bytes.is_some());
}

#[tokio::test]
async fn git_is_told_to_take_little_memory() {
    let bench = Bench::new();
    let (mirrors, mirror, _) = mirrored(&bench).await;
    for (setting, value) in [
        ("pack.threads", "1"),
        ("pack.windowMemory", "64m"),
        ("core.bigFileThreshold", "16m"),
        ("core.deltaBaseCacheLimit", "32m"),
        ("core.packedGitLimit", "256m"),
        ("core.packedGitWindowSize", "16m"),
    ] {
        git_in(&mirror.path, &["config", setting, "99g"]);
        let said = mirrors.git().ask("look", &mirror.path, &["config", "--get", setting]).await;
        assert_eq!(said.unwrap(), value, "{setting}: ours wins over the mirror's");
    }
}

/// A commit of these bytes after their tree, on a branch of the source.
fn forged(bench: &Bench, branch: &str, rest: &str) -> CommitId {
    let tree = bench.git(&["-C", "source", "rev-parse", "trunk^{tree}"]);
    let text = bench.path("object");
    fs::write(&text, format!("tree {tree}\n{rest}")).unwrap();
    let hash = ["hash-object", "-w", "--literally", "-t", "commit"];
    let at = text.display().to_string();
    let commit = git_in(&bench.path("source"), &[&hash[..], &[&at]].concat());
    bench.git(&["-C", "source", "update-ref", &format!("refs/heads/{branch}"), &commit]);
    commit.parse().unwrap()
}

/// A tree whose directory has a mode with a zero in front, as old programs wrote it.
fn padded(bench: &Bench) -> CommitId {
    let tree = bench.git(&["-C", "source", "rev-parse", "trunk^{tree}"]);
    let bytes: Vec<u8> =
        (0..40).step_by(2).map(|at| u8::from_str_radix(&tree[at..at + 2], 16).unwrap()).collect();
    let content = [b"040000 old\0".as_slice(), &bytes].concat();
    let text = bench.path("object");
    fs::write(&text, content).unwrap();
    let hash = ["hash-object", "-w", "--literally", "-t", "tree"];
    let at = text.display().to_string();
    let tree = git_in(&bench.path("source"), &[&hash[..], &[&at]].concat());
    let commit = bench.git(&["-C", "source", "commit-tree", "-m", "old", &tree]);
    bench.git(&["-C", "source", "update-ref", "refs/heads/padded", &commit]);
    commit.parse().unwrap()
}

const DATE: &str = "1700000000 +0000";

#[tokio::test]
async fn a_history_with_harmless_findings_is_mirrored_brought_and_pushed() {
    let bench = Bench::new();
    let (mirrors, mirror, _) = mirrored(&bench).await;
    let author = format!("author A <a@example.com> {DATE}");
    let harmless = [
        ("zone", format!("{author}00\ncommitter A <a@example.com> {DATE}00\n\nx\n")),
        (
            "space",
            format!("author A <a@example.com>{DATE}\ncommitter A <a@example.com> {DATE}\n\nx\n"),
        ),
    ];
    let mut commits: Vec<(&str, CommitId)> =
        harmless.iter().map(|(branch, rest)| (*branch, forged(&bench, branch, rest))).collect();
    commits.push(("padded", padded(&bench)));
    bench.git(&["init", "--quiet", "--bare", "other.git"]);
    for (branch, commit) in &commits {
        // As a forge does it.
        let far = format!("refs/heads/{branch}");
        mirrors.git().bring(&mirror, &[&far]).await.unwrap();
        assert!(mirrors.has(&name("web"), commit).await.unwrap(), "{branch}");
        // And to somebody who does not have it yet.
        let other = bench.path("other.git").display().to_string();
        let there = Mirror { source: other.parse().unwrap(), ..mirror.clone() };
        git_in(&mirror.path, &["config", "remote.origin.url", &other]);
        let name = RefName::base(branch).unwrap();
        let update = Update { name, old: None, new: commit.clone() };
        mirrors.git().push(&there, &[update]).await.unwrap();
        git_in(&mirror.path, &["config", "remote.origin.url", &bench.source()]);
    }
    // As a new mirror does it.
    let again = name("again");
    mirrors.register(&again, &bench.source()).await.unwrap();
    mirrors.fetch(&again, None).await.unwrap();
    for (branch, commit) in &commits {
        assert_eq!(mirrors.resolve(&again, branch).await.unwrap(), *commit);
    }
}

#[tokio::test]
async fn a_history_with_other_findings_is_refused_by_both() {
    let bench = Bench::new();
    let (mirrors, mirror, _) = mirrored(&bench).await;
    forged(&bench, "bad", &format!("committer A <a@example.com> {DATE}\n\nno author\n"));
    let error = mirrors.git().bring(&mirror, &["refs/heads/bad"]).await.unwrap_err();
    assert!(error.to_string().contains("missingAuthor"), "{error}");
    let error = mirrors.fetch(&name("web"), None).await.unwrap_err();
    assert!(error.to_string().contains("missingAuthor"), "{error}");
}

#[tokio::test]
async fn a_path_of_two_lines_is_not_two_questions() {
    let bench = Bench::new();
    let (mirrors, mirror, [_, second]) = mirrored(&bench).await;
    let mut blobs = mirrors.git().blobs(&mirror.path, QUICK).unwrap();
    let asked = blobs.file(&second, &format!("nothing\ncontents {second}:file"), 1 << 20).await;
    assert!(matches!(asked, Err(GitError::Strange { .. })), "{asked:?}");
    let read = blobs.file(&second, "file", 1 << 20).await.unwrap();
    assert_eq!(read.as_deref(), Some(&b"second\n"[..]), "and it still answers what it is asked");
}

#[tokio::test]
async fn a_new_repository_has_no_hooks_and_names_objects_as_it_is_told() {
    let bench = Bench::new();
    let (mirrors, ..) = mirrored(&bench).await;
    let path = bench.path("new");
    mirrors.git().init(&path, Hash::Sha256).await.unwrap();
    assert!(!path.join("hooks").exists());
    let blob = mirrors.git().write_blob(&path, b"x").await.unwrap();
    assert_eq!(blob.as_str().len(), 64);
}

#[tokio::test]
async fn the_other_side_is_told_the_same_as_we_are() {
    let bench = Bench::new();
    let (log, program) = (bench.path("calls"), bench.path("program"));
    let script = format!("#!/bin/sh\necho \"$*\" >>{}\nexec git \"$@\"\n", log.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let root = bench.path("mirrors");
    let mirrors = Mirrors::open(&root, &program, FetchLimits::default()).unwrap();
    let web = name("web");
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let calls = fs::read_to_string(log).unwrap();
    let served: Vec<&str> = calls.lines().filter(|it| it.contains(" upload-pack ")).collect();
    assert!(!served.is_empty(), "{calls}");
    for call in served.iter().filter(|call| !call.starts_with("--git-dir")) {
        for setting in ["core.hooksPath=/dev/null", "core.packedGitLimit=256m", "gc.auto=0"] {
            assert!(call.contains(setting), "{call}");
        }
    }
}
