//! A difference between two trees, with paths and contents of anybody's choice: it is judged, and what is let through is harmless.
//!
//! The input is what git says about the difference, then `=`, then a content that stands at every path.
#![no_main]

use forges::inspection::{
    Inspector, Mode, NoSecrets, Policy, check_path, read_touched, secrets, stays_inside,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let at = input.iter().rposition(|byte| *byte == b'=').unwrap_or(input.len());
    let (raw, content) = input.split_at(at);
    for found in secrets::find(content) {
        assert!(content.get(found.range).is_some_and(|it| !it.is_empty()));
        assert!(found.line >= 1);
    }
    assert_eq!(secrets::find_new(Some(content), content), [], "what was there is not new");
    let Ok(touched) = read_touched(raw) else { return };
    let policy = Policy::default();
    let mut inspector = Inspector::new(&policy, &NoSecrets);
    inspector.outline(&touched);
    inspector.meetings(&touched, touched.iter().map(|one| one.path.as_slice()));
    for one in &touched {
        inspector.size(&one.path, content.len() as u64);
        inspector.content(one, None, content);
    }
    let Ok(_flags) = inspector.verdict() else { return };
    for one in touched.iter().filter(|one| one.after.is_some()) {
        check_path(&one.path, &policy.limits).expect("it was let through");
        let path = std::str::from_utf8(&one.path).expect("text");
        for part in path.split('/') {
            assert!(!matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"));
        }
        match one.after.as_ref().expect("there").mode {
            Mode::Symlink => assert!(stays_inside(path, content)),
            Mode::File | Mode::Executable => {}
            Mode::Submodule | Mode::Other(_) => panic!("it was let through"),
        }
    }
});
