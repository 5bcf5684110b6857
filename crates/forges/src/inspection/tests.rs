//! Whole changes, judged.

use super::*;

const NEW: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn added(path: &str, mode: Mode) -> Touched {
    let after = Some(Side { mode, object: NEW.parse().unwrap() });
    Touched { path: path.as_bytes().to_vec(), before: None, after }
}

fn judged(policy: &Policy, touched: &[Touched]) -> Result<Vec<Flag>, Refused> {
    let mut inspector = Inspector::new(policy, &NoSecrets);
    inspector.outline(touched);
    inspector.verdict()
}

fn kind(path: &str, mode: Mode) -> Result<Option<FlagKind>, Reason> {
    match judged(&Policy::default(), &[added(path, mode)]) {
        Ok(mut flags) => Ok(flags.pop().map(|flag| flag.kind)),
        Err(mut refused) => Err(refused.refusals.remove(0).reason),
    }
}

#[test]
fn modes_are_files_programs_and_links() {
    assert_eq!(kind("a", Mode::File), Ok(None));
    assert_eq!(kind("a", Mode::Executable), Ok(Some(FlagKind::BecameExecutable)));
    assert_eq!(kind("a", Mode::Symlink), Ok(Some(FlagKind::Link)));
    assert_eq!(kind("a", Mode::Submodule), Err(Reason::Submodule));
    assert_eq!(kind("a", Mode::Other(0o100_666)), Err(Reason::Mode { mode: 0o100_666 }));
    assert_eq!(kind(".gitmodules", Mode::Symlink), Err(Reason::LinkForGit));
    assert_eq!(kind("GITMOD~1", Mode::Symlink), Err(Reason::LinkForGit));
}

#[test]
fn workflow_files_need_an_approval_of_their_own() {
    let ci = added(".github/workflows/ci.yml", Mode::File);
    let refused = judged(&Policy::default(), std::slice::from_ref(&ci)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`.github/workflows/ci.yml` is run by the forge (GitHub Actions): \
         have the workflow change approved apart, or leave it out"
    );
    let approved = Policy { workflows: Workflows::Approved, ..Policy::default() };
    let flags = judged(&approved, &[ci]).unwrap();
    assert_eq!(flags[0].kind, FlagKind::Workflow { what: "GitHub Actions" });
    let gone = Touched {
        after: None,
        before: added("x", Mode::File).after,
        path: b".travis.yml".to_vec(),
    };
    assert!(judged(&Policy::default(), &[gone]).is_err(), "to remove one is a change too");
}

#[test]
fn notes_for_agents_and_compiled_files_are_looked_at_twice() {
    let flags = judged(&Policy::default(), &[added("AGENTS.md", Mode::File)]).unwrap();
    assert_eq!(
        flags[0].to_string(),
        "`AGENTS.md` instructs or runs whoever opens an agent there (agents)"
    );
    let gone = Touched {
        after: None,
        before: added("x", Mode::File).after,
        path: b".claude/settings.json".to_vec(),
    };
    let flags = judged(&Policy::default(), &[gone]).unwrap();
    assert_eq!(flags[0].kind, FlagKind::Instructs { what: "Claude Code" });
    assert_eq!(
        flags.into_iter().next().unwrap().told().kind,
        contracts::forge::FlagKind::RunsWhenOpened
    );
    for (path, bytes) in [
        ("__pycache__/test_calc.cpython-311.pyc", &b"\x6f\x0d"[..]),
        ("bin/check", b"\x7fELF\x02\x01"),
    ] {
        let policy = Policy::default();
        let mut inspector = Inspector::new(&policy, &NoSecrets);
        inspector.content(&added(path, Mode::File), None, bytes);
        let flags = inspector.verdict().unwrap();
        assert!(matches!(flags[0].kind, FlagKind::Compiled { .. }), "{path}: {flags:?}");
    }
}

#[test]
fn a_crowd_of_one_kind_hides_no_other() {
    let crowd = (0..2 * MOST_FLAGS).map(|number| added(&format!("a/{number}"), Mode::Executable));
    let touched: Vec<Touched> = crowd.chain([added("z/link", Mode::Symlink)]).collect();
    let flags = judged(&Policy::default(), &touched).unwrap();
    assert_eq!(flags.len(), MOST_FLAGS + 1);
    assert_eq!(flags.last().map(|flag| &flag.kind), Some(&FlagKind::Link));
}

#[test]
fn all_that_is_wrong_is_told_at_once_and_not_endlessly() {
    let many: Vec<Touched> = (0..100).map(|n| added(&format!("../{n}"), Mode::File)).collect();
    let refused = judged(&Policy::default(), &many).unwrap_err();
    assert_eq!((refused.refusals.len(), refused.more), (25, 75));
    assert!(refused.to_string().ends_with("; and 75 more"));
}

#[test]
fn numbers_and_sizes_have_limits() {
    let limits = Limits { files: 1, file_bytes: 10, total_bytes: 15, ..Limits::default() };
    let policy = Policy { limits, ..Policy::default() };
    assert!(judged(&policy, &[added("a", Mode::File), added("b", Mode::File)]).is_err());
    let mut inspector = Inspector::new(&policy, &NoSecrets);
    inspector.size(b"a", 10);
    assert!(!inspector.is_refused());
    inspector.size(b"b", 10);
    inspector.size(b"c", 11);
    let refused = inspector.verdict().unwrap_err();
    let reasons: Vec<_> = refused.refusals.into_iter().map(|it| it.reason).collect();
    let large = Reason::LargeFile { bytes: 11, limit: 10 };
    assert_eq!(reasons, [Reason::LargeChange { limit: 15 }, large]);
}

#[test]
fn names_that_are_one_elsewhere_are_refused() {
    let policy = Policy::default();
    let meets = |new: &[Touched], standing: &[&str]| {
        let mut inspector = Inspector::new(&policy, &NoSecrets);
        inspector.meetings(new, standing.iter().map(|path| path.as_bytes()));
        inspector.is_refused()
    };
    assert!(meets(&[added("README", Mode::File)], &["README", "readme"]));
    assert!(meets(&[added("A", Mode::Symlink)], &["A", "a/x"]), "a link instead of a directory");
    assert!(meets(&[added("src/x", Mode::File)], &["Src/y", "src/x"]));
    assert!(!meets(&[added("src/x", Mode::File)], &["src/x", "src/y", "lib/x"]));
    assert!(!meets(&[], &["README", "readme"]), "what was there is not this change's fault");
}

#[test]
fn contents_are_looked_at() {
    struct Password;
    impl KnownSecrets for Password {
        fn is_in(&self, bytes: &[u8]) -> bool {
            bytes.windows(7).any(|part| part == b"hunter2")
        }
    }
    let policy = Policy::default();
    let look = |path: &str, mode: Mode, old: Option<&[u8]>, new: &[u8]| {
        let mut inspector = Inspector::new(&policy, &Password);
        inspector.content(&added(path, mode), old, new);
        inspector.verdict().map_err(|mut refused| refused.refusals.remove(0).reason)
    };
    assert_eq!(look("a", Mode::Symlink, None, b"../x"), Err(Reason::LinkOut));
    assert_eq!(look("a", Mode::Symlink, None, b"x"), Ok(vec![]));
    assert_eq!(look("a", Mode::File, None, b"my hunter2"), Err(Reason::KnownSecret));
    let script = br#"{"scripts":{"postinstall":"x"}}"#;
    let flags = look("web/package.json", Mode::File, None, script).unwrap();
    assert_eq!(flags[0].kind, FlagKind::LifecycleScript { script: "postinstall".to_owned() });
    let turned = "a\n\u{202e}b".as_bytes();
    assert_eq!(
        look("a", Mode::File, None, turned).unwrap()[0].kind,
        FlagKind::Deceives { line: 2 }
    );
    assert_eq!(look("a", Mode::File, Some(turned), turned), Ok(vec![]));
}
