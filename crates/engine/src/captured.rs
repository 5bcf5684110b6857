//! One run of one check, as it is kept: how it ended, and what it printed.

use feedback::{
    Exit, Format, Source,
    finding::{Finding, Kind, Tool},
    location::Workspace,
    text::Label,
    verdict,
};
use serde::{Deserialize, Serialize};

/// Bytes of the end of a check's output that people are shown.
const LOG: usize = 16 * 1024;

/// Kept, so that what was read in it can be read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Captured {
    pub(crate) command: String,
    pub(crate) ending: Ending,
    #[serde(with = "text")]
    pub(crate) stdout: Vec<u8>,
    #[serde(with = "text")]
    pub(crate) stderr: Vec<u8>,
    /// What the check wrote into the report that is declared for it.
    pub(crate) report: Option<String>,
    /// The report that is declared for it, where it did not write it.
    #[serde(default)]
    pub(crate) unwritten: Option<String>,
    /// What runners of tests wrote because they were asked to.
    #[serde(default)]
    pub(crate) asked: Option<String>,
    pub(crate) millis: u64,
    pub(crate) place: Place,
}

/// Where the tests of a run are told, the best first. All runs of a check are read from one: two tell of one test under two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// In the report that people declared.
    Declared,
    /// In what runners were asked for.
    Asked,
    Printed,
}

impl Told {
    /// The best in which all of these runs tell of their tests.
    pub(crate) fn of(runs: &[&Captured]) -> Self {
        let is_in = |told: Self| !runs.is_empty() && runs.iter().all(|run| run.is_in(told));
        [Self::Declared, Self::Asked].into_iter().find(|told| is_in(*told)).unwrap_or(Self::Printed)
    }
}

/// Where it ran: tools print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Where the repository was, inside.
    pub(crate) root: String,
    pub(crate) directory: String,
    pub(crate) go_module: Option<String>,
}

impl Place {
    /// The directory, as the sandbox knows it.
    pub(crate) fn inside(&self) -> String {
        match self.directory.as_str() {
            "." => self.root.clone(),
            below => format!("{}/{below}", self.root),
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        let workspace = Workspace::at(&self.root).with_directory(&self.directory);
        match &self.go_module {
            Some(module) => workspace.with_go_module(module),
            None => workspace,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    Exited(i32),
    Killed(i32),
    TimedOut,
    OutOfMemory,
}

/// Output is text, nearly always; what is not is replaced, as every reader does.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        Ok(String::deserialize(deserializer)?.into_bytes())
    }
}

impl Captured {
    /// What is to be judged, of a run by itself.
    pub(crate) fn run(&self) -> verdict::Run {
        self.run_by(Told::of(&[self]))
    }

    /// What is to be judged, where its tests are told there.
    pub(crate) fn run_by(&self, told: Told) -> verdict::Run {
        let exit = self.exit();
        let workspace = self.place.workspace();
        let mut report = match self.written(told) {
            Some(written) => feedback::read_written(&self.said(), written.as_bytes(), &workspace),
            None => feedback::read(&self.said(), &workspace),
        };
        if let Some(written) = self.report.as_ref().filter(|_| told != Told::Declared) {
            let document = feedback::parse(Format::Documents, written.as_bytes(), &workspace);
            // One of a linter tells of no tests. One that does would tell of them once more.
            if document.counts().tests.all() == 0 {
                report.join(document);
            }
        }
        if let Some(path) = &self.unwritten {
            report.find(unwritten(path));
        }
        let ended = match self.ending {
            Ending::OutOfMemory => verdict::Ended::OutOfMemory,
            Ending::Exited(_) | Ending::Killed(_) | Ending::TimedOut => exit.into(),
        };
        verdict::Run { ended, report }
    }

    fn is_in(&self, told: Told) -> bool {
        let source = |written: &String| {
            feedback::source(&self.said(), written.as_bytes(), &self.place.workspace())
        };
        told == Told::Printed || self.written(told).map(source) == Some(Source::Written)
    }

    fn written(&self, told: Told) -> Option<&String> {
        match told {
            Told::Declared => self.report.as_ref(),
            Told::Asked => self.asked.as_ref(),
            Told::Printed => None,
        }
    }

    fn exit(&self) -> Exit {
        match self.ending {
            Ending::Exited(code) => Exit::Code(code),
            Ending::Killed(signal) => Exit::Signal(signal),
            Ending::TimedOut | Ending::OutOfMemory => Exit::TimedOut,
        }
    }

    fn said(&self) -> feedback::Run<'_> {
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        feedback::Run { command: &self.command, exit: self.exit(), stdout, stderr }
    }

    /// The end of what it printed, for people.
    pub(crate) fn log(&self) -> String {
        log(&self.stdout, &self.stderr)
    }
}

/// A report that is not there is told, and not passed over: whoever declared it believes that it is read.
fn unwritten(path: &str) -> Finding {
    let message = format!(
        "the report `{path}` is declared for this check, and the check did not write it; only what it printed was read"
    );
    Finding::new(Kind::Warning, Tool::Named(Label::new("lamplighter")), &message)
}

/// The end of both streams, the errors last.
pub(crate) fn log(stdout: &[u8], stderr: &[u8]) -> String {
    let end = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let start = text.len().saturating_sub(LOG / 2);
        let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.get(start..).unwrap_or_default().to_owned()
    };
    let (out, error) = (end(stdout), end(stderr));
    if error.is_empty() { out } else { format!("{out}\n{error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "F.\n=== short test summary info ===\nFAILED tests/test_a.py::test_one - assert 1 == 2\n1 failed, 1 passed in 0.10s\n";
    const XML: &str = r#"<testsuites><testsuite name="pytest" tests="2"><testcase classname="tests.test_a" name="test_one"><failure message="assert 1 == 2">E  assert 1 == 2</failure></testcase><testcase classname="tests.test_a" name="test_two"/></testsuite></testsuites>"#;

    fn captured(report: Option<&str>, asked: Option<&str>) -> Captured {
        Captured {
            command: "pytest -q".to_owned(),
            ending: Ending::Exited(1),
            stdout: TEXT.as_bytes().to_vec(),
            stderr: Vec::new(),
            report: report.map(str::to_owned),
            unwritten: None,
            asked: asked.map(str::to_owned),
            millis: 1,
            place: Place { root: "/src".to_owned(), directory: ".".to_owned(), go_module: None },
        }
    }

    #[test]
    fn a_test_that_is_printed_and_written_is_one_test() {
        for run in
            [captured(Some(XML), None), captured(None, Some(XML)), captured(Some(XML), Some(XML))]
        {
            let report = run.run().report;
            let counts = report.counts().tests;
            assert_eq!((counts.passed, counts.failed, report.tests().len()), (1, 1, 2));
        }
    }

    #[test]
    fn all_runs_of_a_check_are_read_from_one_source() {
        let (written, asked, printed) =
            (captured(Some(XML), Some(XML)), captured(None, Some(XML)), captured(None, None));
        assert_eq!(Told::of(&[&written, &written]), Told::Declared);
        assert_eq!(Told::of(&[&written, &asked]), Told::Asked);
        assert_eq!(Told::of(&[&written, &asked, &printed]), Told::Printed);
        // A report of one of two runs says less than what was printed.
        let twice = Captured { stdout: TEXT.repeat(2).into_bytes(), ..captured(None, Some(XML)) };
        assert_eq!(Told::of(&[&twice]), Told::Printed);
    }

    #[test]
    fn a_declared_report_that_was_not_written_is_told() {
        let run = Captured { unwritten: Some("junit.xml".to_owned()), ..captured(None, None) };
        let report = run.run().report;
        let told =
            report.findings().iter().any(|it| it.message.contains("`junit.xml` is declared"));
        assert!(told, "{:?}", report.findings());
    }

    #[test]
    fn what_an_older_version_kept_is_still_read() {
        let kept = r#"{"command":"pytest","ending":{"exited":0},"stdout":"","stderr":"","report":null,"millis":1,"place":{"root":"/src","directory":".","go_module":null}}"#;
        let read: Captured = serde_json::from_str(kept).unwrap();
        assert_eq!((read.asked, read.unwritten), (None, None));
    }
}
