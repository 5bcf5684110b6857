//! Commits are read on the host, whatever is in them: nothing runs, nothing is hidden, and nothing takes more than its limits.

use std::{io::Write as _, process::Stdio};

use contracts::{
    forge::{Comparison, ForgeError, Forges as _, LARGEST_FILE, LARGEST_READING},
    sandbox::Cut,
};
use domain::code::CommitId;

use crate::fixture::{Fixture, Forge, git_in, key, person, repository};

/// A mirror that somebody filled with whatever they liked.
struct Hostile {
    fixture: Fixture,
    forge: Forge,
}

impl Hostile {
    fn new() -> Self {
        Self::named_by("sha1")
    }

    fn named_by(hash: &str) -> Self {
        let fixture = Fixture::named_by(hash);
        let forge = fixture.forge();
        Self { fixture, forge }
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = person(self.forge.mirror_path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn blob(&self, content: &[u8]) -> String {
        self.git(&["hash-object", "-w", "--stdin"], content)
    }

    /// Of entries as `git mktree -z` reads them.
    fn tree(&self, entries: &[(&str, &str, &[u8])]) -> String {
        let mut input = Vec::new();
        for (mode, object, name) in entries {
            let kind = match *mode {
                "160000" => "commit",
                "040000" => "tree",
                _ => "blob",
            };
            input.extend(format!("{mode} {kind} {object}\t").bytes());
            input.extend(*name);
            input.push(0);
        }
        self.git(&["mktree", "-z", "--missing"], &input)
    }

    fn commit(&self, entries: &[(&str, &str, &[u8])]) -> CommitId {
        let tree = self.tree(entries);
        self.git(&["commit-tree", "-m", "hostile", &tree], b"").parse().unwrap()
    }

    async fn compared(&self, base: &CommitId, head: &CommitId) -> Comparison {
        self.forge.compare(&repository(), base, head).await.unwrap()
    }
}

/// Path and length of both sides; a side without a content is `None`.
type Sides<'c> = Vec<[Option<(&'c str, Option<usize>)>; 2]>;

fn sides(comparison: &Comparison) -> Sides<'_> {
    comparison
        .files
        .iter()
        .map(|change| {
            [&change.old, &change.new].map(|side| {
                let side = side.as_ref()?;
                Some((side.path.as_str(), side.bytes.as_ref().map(Vec::len)))
            })
        })
        .collect()
}

fn text(comparison: &Comparison) -> String {
    String::from_utf8_lossy(&comparison.patch.text).into_owned()
}

#[tokio::test]
async fn a_commit_has_paths_and_what_is_wanted_has_contents() {
    for hash in ["sha1", "sha256"] {
        let Hostile { fixture, forge } = Hostile::named_by(hash);
        let wanted = |path: &str| path.starts_with("src/");
        let files = forge.files(&repository(), &fixture.base, wanted).await.unwrap();
        assert_eq!(files.paths, [".gitignore", "README.md", "src/main.rs"]);
        assert_eq!(files.contents.len(), 1);
        assert_eq!(files.contents["src/main.rs"], b"fn main() {}\n");
    }
}

#[tokio::test]
async fn what_is_not_here_is_said_so() {
    let Hostile { fixture, forge } = Hostile::new();
    let strange: CommitId = "f".repeat(40).parse().unwrap();
    let error = forge.files(&repository(), &strange, |_| true).await.unwrap_err();
    let reason = format!("`acme/web` has no commit {strange} here");
    assert_eq!(error, ForgeError::Rejected { reason });
    let error = forge.compare(&repository(), &fixture.base, &strange).await.unwrap_err();
    assert!(matches!(error, ForgeError::Rejected { .. }), "{error}");
    let unknown = "unknown/web".parse().unwrap();
    let error = forge.files(&unknown, &fixture.base, |_| true).await.unwrap_err();
    assert_eq!(error, ForgeError::NoRepository(unknown));
}

#[tokio::test]
async fn a_file_that_is_too_large_and_all_files_together_have_a_limit() {
    let hostile = Hostile::new();
    let largest = hostile.blob(&vec![b'x'; LARGEST_FILE]);
    let larger = hostile.blob(&vec![b'x'; LARGEST_FILE + 1]);
    let most = LARGEST_READING / LARGEST_FILE;
    let names: Vec<String> = (0..most + 6).map(|number| format!("f{number:03}")).collect();
    let mut entries = vec![("100644", larger.as_str(), b"a-larger".as_slice())];
    entries.extend(names.iter().map(|name| ("100644", largest.as_str(), name.as_bytes())));
    let small = hostile.blob(b"");
    entries.push(("100644", &small, b"z-empty"));
    let commit = hostile.commit(&entries);
    let files = hostile.forge.files(&repository(), &commit, |_| true).await.unwrap();
    assert_eq!(files.paths.len(), most + 8, "all of them are told");
    assert!(!files.contents.contains_key("a-larger"));
    assert_eq!(files.contents.values().map(Vec::len).sum::<usize>(), LARGEST_READING);
    assert!(files.contents.contains_key("z-empty"), "what has no bytes needs no room");
}

#[tokio::test]
async fn a_hundred_thousand_paths_are_told() {
    let hostile = Hostile::new();
    let blob = hostile.blob(b"x");
    let names: Vec<String> = (0..100_000).map(|number| format!("f{number:06}")).collect();
    let entries: Vec<_> =
        names.iter().map(|name| ("100644", blob.as_str(), name.as_bytes())).collect();
    let commit = hostile.commit(&entries);
    let wanted = |path: &str| path == "f099999";
    let files = hostile.forge.files(&repository(), &commit, wanted).await.unwrap();
    assert_eq!(files.paths, names);
    assert_eq!(files.contents.len(), 1);
    let compared = hostile.compared(&hostile.fixture.base, &commit).await;
    assert_eq!(compared.files.len(), 100_003, "all that is new, and three files that are gone");
}

#[tokio::test]
async fn a_tree_that_is_its_own_branches_many_times_over_is_refused() {
    let hostile = Hostile::new();
    let blob = hostile.blob(b"x");
    let names: Vec<String> = (10..40).map(|number| number.to_string()).collect();
    let wide = |mode: &str, object: &str| {
        let entries: Vec<_> = names.iter().map(|name| (mode, object, name.as_bytes())).collect();
        hostile.tree(&entries)
    };
    let mut tree = wide("100644", &blob);
    for _ in 0..20 {
        tree = wide("040000", &tree);
    }
    let commit = hostile.commit(&[("040000", &tree, b"wide")]);
    let error = hostile.forge.files(&repository(), &commit, |_| true).await.unwrap_err();
    let ForgeError::Rejected { reason } = error else { panic!("{error}") };
    assert!(reason.contains("more than 500000 paths"), "{reason}");
    let error = hostile.forge.compare(&repository(), &hostile.fixture.base, &commit).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ForgeError::Rejected { .. }), "git had not enough memory: {error}");
}

#[tokio::test]
async fn links_and_submodules_have_no_content_and_odd_names_are_left_out() {
    let hostile = Hostile::new();
    let (blob, link) = (hostile.blob(b"x"), hostile.blob(b"/etc/passwd"));
    let sub = hostile.fixture.base.to_string();
    let commit = hostile.commit(&[
        ("100644", &blob, b"a\nb"),
        ("100644", &blob, b"a\x1b[2J"),
        ("100644", &blob, b"\xff\xfe"),
        ("100755", &blob, b"--option"),
        ("120000", &link, b"link"),
        ("160000", &sub, b"sub"),
        ("100644", &blob, ":(glob)ü*".as_bytes()),
    ]);
    let files = hostile.forge.files(&repository(), &commit, |_| true).await.unwrap();
    let mut paths = files.paths;
    paths.sort();
    assert_eq!(paths, ["--option", ":(glob)ü*", "link", "sub"]);
    assert_eq!(files.contents.into_keys().collect::<Vec<_>>(), ["--option", ":(glob)ü*"]);
}

#[tokio::test]
async fn a_comparison_has_both_sides_of_every_file() {
    let hostile = Hostile::new();
    let (old, new) = (hostile.blob(b"one\ntwo\n"), hostile.blob(b"one\n2\n"));
    let (moved, link) = (hostile.blob(b"the same\n"), hostile.blob(b"a"));
    let base = hostile.commit(&[
        ("100644", &old, b"a"),
        ("100644", &old, b"gone"),
        ("100644", &moved, b"here"),
        ("100644", &old, b"mode"),
    ]);
    let head = hostile.commit(&[
        ("100644", &new, b"a"),
        ("100644", &moved, b"there"),
        ("120000", &link, b"link"),
        ("100755", &old, b"mode"),
    ]);
    let compared = hostile.compared(&base, &head).await;
    let expected: Sides<'_> = vec![
        [Some(("a", Some(8))), Some(("a", Some(6)))],
        [Some(("gone", Some(8))), None],
        [Some(("here", Some(9))), None],
        [None, Some(("link", None))],
        [Some(("mode", Some(8))), Some(("mode", Some(8)))],
        [None, Some(("there", Some(9)))],
    ];
    assert_eq!(sides(&compared), expected);
    assert_eq!(compared.files[0].new.as_ref().unwrap().bytes.as_deref(), Some(&b"one\n2\n"[..]));
    assert_eq!(compared.tree, hostile.git(&["rev-parse", &format!("{head}^{{tree}}")], b""));
    let text = text(&compared);
    assert!(text.contains("-two\n+2\n") && text.contains("rename from here"), "{text}");
    assert_eq!(compared.patch.cut, Cut::Whole);
    let same = hostile.compared(&head, &head).await;
    assert!(same.files.is_empty() && same.patch.text.is_empty());
}

#[tokio::test]
async fn a_change_is_not_hidden_by_its_name_or_its_size() {
    let hostile = Hostile::new();
    let (blob, large) = (hostile.blob(b"x\n"), hostile.blob(&vec![b'x'; LARGEST_FILE + 1]));
    let base = hostile.commit(&[("100644", &blob, b"large")]);
    let sub = hostile.fixture.base.to_string();
    let head = hostile.commit(&[
        ("100644", &blob, b"a\nb\x1b"),
        ("100644", &large, b"large"),
        ("160000", &sub, b"sub"),
    ]);
    let compared = hostile.compared(&base, &head).await;
    let expected: Sides<'_> = vec![
        [None, Some(("a\\u{a}b\\u{1b}", None))],
        [Some(("large", Some(2))), Some(("large", None))],
        [None, Some(("sub", None))],
    ];
    assert_eq!(sides(&compared), expected);
}

#[tokio::test]
async fn attributes_of_a_repository_hide_nothing_and_run_nothing() {
    for hash in ["sha1", "sha256"] {
        let hostile = Hostile::named_by(hash);
        let ran = hostile.fixture.path("ran");
        let run = format!("touch {}", ran.display());
        let mirror = hostile.forge.mirror_path();
        // As if somebody had got at the mirror's own settings.
        for name in
            ["diff.evil.command", "diff.evil.textconv", "diff.external", "filter.evil.smudge"]
        {
            git_in(mirror, &["config", name, &run]);
        }
        let attributes = hostile.blob(b"* diff=evil filter=evil\n*.rs -diff\n*.bin binary\n");
        let (old, new) = (hostile.blob(b"fn a() {}\n"), hostile.blob(b"fn evil() {}\n"));
        let attributes = ("100644", attributes.as_str(), b".gitattributes".as_slice());
        let base = hostile.commit(&[attributes, ("100644", &old, b"a.rs"), ("100644", &old, b"b")]);
        let head = hostile.commit(&[attributes, ("100644", &new, b"a.rs"), ("100644", &new, b"b")]);
        // Where some versions of git look for attributes.
        git_in(mirror, &["update-ref", "refs/heads/trunk", base.as_str()]);
        git_in(mirror, &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
        git_in(mirror, &["config", "attr.tree", "HEAD"]);
        let compared = hostile.compared(&base, &head).await;
        let text = text(&compared);
        assert_eq!(text.matches("+fn evil() {}").count(), 2, "{text}");
        assert_eq!(compared.files.len(), 2);
        assert!(!ran.exists());
    }
}

#[tokio::test]
async fn a_patch_without_end_is_cut() {
    let hostile = Hostile::new();
    let lines = vec!["x".repeat(98); 120_000].join("\n");
    let base = hostile.commit(&[]);
    let blob = hostile.blob(lines.as_bytes());
    let head = hostile.commit(&[("100644", &blob, b"long")]);
    let compared = hostile.compared(&base, &head).await;
    assert_eq!(compared.patch.cut, Cut::Cut);
    assert_eq!(compared.patch.text.len(), 8 << 20);
    assert_eq!(sides(&compared), [[None, Some(("long", None))]]);
}

#[tokio::test]
async fn what_was_taken_can_be_read_before_it_is_delivered() {
    let Hostile { fixture, forge } = Hostile::new();
    fixture.change("src/main.rs", "fn main() { run() }\n");
    let change = forge.take_change(key(1), &fixture.taking()).await.unwrap();
    let files = forge.files(&repository(), &change.commit, |_| true).await.unwrap();
    assert_eq!(files.contents["src/main.rs"], b"fn main() { run() }\n");
    let compared = forge.compare(&repository(), &fixture.base, &change.commit).await.unwrap();
    assert_eq!(sides(&compared).len(), change.paths.len());
}

#[tokio::test]
async fn a_line_is_blamed_on_its_commit_and_nothing_of_the_repository_runs() {
    let Hostile { fixture, forge } = Hostile::new();
    let theirs = fixture.person_pushes("trunk", "b\u{fc}:(x)", "one\ntwo\n");
    let ran = fixture.path("ran");
    let run = format!("touch {}; cat", ran.display());
    let mirror = forge.mirror_path();
    git_in(mirror, &["config", "diff.evil.textconv", &run]);
    git_in(mirror, &["config", "attr.tree", "HEAD"]);
    fixture.person_pushes("trunk", ".gitattributes", "* diff=evil\n");
    let blamed = forge.blame(&repository(), "b\u{fc}:(x)", 2).await.unwrap();
    assert_eq!((blamed.commit, blamed.text.as_str()), (theirs, "two"));
    assert_eq!(blamed.subject, "by hand");
    for (path, line) in
        [("b\u{fc}:(x)", 9), ("nowhere", 1), ("--help", 1), ("README.md", 0), ("", 1)]
    {
        let error = forge.blame(&repository(), path, line).await.unwrap_err();
        assert!(matches!(error, ForgeError::Refused { .. }), "{path} {line}: {error}");
    }
    assert!(!ran.exists());
}
