//! Our sentence, as git prints it.
//!
//! A push that is refused after its list was read is answered as a server answers that takes the pack and none of the updates:
//!
//! ```text
//!  remote: `main` is not this task's to push; push to `agent/fix`
//!   ! [remote rejected] main -> main (`main` is not this task's to push; …)
//! ```
//!
//! A push that could not be read is answered on the band for errors, which git prints as `remote: …` before it gives up; everything
//! else with an `ERR` line, which git prints as `fatal: remote error: …`. All of it goes out with status 200,
//! because git does not read the body of any other.

use super::commands::CommandList;
use crate::readers::packet_line;

/// The longest sentence that is sent.
const SENTENCE_LIMIT: usize = 900;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
}

/// A body with its type. The status is 200, and it is not cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// In answer to `GET …/info/refs?service=…`.
pub fn of_references(service: Service, sentence: &str) -> Answer {
    let (content_type, first): (_, &[u8]) = match service {
        Service::UploadPack => {
            ("application/x-git-upload-pack-advertisement", b"# service=git-upload-pack\n")
        }
        Service::ReceivePack => {
            ("application/x-git-receive-pack-advertisement", b"# service=git-receive-pack\n")
        }
    };
    let mut body = Vec::new();
    line(first, &mut body);
    body.extend_from_slice(packet_line::FLUSH);
    error_line(sentence, &mut body);
    body.extend_from_slice(packet_line::FLUSH);
    Answer { content_type, body }
}

/// In answer to `POST …/git-upload-pack`.
pub fn of_fetch(sentence: &str) -> Answer {
    let mut body = Vec::new();
    error_line(sentence, &mut body);
    Answer { content_type: "application/x-git-upload-pack-result", body }
}

/// In answer to `POST …/git-receive-pack`, with the list if it was read.
pub fn of_push(list: Option<&CommandList>, sentence: &str) -> Answer {
    let content_type = "application/x-git-receive-pack-result";
    let reports = |list: &&CommandList| list.has("report-status") || list.has("report-status-v2");
    let mut body = Vec::new();
    let Some(list) = list.filter(reports).filter(|list| !list.commands.is_empty()) else {
        // Whoever could not be understood is taken for a git of today, which listens on the band for errors.
        line(format!("\u{3}{}\n", tidy(sentence)).as_bytes(), &mut body);
        return Answer { content_type, body };
    };
    let sentence = tidy(sentence);
    let mut report = Vec::new();
    line(b"unpack ok\n", &mut report);
    for command in &list.commands {
        line(format!("ng {} {sentence}\n", command.reference).as_bytes(), &mut report);
    }
    report.extend_from_slice(packet_line::FLUSH);
    if list.has("side-band-64k") {
        line(format!("\u{2}{sentence}\n").as_bytes(), &mut body);
        // A sideband packet holds far more than sixteen short lines.
        line(&[&[1], report.as_slice()].concat(), &mut body);
        body.extend_from_slice(packet_line::FLUSH);
    } else {
        body = report;
    }
    Answer { content_type, body }
}

fn error_line(sentence: &str, out: &mut Vec<u8>) {
    line(format!("ERR {}", tidy(sentence)).as_bytes(), out);
}

/// What is too long for a line is not sent; our lines are short.
fn line(bytes: &[u8], out: &mut Vec<u8>) {
    let _ = packet_line::write(bytes, out);
}

/// One line that does nothing to a terminal.
fn tidy(sentence: &str) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    sentence.chars().map(plain).take(SENTENCE_LIMIT).collect()
}
