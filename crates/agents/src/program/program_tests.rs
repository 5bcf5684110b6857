//! What each program is started with, as it can be read.

use super::*;

const URL: &str = "http://model.lamp.internal/here";

fn wish<'a>(endpoint: &'a Endpoint, session: Option<&'a str>) -> Wish<'a> {
    Wish {
        mode: Mode::Implement,
        model: "some-model",
        endpoint: Some(endpoint),
        session,
        command: Some("./work.sh"),
    }
}

fn told(launch: &Launch) -> String {
    let mut told = format!("{}\n", launch.argv.join(" "));
    for (name, value) in &launch.environment {
        told.extend([name, "=", value, "\n"]);
    }
    for file in &launch.files {
        told.extend(["~/", file.path, "\n", file.text.trim_end(), "\n"]);
    }
    told + &format!("input: {:?}", launch.input)
}

#[test]
fn each_program_is_started_as_its_file_says() {
    for program in ALL {
        let format = program.formats.first().copied().unwrap_or(Format::OpenAiChat);
        let endpoint = Endpoint { format, url: URL.to_owned() };
        let fresh = told(&(program.launch)(&wish(&endpoint, None)));
        insta::assert_snapshot!(program.name, fresh);
        let again = told(&(program.launch)(&wish(&endpoint, Some("the-session"))));
        let by_protocol = matches!(program.speech, Speech::Acp | Speech::Plain);
        assert_eq!(again.contains("the-session"), !by_protocol, "{}", program.name);
    }
}

#[test]
fn a_program_in_a_reading_phase_is_told_so() {
    let endpoint = Endpoint { format: Format::OpenAiChat, url: URL.to_owned() };
    for mode in [Mode::Research, Mode::Plan, Mode::Review] {
        let launch = (opencode::PROGRAM.launch)(&Wish { mode, ..wish(&endpoint, None) });
        assert!(launch.files[0].text.contains(r#""edit":"deny""#), "{mode:?}");
    }
}

#[test]
fn no_program_takes_hooks_servers_or_extensions_from_the_repository() {
    let asked = [
        ("claude-code", "--setting-sources user --strict-mcp-config"),
        ("opencode", "OPENCODE_DISABLE_PROJECT_CONFIG=1"),
        ("gemini", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/home/lamp/.gemini/platform.json"),
        ("gemini", "\"hooksConfig\":{\"enabled\":false}"),
        ("qwen", "--safe-mode"),
        ("pi", "\"defaultProjectTrust\":\"never\""),
    ];
    for (name, words) in asked {
        let program = Program::named(name).unwrap();
        let format = program.formats.first().copied().unwrap();
        let endpoint = Endpoint { format, url: URL.to_owned() };
        for mode in Mode::ALL {
            let launch = (program.launch)(&Wish { mode, ..wish(&endpoint, None) });
            assert!(told(&launch).contains(words), "{name} {mode:?}: {}", told(&launch));
        }
    }
}

#[test]
fn names_and_versions_are_exact() {
    for program in ALL {
        assert!(Program::named(program.name).is_some_and(|found| found.title == program.title));
        for package in program.packages {
            let is_plain = package.version.split('.').all(|part| part.parse::<u32>().is_ok());
            assert!(is_plain, "{} {}", package.name, package.version);
        }
        for place in program.memory {
            assert!(!place.starts_with('/') && !place.contains(".."), "{place}");
        }
    }
    assert!(Program::named("nobody").is_none());
}
