//! Help, the version, and what happens to a slip of the finger.

use crate::world::World;

fn story(line: &str) -> String {
    World::new().lamp(line).story()
}

#[test]
fn help_is_grouped() {
    insta::assert_snapshot!(story("--help"));
    assert_eq!(story("-h"), story("--help"));
    assert_eq!(story("help"), story("--help"));
}

#[test]
fn no_word_at_all_shows_the_help_and_is_wrong_usage() {
    let ended = World::new().lamp("");
    assert_eq!(ended.code(), Some(2));
    assert_eq!(ended.err(), World::new().lamp("--help").out());
    assert_eq!(ended.out(), "");
}

/// What each page says is shown in `cli.rs`.
#[test]
fn a_command_is_explained_by_help_and_by_its_flag() {
    for command in ["run", "pr merge", "sandbox run", "completions"] {
        let page = story(&format!("help {command}"));
        assert!(page.starts_with("exit 0\n--- out\n"), "{page}");
        assert!(page.contains(&format!("Usage: lamp {command} ")), "{page}");
        assert_eq!(page, story(&format!("{command} --help")));
    }
}

#[test]
fn the_version_is_one_line() {
    insta::assert_snapshot!(story("version"), @r"
    exit 0
    --- out
    lamp [version]
    ");
    assert_eq!(story("--version"), story("version"));
    assert_eq!(story("-V"), story("version"));
}

#[test]
fn the_version_is_json_for_programs() {
    let ended = World::new().lamp("version --json");
    let json: serde_json::Value = serde_json::from_str(&ended.out()).unwrap();
    assert_eq!(json["name"], "lamp");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["system"].is_string() && json["architecture"].is_string());
}

#[test]
fn a_misspelt_command_is_answered_with_the_right_one() {
    insta::assert_snapshot!(story("docter"), @r"
    exit 2
    --- err
    error: unrecognized subcommand 'docter'

      tip: a similar subcommand exists: 'doctor'

    Usage: lamp [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_flag_is_wrong_usage() {
    insta::assert_snapshot!(story("version --colour never"), @r"
    exit 2
    --- err
    error: unexpected argument '--colour' found

      tip: a similar argument exists: '--color'

    Usage: lamp version --color <WHEN>

    For more information, try '--help'.
    ");
}

#[test]
fn a_value_that_is_not_a_colour_choice_is_wrong_usage() {
    insta::assert_snapshot!(story("--color purple version"), @r"
    exit 2
    --- err
    error: invalid value 'purple' for '--color <WHEN>'
      [possible values: auto, always, never]

    For more information, try '--help'.
    ");
}

#[test]
fn a_command_that_finds_no_file_says_so() {
    insta::assert_snapshot!(story("config check"), @r"
    exit 1
    --- err
    error: there is no `lamp.yaml` and no agent in `agents/` here
    hint: name the files, as `lamp config check agents/fix.yaml`, or go to where they are
    ");
}

#[test]
fn the_child_of_doctor_is_not_a_command() {
    insta::assert_snapshot!(story("__attempt everything"), @r"
    exit 2
    --- err
    error: unrecognized subcommand '__attempt'

    Usage: lamp [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    for shell in ["bash", "zsh", "fish"] {
        assert!(!World::new().lamp(&format!("completions {shell}")).out().contains("__attempt"));
    }
}
