//! What each task asked of the world, in a file of its own, of which receipts are made and drift is seen.
//!
//! The log of all exchanges is put aside when it is full, and everybody writes to it: whoever sends enough would push out what others did,
//! and what they did themselves. A book is one task's alone, and nothing is taken out of it. One that is full is not read as if it were
//! whole: its task has no account, and says why.
//!
//! Books stay for good, also when their task is over: a receipt attests the hash of one, and whoever doubts it needs the book. A task that
//! failed or was cancelled may also be retried, and then goes on with it.

use std::{
    fs::OpenOptions,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use domain::id::TaskId;
use egress::broker::ledger::{ExchangeRecord, NotWritten, Record, What};
use serde::{Deserialize, Serialize};

/// Bytes of one book: some hundred thousand exchanges.
const LIMIT: u64 = 32 << 20;

/// Bytes of one line; texts are cut so that none is longer.
const LONGEST: u64 = 8 << 10;

/// Bytes of a name or a sentence.
const TEXT: usize = 300;

/// The books of a server.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    directory: PathBuf,
    limit: u64,
}

/// One exchange, as far as it is accounted for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    pub(crate) phase: String,
    pub(crate) host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<Refusal>,
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) reason: String,
}

impl Books {
    /// In the directory of the way out.
    pub(crate) fn beside(log: &Path) -> Self {
        Self { directory: log.with_file_name("tasks"), limit: LIMIT }
    }

    /// Writes an exchange of a task down; nothing for what else is recorded.
    pub(super) fn write(&self, record: &Record) -> Result<(), NotWritten> {
        let (What::Exchange(exchange), Some(owner)) = (&record.what, &record.owner) else {
            return Ok(());
        };
        let Ok(task) = owner.parse::<TaskId>() else { return Ok(()) };
        self.add(task, &Line::of(record, exchange)).map_err(|error| {
            tracing::error!(%error, %task, "an exchange is not accounted for");
            NotWritten(error.to_string())
        })
    }

    fn add(&self, task: TaskId, line: &Line) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let mut options = OpenOptions::new();
        let mut book = options.append(true).create(true).mode(0o600).open(self.path(task))?;
        if book.metadata()?.len() >= self.limit {
            // It says of itself that it is full, so nothing is lost unseen.
            return Ok(());
        }
        // One call for one line, so that lines of two writers do not mix; and its end comes first, so that one that a crash cut off spoils no
        // other.
        let text = format!("\n{}", serde_json::to_string(line).map_err(io::Error::other)?);
        book.write_all(text.as_bytes())
    }

    /// Shows every exchange of `task` with its line, the oldest first.
    pub(crate) fn each(&self, task: TaskId, mut show: impl FnMut(&Line, &[u8])) -> io::Result<()> {
        let book = match fs_err::File::open(self.path(task)) {
            Ok(book) => book,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if book.metadata()?.len() >= self.limit {
            let what = "the task asked the network for more than can be accounted for";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let mut reader = BufReader::new(book);
        let mut bytes = Vec::new();
        while (&mut reader).take(LONGEST).read_until(b'\n', &mut bytes)? > 0 {
            let text = bytes.trim_ascii_end();
            if let Ok(line) = serde_json::from_slice(text) {
                show(&line, text);
            }
            bytes.clear();
        }
        Ok(())
    }

    fn path(&self, task: TaskId) -> PathBuf {
        self.directory.join(format!("{task}.jsonl"))
    }
}

impl Line {
    fn of(record: &Record, exchange: &ExchangeRecord) -> Self {
        let refusal = exchange
            .refusal
            .as_ref()
            .map(|refusal| Refusal { code: refusal.code.to_owned(), reason: cut(&refusal.reason) });
        Self {
            at: record.at,
            phase: record.phase.unwrap_or_default().to_owned(),
            host: cut(&exchange.host),
            model: exchange.model.as_deref().map(cut),
            refusal,
            bytes: exchange.bytes_up.saturating_add(exchange.bytes_down),
        }
    }
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(TEXT)).unwrap_or_default().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(at: i64, host: &str) -> Line {
        let phase = "implement".to_owned();
        Line { at, phase, host: host.to_owned(), model: None, refusal: None, bytes: 7 }
    }

    pub(crate) fn books(directory: &Path, lines: &[(u128, Line)]) -> Books {
        let books = Books::beside(&directory.join("log.jsonl"));
        for (task, line) in lines {
            books.add(TaskId::from_u128(*task), line).unwrap();
        }
        books
    }

    fn hosts(books: &Books, task: u128) -> io::Result<Vec<String>> {
        let mut hosts = Vec::new();
        books.each(TaskId::from_u128(task), |line, _| hosts.push(line.host.clone()))?;
        Ok(hosts)
    }

    #[test]
    fn a_book_is_of_one_task_and_what_others_do_changes_nothing_in_it() {
        let place = tempfile::tempdir().unwrap();
        let crowd = (0..500).map(|at| (2, line(at, "x.example.com")));
        let own = [(1, line(1, "a.example.com")), (1, line(600, "b.example.com"))];
        let [first, last] = own;
        let all: Vec<_> = [first].into_iter().chain(crowd).chain([last]).collect();
        let books = books(place.path(), &all);
        assert_eq!(hosts(&books, 1).unwrap(), ["a.example.com", "b.example.com"]);
        assert_eq!(hosts(&books, 2).unwrap().len(), 500);
        assert_eq!(hosts(&books, 3).unwrap(), [""; 0], "who asked for nothing");
    }

    #[test]
    fn a_full_book_is_told_and_not_taken_for_a_whole_one() {
        let place = tempfile::tempdir().unwrap();
        let books = Books { limit: 400, ..books(place.path(), &[]) };
        let task = TaskId::from_u128(1);
        for at in 0..100 {
            books.add(task, &line(at, "a.example.com")).unwrap();
        }
        assert!(hosts(&books, 1).unwrap_err().to_string().contains("more than can be accounted"));
        let size = fs_err::metadata(books.path(task)).unwrap().len();
        assert!(size < 600, "it does not grow on: {size}");
    }

    #[test]
    fn a_line_that_a_crash_cut_off_spoils_no_other() {
        let place = tempfile::tempdir().unwrap();
        let books = books(place.path(), &[(1, line(1, "a.example.com"))]);
        let mut book =
            OpenOptions::new().append(true).open(books.path(TaskId::from_u128(1))).unwrap();
        book.write_all(b"\n{\"at\":5,").unwrap();
        books.add(TaskId::from_u128(1), &line(2, "b.example.com")).unwrap();
        assert_eq!(hosts(&books, 1).unwrap(), ["a.example.com", "b.example.com"]);
    }

    #[test]
    fn no_text_makes_a_line_too_long_to_be_read() {
        let place = tempfile::tempdir().unwrap();
        let long = "\u{1}".repeat(10_000);
        let line = Line {
            host: cut(&long),
            model: Some(cut(&long)),
            refusal: Some(Refusal { code: "not_allowed".to_owned(), reason: cut(&long) }),
            ..line(1, "")
        };
        let books = books(place.path(), &[(1, line)]);
        assert_eq!(hosts(&books, 1).unwrap().len(), 1);
    }
}
