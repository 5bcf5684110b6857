//! Colours, closed streams, readers that leave, disks that are full.

use std::{fs::OpenOptions, process::Stdio};

use crate::world::World;

const ESCAPE: char = '\u{1b}';

#[test]
fn a_pipe_gets_no_colour() {
    for line in ["--help", "version", "doctor --data .", "docter"] {
        let ended = World::new().lamp(line);
        assert!(!ended.out().contains(ESCAPE) && !ended.err().contains(ESCAPE), "{line}");
    }
}

#[test]
fn colour_comes_where_it_is_asked_for() {
    for line in ["--color always --help", "doctor --data . --color=always"] {
        assert!(World::new().lamp(line).out().contains(ESCAPE), "{line}");
    }
    assert!(World::new().lamp("--color=always docter").err().contains(ESCAPE));
}

#[test]
fn no_color_is_respected_and_a_flag_comes_before_it() {
    let world = World::new();
    let run = |line| world.command(line).env("NO_COLOR", "1").output().unwrap();
    let escape = u8::try_from(ESCAPE).unwrap();
    assert!(!run("--help").stdout.contains(&escape));
    assert!(!run("--color never --help").stdout.contains(&escape));
    assert!(run("--color always --help").stdout.contains(&escape));
}

#[test]
fn a_reader_that_left_is_no_error_to_talk_about() {
    for line in ["--help", "version --json", "doctor --data .", "completions bash"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = World::new().command(line).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{line}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{line}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = World::new().command("version").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"error: cannot write the output: No space left on device (os error 28)");
}

#[test]
fn closed_streams_do_not_make_it_fall() {
    let lamp = env!("CARGO_BIN_EXE_lamp");
    for (redirection, line, code) in
        [(">&-", "version", 0), ("2>&-", "docter", 2), ("<&- >&- 2>&-", "--help", 0)]
    {
        let status = std::process::Command::new("sh")
            .args(["-c", &format!("exec '{lamp}' {line} {redirection}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{line} {redirection}");
    }
}
