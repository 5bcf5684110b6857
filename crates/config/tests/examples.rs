//! Every file in `examples/` is right, and says what it seems to say.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, outside of any test function"
)]

use std::path::{Path, PathBuf};

use config::{Checked, check};
use domain::policy::{Effective, Layer, effective};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn read(name: &str) -> Checked {
    let text = fs_err::read_to_string(examples().join(name)).unwrap();
    check(&format!("examples/{name}"), &text).unwrap_or_else(|invalid| panic!("{invalid}"))
}

fn layer(file: &Checked) -> Layer {
    match file {
        Checked::Agent(file) => file.layer(),
        Checked::Server(file) => file.layer(),
        Checked::Policy(file) => file.layer(),
    }
}

fn agents() -> Vec<String> {
    let entries = fs_err::read_dir(examples().join("agents")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| format!("agents/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    names.sort();
    names
}

#[test]
fn all_of_them_are_read() {
    let names = [vec!["lamp.yaml".to_owned(), "policy.yaml".to_owned()], agents()].concat();
    let told: Vec<String> =
        names.iter().map(|name| format!("{name}: {}", read(name).kind())).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    lamp.yaml: server
    policy.yaml: policy
    agents/fix-issue.yaml: agent
    agents/oncall-assistant.yaml: agent
    agents/update-dependencies.yaml: agent
    ");
}

/// What a file says, written out with its defaults, is a file that says the same.
#[test]
fn each_written_out_reads_the_same() {
    for name in [vec!["lamp.yaml".to_owned(), "policy.yaml".to_owned()], agents()].concat() {
        let file = read(&name);
        let again = check(&name, &file.to_json().to_string());
        assert_eq!(again.as_ref(), Ok(&file), "{name}");
    }
}

#[test]
fn together_they_make_a_policy_without_vain_wishes() {
    let (organisation, platform) = (layer(&read("policy.yaml")), layer(&read("lamp.yaml")));
    for name in agents() {
        let below = [platform.clone(), layer(&read(&name))];
        let Effective { widenings, .. } = effective(&organisation, &below);
        let told: Vec<String> = widenings.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{name}: {}", told.join("; "));
    }
}
