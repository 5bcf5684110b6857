//! What every report promises, whoever spoke: limits, and no path that leaves the workspace.

use feedback::{
    Exit, Format, Run, parse,
    location::{Location, Workspace},
    read,
    report::{MOST_FINDINGS, MOST_TESTS, Report},
    text::{DETAILS_BYTES, LABEL_BYTES, MESSAGE_BYTES},
};

/// Reads the bytes in each language, and as whatever they look like, with the first half on one stream and the rest on the other.
pub fn try_all(formats: &[Format], bytes: &[u8]) {
    let workspace = Workspace::at("/home/dev/src").with_directory("a").with_go_module("demo");
    for format in formats {
        check(&parse(*format, bytes, &workspace));
    }
    let (stdout, stderr) = bytes.split_at(bytes.len() / 2);
    for (stdout, stderr) in [(bytes, &[][..]), (stdout, stderr)] {
        let report =
            read(&Run { command: "make test", exit: Exit::Code(1), stdout, stderr }, &workspace);
        assert!(!report.findings().is_empty(), "a check that failed says so");
        check(&report);
    }
}

fn check(report: &Report) {
    assert!(report.findings().len() <= MOST_FINDINGS && report.tests().len() <= MOST_TESTS);
    for finding in report.findings() {
        assert!(finding.message.len() <= MESSAGE_BYTES);
        for side in [&finding.expected, &finding.actual].into_iter().flatten() {
            assert!(!side.is_empty() && side.len() <= MESSAGE_BYTES);
        }
        assert!(finding.details.as_ref().is_none_or(|details| details.len() <= DETAILS_BYTES));
        assert!(finding.rule.as_ref().is_none_or(|rule| rule.len() <= LABEL_BYTES));
        check_place(&finding.place);
    }
    for test in report.tests() {
        assert_eq!(report.test(&test.name), Some(test));
        check_place(&test.place);
    }
    for limit in [0, 300, 20_000] {
        let brief = report.brief(limit);
        assert!(brief.len() <= limit);
        assert!(
            !brief
                .contains(|character: char| character.is_control() && !"\n\t".contains(character))
        );
    }
}

fn check_place(place: &Location) {
    if let Some(file) = place.file() {
        assert!(file.as_str().split('/').all(|part| !["", ".", ".."].contains(&part)), "{file}");
        assert!(place.line() != Some(0) && place.column() != Some(0));
    }
}
