//! Reads a file with line numbers, or lists a directory.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::Deserialize;

use super::{Outcome, place};
use crate::cut;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    path: String,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    lines: Option<u64>,
}

const USUAL_LINES: u64 = 400;
const MOST_LINES: u64 = 2000;
const LONGEST_LINE: usize = 1000;
/// What lies behind this in a file is not reached; a range there needs `shell`.
const DEEPEST: u64 = 64 << 20;
const MOST_NAMES: usize = 500;
const LOOKED_AT: usize = 8 << 10;

pub(super) fn run(wish: &Wish, root: &Path, most: usize) -> Outcome {
    match look(wish, root, most) {
        Ok(text) => Outcome::done(text),
        Err(why) => Outcome::failed(why),
    }
}

fn look(wish: &Wish, root: &Path, most: usize) -> Result<String, String> {
    let path = place::to_read(root, &wish.path)?;
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {error}", wish.path);
    let file = open(&path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return list(&path).map_err(failed);
    }
    if !about.is_file() {
        return Err(format!("`{}` is neither a file nor a directory", wish.path));
    }
    let from = wish.from.unwrap_or(1).max(1);
    let count = wish.lines.unwrap_or(USUAL_LINES).clamp(1, MOST_LINES);
    let mut reader = BufReader::with_capacity(LOOKED_AT, file.take(DEEPEST));
    if reader.fill_buf().map_err(failed)?.contains(&0) {
        return Err(format!("`{}` is not text; it has {} bytes", wish.path, about.len()));
    }
    numbered(&mut reader, from, count, most).map_err(failed)
}

/// A pipe or a device must not keep us waiting.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn numbered(
    reader: &mut impl std::io::BufRead,
    from: u64,
    count: u64,
    most: usize,
) -> std::io::Result<String> {
    let mut told: Vec<String> = Vec::new();
    let mut bytes = 0;
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        // Of a line without an end only the begin is kept.
        let length = reader.by_ref().take(LONGEST_LINE as u64 * 4).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
        }
        number += 1;
        if number < from {
            continue;
        }
        if number >= from.saturating_add(count) || bytes > most.saturating_sub(LONGEST_LINE + 100) {
            told.push(format!("[more follows; go on with from = {number}]\n"));
            return Ok(told.concat());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let line = format!("{number:>5}\t{}\n", cut::middle(text, LONGEST_LINE));
        bytes += line.len();
        told.push(line);
    }
    if told.is_empty() {
        return Ok(match number {
            0 => "[the file is empty]".to_owned(),
            lines => format!("[the file has only {lines} lines]"),
        });
    }
    Ok(told.concat())
}

fn list(path: &Path) -> std::io::Result<String> {
    let mut names = Vec::new();
    for entry in path.read_dir()?.take(MOST_NAMES * 10) {
        let entry = entry?;
        let end = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{end}", cut::line(&entry.file_name().to_string_lossy(), 300)));
    }
    names.sort();
    let left_out = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    if left_out > 0 {
        names.push(format!("[… {left_out} more …]"));
    }
    if names.is_empty() {
        names.push("[the directory is empty]".to_owned());
    }
    Ok(names.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::End;

    fn read(root: &Path, path: &str, from: Option<u64>, lines: Option<u64>) -> Outcome {
        run(&Wish { path: path.to_owned(), from, lines }, root, 30_000)
    }

    #[test]
    fn lines_have_numbers_and_ranges() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a"), "one\r\ntwo\nthree").unwrap();
        assert_eq!(
            read(home.path(), "a", None, None).text,
            "    1\tone\n    2\ttwo\n    3\tthree\n"
        );
        let part = read(home.path(), "a", Some(2), Some(1));
        assert_eq!(part.text, "    2\ttwo\n[more follows; go on with from = 3]\n");
        assert_eq!(read(home.path(), "a", Some(9), None).text, "[the file has only 3 lines]");
        assert!(read(home.path(), ".", None, None).text.contains('a'));
    }

    #[test]
    fn what_is_no_text_or_no_file_is_told() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("binary"), [0, 159, 146]).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            home.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for (path, told) in [
            ("binary", "is not text; it has 3 bytes"),
            ("pipe", "is neither a file nor a directory"),
            ("/dev/zero", "is neither a file nor a directory"),
            ("missing", "cannot be read"),
            ("", "the path must have"),
        ] {
            let outcome = read(home.path(), path, None, None);
            assert_eq!(outcome.end, End::Failed);
            assert!(outcome.text.contains(told), "{path}: {}", outcome.text);
        }
    }

    #[test]
    fn giant_lines_and_files_stay_small() {
        let home = tempfile::tempdir().unwrap();
        let giant = format!("{}\nsecond\n", "x".repeat(10 << 20));
        std::fs::write(home.path().join("line"), giant).unwrap();
        let outcome = read(home.path(), "line", None, None);
        assert!(outcome.text.len() < 2000);
        assert!(outcome.text.ends_with("    2\tsecond\n"), "{}", outcome.text);
        std::fs::write(home.path().join("lines"), "0123456789\n".repeat(100_000)).unwrap();
        let outcome = read(home.path(), "lines", None, Some(2000));
        assert!(outcome.text.len() < 40_000, "{}", outcome.text.len());
        assert!(outcome.text.contains("go on with from ="));
    }
}
