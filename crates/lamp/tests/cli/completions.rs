//! `lamp completions`.

use std::process::{Command, Stdio};

use crate::world::World;

#[test]
fn each_shell_gets_a_script_that_names_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = World::new().lamp(&format!("completions {shell}"));
        assert_eq!(ended.code(), Some(0), "{shell}");
        assert_eq!(ended.err(), "", "{shell}");
        for word in ["doctor", "config", "version", "--color"] {
            let spelt = word.trim_start_matches('-');
            assert!(ended.out().contains(spelt), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn bash_accepts_its_script() {
    let world = World::new();
    world.write("lamp.bash", world.lamp("completions bash").out());
    let status = Command::new("bash")
        .args(["-n", "lamp.bash"])
        .current_dir(world.path())
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn an_unknown_shell_is_wrong_usage() {
    insta::assert_snapshot!(World::new().lamp("completions tcsh").story(), @r"
    exit 2
    --- err
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}
