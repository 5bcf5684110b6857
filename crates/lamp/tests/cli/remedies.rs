//! What a failure tells a person to type is something that `lamp` knows.

use domain::failure::FailureKind;

use crate::world::World;

#[test]
fn every_command_in_a_remedy_exists_with_its_options() {
    let world = World::new();
    let mut tried = 0;
    for kind in FailureKind::ALL {
        let remedy = kind.remedy();
        let quoted = remedy.split('`').skip(1).step_by(2);
        let commands = quoted.filter_map(|words| words.strip_prefix("lamp "));
        for command in commands {
            let words = command.split(' ').take_while(|word| !word.starts_with('-'));
            let words: Vec<&str> = words.collect();
            let help = world.lamp(&format!("{} --help", words.join(" ")));
            assert_eq!(help.code(), Some(0), "{}: `lamp {command}`: {}", kind.name(), help.err());
            for option in command.split(' ').filter(|word| word.starts_with("--")) {
                assert!(help.out().contains(option), "{}: {option}: {}", kind.name(), help.out());
            }
            tried += 1;
        }
    }
    assert!(tried >= FailureKind::ALL.len(), "every failure names a command: {tried}");
}
