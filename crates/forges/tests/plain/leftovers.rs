//! What a setup or a hook left in a checkout is not the agent's change, unless the agent changed it.

use std::fs;

use contracts::{
    forge::{ForgeError, Forges as _},
    sandbox::{Content, HandedOver, Leftover},
};

use crate::fixture::{Fixture, Forge, git_in, key};

/// The checkout as it is now, told as what it was handed over with.
fn hand_over(fixture: &Fixture, forge: &Forge) {
    let work = fixture.path("work");
    let listed = git_in(&work, &["ls-files", "--others", "--exclude-standard"]);
    let touched = listed.lines().map(|path| Leftover {
        path: path.to_owned(),
        before: None,
        after: Some(Content {
            mode: "100644".to_owned(),
            object: git_in(&work, &["hash-object", "--no-filters", path]),
        }),
    });
    forge.was_handed_over(HandedOver { touched: touched.collect(), ..HandedOver::default() });
}

#[tokio::test]
async fn what_was_there_before_the_agent_began_does_not_come_out() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("package-lock.json", "{}\n");
    for number in 0..300 {
        fixture.change(&format!("node_modules/p{number}/index.js"), format!("{number}\n"));
    }
    hand_over(&fixture, &forge);
    let error = forge.take_change(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(error, ForgeError::NothingChanged), "{error}");
    fixture.change("src/main.rs", "fn main() { run() }\n");
    // Also where it adds all that is there to a commit of its own, as many do.
    fixture.git("work", &["add", "--all"]);
    fixture.git("work", &["commit", "--quiet", "-m", "mine"]);
    let taken = forge.take(key(2), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["src/main.rs"]);
    let names =
        git_in(forge.mirror_path(), &["ls-tree", "-r", "--name-only", taken.commit.as_str()]);
    assert!(!names.contains("package-lock.json") && !names.contains("node_modules"), "{names}");
}

#[tokio::test]
async fn what_the_agent_changed_of_it_comes_out() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    for file in ["package-lock.json", "stays", "moved", "removed", "becomes/a/directory"] {
        fixture.change(file, format!("{file} as it was\n"));
    }
    hand_over(&fixture, &forge);
    fixture.change("package-lock.json", "{\"name\": \"x\"}\n");
    fixture.change("new", "stays as it was\n");
    let work = fixture.path("work");
    fs::copy(work.join("moved"), work.join("moved here")).unwrap();
    fs::remove_file(work.join("moved")).unwrap();
    fs::remove_file(work.join("removed")).unwrap();
    fs::remove_dir_all(work.join("becomes")).unwrap();
    fixture.change("becomes", "a file\n");
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["becomes", "moved here", "new", "package-lock.json"]);
    // A later round in the same sandbox says the same.
    fixture.change("README.md", "later\n");
    let later = forge.take(key(2), &fixture.taking_after(&taken.commit)).await.unwrap();
    assert_eq!(later.paths, ["README.md", "becomes", "moved here", "new", "package-lock.json"]);
}

#[tokio::test]
async fn a_script_inside_that_sends_it_all_the_same_changes_nothing() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("package-lock.json", "{}\n");
    hand_over(&fixture, &forge);
    fixture.change("src/main.rs", "fn main() { run() }\n");
    // Its index cannot be narrowed: another git is found first.
    let work = fixture.path("work");
    git_in(&work, &["add", "--all"]);
    let tree = git_in(&work, &["write-tree"]);
    let packed = std::process::Command::new("sh")
        .args([
            "-c",
            "printf '%s\\n^%s\\n' \"$0\" \"$1^{tree}\" | git pack-objects --revs --stdout --quiet",
        ])
        .args([&tree, fixture.base.as_str()])
        .current_dir(&work)
        .output()
        .unwrap();
    let mut says = format!("lamp-change 1 {tree}\n").into_bytes();
    says.extend(packed.stdout);
    forge.is(crate::sandboxes::Inside::Says(says, 0));
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["src/main.rs"]);
}

#[tokio::test]
async fn a_file_that_a_hook_patched_is_as_in_the_commit_unless_the_agent_went_on_with_it() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let work = fixture.path("work");
    let object = |path: &str| Content {
        mode: "100644".to_owned(),
        object: git_in(&work, &["hash-object", "--no-filters", path]),
    };
    let before = [object("README.md"), object("src/main.rs")];
    fixture.change("README.md", "patched\n");
    fixture.change("src/main.rs", "patched\n");
    let after = [object("README.md"), object("src/main.rs")];
    let touched = ["README.md", "src/main.rs"].into_iter().zip(before).zip(after);
    let touched = touched.map(|((path, before), after)| Leftover {
        path: path.to_owned(),
        before: Some(before),
        after: Some(after),
    });
    forge.was_handed_over(HandedOver { touched: touched.collect(), ..HandedOver::default() });
    fixture.change("src/main.rs", "patched, and changed\n");
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["src/main.rs"]);
}
