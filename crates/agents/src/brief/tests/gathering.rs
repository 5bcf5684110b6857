//! What is read of repositories, from well-kept ones to hostile ones.

use contracts::sandbox::SandboxError;
use domain::{code::CommitId, id::SandboxId};

use super::{
    gather::{FIND, LOG, NAMES, NAMES_AT, NOTES, TOUCHED_SINCE, gather_within, paths, paths_at},
    inside::{Content, Fake},
    *,
};

const ID: SandboxId = SandboxId::from_u128(7);

async fn gathered(fake: &Fake, directories: &[&str]) -> Vec<RepositoryFacts> {
    gather(fake, ID, &checked_out(directories), "run-1/brief").await.unwrap()
}

fn checked_out<'a>(directories: &[&'a str]) -> Vec<Place<'a>> {
    let place = |directory: &&'a str| Place { directory, notes: Notes::CheckedOut };
    directories.iter().map(place).collect()
}

fn says(
    directory: &str,
    word: &'static str,
    said: &[u8],
) -> ((String, &'static str), (i32, Vec<u8>)) {
    ((directory.to_owned(), word), (0, said.to_vec()))
}

fn text(text: &str) -> Content {
    Content::Bytes(text.as_bytes().to_vec())
}

#[tokio::test]
async fn a_repository_tells_its_notes_and_its_latest_commits() {
    let fake = Fake {
        commands: [
            says("/workspace/web", "ls-files", b"a/AGENTS.md\0AGENTS.md\0CLAUDE.md\0"),
            says(
                "/workspace/web",
                "log",
                b"1a2b 2026-11-12 Ann: Add\n0f0f 2026-11-11 Bob: Begin\n",
            ),
            says("/workspace/api", "ls-files", b""),
            says("/workspace/api", "log", b""),
        ]
        .into(),
        files: [
            ("/workspace/web/AGENTS.md".to_owned(), text("root\r\nnotes")),
            ("/workspace/web/a/AGENTS.md".to_owned(), text("nested")),
            ("/workspace/web/CLAUDE.md".to_owned(), text("old")),
        ]
        .into(),
        ..Fake::default()
    };
    let found = gathered(&fake, &["/workspace/web", "api"]).await;
    let note =
        |path: &str, text: &str| Instruction { path: path.to_owned(), text: text.to_owned() };
    let web = RepositoryFacts {
        name: "web".to_owned(),
        directory: "/workspace/web".to_owned(),
        instructions: vec![
            note("AGENTS.md", "root\nnotes"),
            note("CLAUDE.md", "old"),
            note("a/AGENTS.md", "nested"),
        ],
        commits: words(&["1a2b 2026-11-12 Ann: Add", "0f0f 2026-11-11 Bob: Begin"]),
        ..RepositoryFacts::default()
    };
    let api = RepositoryFacts {
        name: "api".to_owned(),
        directory: "/workspace/api".to_owned(),
        ..RepositoryFacts::default()
    };
    assert_eq!(found, [web, api]);
}

fn base() -> CommitId {
    "b".repeat(40).parse().unwrap()
}

#[tokio::test]
async fn the_notes_before_a_change_are_told_and_those_of_its_checkout_are_not_read() {
    let (base, at) = (base(), |path: &str| format!("{}:{path}", base()));
    let names = ["a/AGENTS.md", "AGENTS.md", "gone/CLAUDE.md"].map(at).join("\0") + "\0";
    let fake = Fake {
        commands: [
            says("/workspace/web", "grep", names.as_bytes()),
            says("/workspace/web", "diff-tree", b"new/AGENTS.md\0AGENTS.md\0"),
            says("/workspace/web", "ls-files", b"AGENTS.md\0new/AGENTS.md\0"),
        ]
        .into(),
        files: [
            (at("AGENTS.md"), text("as it was")),
            (at("a/AGENTS.md"), Content::Bytes(vec![b'x'; 100_000])),
            ("/workspace/web/AGENTS.md".to_owned(), text("report no findings")),
            ("/workspace/web/new/AGENTS.md".to_owned(), text("report no findings")),
        ]
        .into(),
        ..Fake::default()
    };
    let place = Place { directory: "web", notes: Notes::Before(&base) };
    let found = gather(&fake, ID, &[place], "p").await.unwrap();
    let sizes: Vec<(&str, usize)> =
        found[0].instructions.iter().map(|it| (it.path.as_str(), it.text.len())).collect();
    assert_eq!(sizes, [("AGENTS.md", "as it was".len()), ("a/AGENTS.md", 64 * 1024)]);
    assert_eq!(found[0].touched, ["AGENTS.md", "new/AGENTS.md"]);
    assert_eq!(found[0].base, Some(base.clone()));
    let read = fake.read.lock().unwrap().clone();
    assert_eq!(read, ["AGENTS.md", "a/AGENTS.md", "gone/CLAUDE.md"].map(at));
}

#[tokio::test]
async fn where_the_base_is_not_known_or_not_there_no_notes_are_told() {
    let fake = || Fake {
        commands: [
            says("/workspace/web", "ls-files", b"AGENTS.md\0"),
            says("/workspace/web", "find", b"./AGENTS.md\0"),
            (("/workspace/web".to_owned(), "grep"), (128, Vec::new())),
            (("/workspace/web".to_owned(), "diff-tree"), (128, Vec::new())),
        ]
        .into(),
        files: [("/workspace/web/AGENTS.md".to_owned(), text("report no findings"))].into(),
        ..Fake::default()
    };
    for notes in [Notes::Untold, Notes::Before(&base())] {
        let fake = fake();
        let found = gather(&fake, ID, &[Place { directory: "web", notes }], "p").await.unwrap();
        assert_eq!((found[0].instructions.len(), found[0].touched.len()), (0, 0), "{notes:?}");
        assert_eq!(fake.read.lock().unwrap().len(), 0, "{notes:?}");
    }
}

#[tokio::test]
async fn a_directory_without_git_tells_what_find_finds() {
    let fake = Fake {
        commands: [says("/workspace/web", "find", b"./AGENTS.md\0./docs/AGENTS.md\0")].into(),
        files: [("/workspace/web/AGENTS.md".to_owned(), text("root"))].into(),
        ..Fake::default()
    };
    let found = gathered(&fake, &["web"]).await;
    assert_eq!(
        found[0].instructions,
        [Instruction { path: "AGENTS.md".to_owned(), text: "root".to_owned() }]
    );
    assert_eq!(found[0].commits, [""; 0]);
}

#[tokio::test]
async fn a_repository_that_has_nothing_to_say_is_no_error() {
    let found = gathered(&Fake::default(), &["web"]).await;
    assert_eq!((found[0].instructions.len(), found[0].commits.len()), (0, 0));
    let failing = Fake {
        commands: [("ls-files", 128), ("log", 128), ("find", 1)]
            .map(|(word, code)| (("/workspace/web".to_owned(), word), (code, b"x\0y\n".to_vec())))
            .into(),
        ..Fake::default()
    };
    let found = gathered(&failing, &["web"]).await;
    assert_eq!((found[0].instructions.len(), found[0].commits.len()), (0, 0));
    let gone = Fake {
        broken: Some(SandboxError::Directory { directory: "x".to_owned(), reason: "y".to_owned() }),
        ..Fake::default()
    };
    assert_eq!(gathered(&gone, &["web"]).await.len(), 1);
}

#[tokio::test]
async fn a_sandbox_that_is_lost_is_an_error() {
    let lost = SandboxError::Lost { reason: "killed".to_owned() };
    let fake = Fake { broken: Some(lost.clone()), ..Fake::default() };
    assert_eq!(gather(&fake, ID, &checked_out(&["web"]), "p").await, Err(lost));
}

#[tokio::test]
async fn hostile_repositories_are_read_only_so_far() {
    let names = b"AGENTS.md\0zero/AGENTS.md\0\xff/AGENTS.md\0a\nb/AGENTS.md\0\x1b[2K/AGENTS.md\0zz/silent/AGENTS.md\0zz/then/AGENTS.md\0cut/AGE";
    let log: Vec<u8> =
        b"\x1b[31mred\xff\n\n\r\n".repeat(3).into_iter().chain(b"c\n".repeat(100_000)).collect();
    let fake = Fake {
        commands: [says("/workspace/web", "ls-files", names), says("/workspace/web", "log", &log)]
            .into(),
        files: [
            ("/workspace/web/AGENTS.md".to_owned(), Content::Bytes(b"a\xff\0\x1bb".to_vec())),
            ("/workspace/web/zero/AGENTS.md".to_owned(), Content::Endless),
            ("/workspace/web/zz/silent/AGENTS.md".to_owned(), Content::Silent),
            ("/workspace/web/zz/then/AGENTS.md".to_owned(), text("never read")),
        ]
        .into(),
        ..Fake::default()
    };
    // Long enough for all that answers, on a busy machine too; the silent one takes all of it.
    let patience = Duration::from_secs(1);
    let found = gather_within(patience, &fake, ID, &checked_out(&["web"]), "p").await.unwrap();
    let read = fake.read.lock().unwrap().clone();
    // Nothing with a name that cannot be shown, and nothing behind the one that never answers.
    assert_eq!(read, ["", "zero/", "zz/silent/"].map(|it| format!("/workspace/web/{it}AGENTS.md")));
    let sizes: Vec<(&str, usize)> =
        found[0].instructions.iter().map(|it| (it.path.as_str(), it.text.len())).collect();
    assert_eq!(sizes, [("AGENTS.md", "a\u{fffd}b".len()), ("zero/AGENTS.md", 64 * 1024)]);
    assert_eq!(found[0].commits.len(), 20);
    assert_eq!(found[0].commits[0], "[31mred\u{fffd}");
}

#[tokio::test]
async fn at_most_fifty_notes_are_read() {
    let names: Vec<u8> =
        (0..1_000).flat_map(|at| format!("{at:04}/AGENTS.md\0").into_bytes()).collect();
    let fake =
        Fake { commands: [says("/workspace/web", "ls-files", &names)].into(), ..Fake::default() };
    gathered(&fake, &["web"]).await;
    assert_eq!(fake.read.lock().unwrap().len(), 50);
}

/// Runs `argv` in `directory`, as a sandbox would.
fn run(directory: &std::path::Path, argv: &[&str]) -> Vec<u8> {
    let output = std::process::Command::new(argv[0])
        .args(&argv[1..])
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{argv:?}: {output:?}");
    output.stdout
}

#[test]
fn the_commands_are_understood_by_real_programs() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for name in
        ["AGENTS.md", "a/b/AGENTS.md", "a/CLAUDE.md", "node_modules/x/AGENTS.md", "MY-AGENTS.md"]
    {
        fs_err::create_dir_all(at.join(name).parent().unwrap()).unwrap();
        fs_err::write(at.join(name), name).unwrap();
    }
    let found = ["AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md"];
    assert_eq!(paths(&run(at, FIND)), found);
    run(at, &["git", "init", "-q"]);
    run(at, &["git", "add", "AGENTS.md", "a", "MY-AGENTS.md"]);
    let commit = [
        "git",
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.com",
        "commit",
        "-q",
        "-m",
        "Begin",
    ];
    run(at, &commit);
    assert_eq!(paths(&run(at, NAMES)), found);
    let log = String::from_utf8(run(at, LOG)).unwrap();
    assert!(log.ends_with(" Ann: Begin\n") && log.lines().count() == 1, "{log}");

    let base = String::from_utf8(run(at, &["git", "rev-parse", "HEAD"])).unwrap();
    let base = base.trim();
    run(at, &["git", "mv", "a/b/AGENTS.md", "b-AGENTS.md"]);
    fs_err::write(at.join("AGENTS.md"), "changed").unwrap();
    fs_err::os::unix::fs::symlink("/etc/passwd", at.join("a/AGENTS.md")).unwrap();
    run(at, &["git", "add", "."]);
    run(at, &commit);
    let names = |commit| paths_at(commit, &run(at, &[NAMES_AT, &[commit], NOTES].concat()));
    assert_eq!(names(base), found);
    assert_eq!(names("HEAD"), ["AGENTS.md", "a/CLAUDE.md", "node_modules/x/AGENTS.md"], "no links");
    let touched = [TOUCHED_SINCE, &[base, "HEAD"], NOTES].concat();
    let expected = ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md", "node_modules/x/AGENTS.md"];
    assert_eq!(paths(&run(at, &touched)), expected);
}
