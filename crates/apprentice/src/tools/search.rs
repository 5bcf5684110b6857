//! Finds lines in the files of the tree. Limits in files, bytes, hits and time; links are not followed.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use super::{Outcome, place, read};
use crate::{
    cut,
    stop::{Stop, Stopped},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    pattern: String,
    #[serde(default)]
    plain: bool,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    ending: Option<String>,
}

/// What nobody means when they search a tree.
const LEFT_OUT: [&str; 8] =
    [".git", ".hg", ".svn", "target", "node_modules", ".venv", "__pycache__", ".lamp-agent"];

const LONGEST_PATTERN: usize = 2000;
const LARGEST_FILE: u64 = 2 << 20;
const MOST_ENTRIES: usize = 200_000;
const MOST_HITS: usize = 200;
const DEEPEST: usize = 64;
const LONGEST_LINE: usize = 300;
/// Of a longer line only the begin is looked at.
const SEARCHED_OF_A_LINE: usize = 4000;
/// After this many bytes it is looked whether it is still wanted.
const AT_ONCE: usize = 16 << 10;
/// In bytes, as the library counts them. The time for a line grows with it.
const LARGEST_EXPRESSION: usize = 64 << 10;
const TIME: Duration = Duration::from_secs(20);

pub(super) fn run(wish: &Wish, root: &Path, most: usize, stop: &Stop) -> Result<Outcome, Stopped> {
    let pattern = match Pattern::new(wish) {
        Ok(pattern) => pattern,
        Err(why) => return Ok(Outcome::failed(why)),
    };
    let place = match place::to_read(root, wish.path.as_deref().unwrap_or(".")) {
        Ok(place) => place,
        Err(why) => return Ok(Outcome::failed(why)),
    };
    if let Err(error) = place.symlink_metadata() {
        return Ok(Outcome::failed(format!("there is nothing to search: {error}")));
    }
    let mut search = Search {
        pattern,
        ending: wish.ending.clone().unwrap_or_default(),
        root,
        most,
        hits: Vec::new(),
        bytes: 0,
        entries: 0,
        end: Instant::now() + TIME,
        stop,
    };
    let note = match search.through(place) {
        Ok(()) if search.hits.is_empty() => Some("[nothing found]"),
        Ok(()) => None,
        Err(Enough::Stopped(stopped)) => return Err(stopped),
        Err(Enough::Full) => Some("[there is more; search for something narrower]"),
        Err(Enough::Late) => Some("[it took too long; search in a part of the tree]"),
    };
    search.hits.extend(note.map(ToOwned::to_owned));
    Ok(Outcome::done(search.hits.join("\n")))
}

enum Pattern {
    Plain(String),
    Regular(Regex),
}

impl Pattern {
    fn new(wish: &Wish) -> Result<Self, String> {
        if wish.pattern.is_empty() || wish.pattern.len() > LONGEST_PATTERN {
            return Err(format!("a pattern has 1 to {LONGEST_PATTERN} bytes"));
        }
        if wish.plain {
            return Ok(Self::Plain(wish.pattern.clone()));
        }
        let regular =
            RegexBuilder::new(&wish.pattern).size_limit(LARGEST_EXPRESSION).nest_limit(50).build();
        regular.map(Self::Regular).map_err(|error| {
            let error = cut::line(&error.to_string(), 300);
            format!("the pattern is no regular expression: {error}; set `plain` for plain text")
        })
    }

    fn is_in(&self, line: &str) -> bool {
        match self {
            Self::Plain(text) => line.contains(text),
            Self::Regular(regular) => regular.is_match(line),
        }
    }
}

/// Why it ended before it saw everything.
enum Enough {
    Full,
    Late,
    Stopped(Stopped),
}

struct Search<'a> {
    pattern: Pattern,
    ending: String,
    root: &'a Path,
    most: usize,
    hits: Vec<String>,
    bytes: usize,
    entries: usize,
    end: Instant,
    stop: &'a Stop,
}

impl Search<'_> {
    fn through(&mut self, place: PathBuf) -> Result<(), Enough> {
        let mut waiting = vec![(place, 0)];
        while let Some((path, depth)) = waiting.pop() {
            self.go_on()?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(Enough::Full);
            }
            let Ok(about) = path.symlink_metadata() else { continue };
            // The place that was asked for may be a link.
            let is_file = about.is_file() || (depth == 0 && path.is_file());
            let is_directory = about.is_dir() || (depth == 0 && path.is_dir());
            if is_file && about.len() <= LARGEST_FILE {
                self.file(&path)?;
            }
            if is_directory && depth < DEEPEST {
                let mut inside: Vec<PathBuf> = path
                    .read_dir()
                    .into_iter()
                    .flatten()
                    .filter_map(|entry| Some(entry.ok()?.path()))
                    .filter(|path| !path.file_name().is_some_and(is_left_out))
                    .take(MOST_ENTRIES)
                    .collect();
                // The last is looked at first.
                inside.sort_unstable_by(|one, other| other.cmp(one));
                waiting.extend(inside.into_iter().map(|path| (path, depth + 1)));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), Enough> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if !name.ends_with(&self.ending) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let opened = read::open(path);
        let was_read = opened.and_then(|file| file.take(LARGEST_FILE).read_to_end(&mut bytes));
        let is_text = !bytes.iter().take(8 << 10).any(|byte| *byte == 0);
        if was_read.is_err() || !is_text {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&bytes);
        let shown = path.strip_prefix(self.root).unwrap_or(path);
        let shown = cut::line(shown.to_string_lossy().trim_start_matches("./"), 300);
        let mut looked_at = 0;
        for (at, line) in text.lines().enumerate() {
            looked_at += line.len().min(SEARCHED_OF_A_LINE) + 1;
            if looked_at > AT_ONCE {
                looked_at = 0;
                self.go_on()?;
            }
            let begin = cut::pieces(line, SEARCHED_OF_A_LINE).next().unwrap_or("");
            if !self.pattern.is_in(begin) {
                continue;
            }
            let hit = format!("{shown}:{}: {}", at + 1, cut::line(line.trim_end(), LONGEST_LINE));
            self.bytes += hit.len() + 1;
            if self.hits.len() >= MOST_HITS || self.bytes + 100 > self.most {
                return Err(Enough::Full);
            }
            self.hits.push(hit);
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Enough> {
        self.stop.check().map_err(Enough::Stopped)?;
        if Instant::now() > self.end { Err(Enough::Late) } else { Ok(()) }
    }
}

fn is_left_out(name: &std::ffi::OsStr) -> bool {
    LEFT_OUT.iter().any(|left_out| name == *left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::End;

    fn search(root: &Path, pattern: &str, change: impl FnOnce(&mut Wish)) -> Outcome {
        let mut wish = Wish { pattern: pattern.to_owned(), plain: false, path: None, ending: None };
        change(&mut wish);
        run(&wish, root, 20_000, &Stop::default()).unwrap()
    }

    fn tree() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/a.rs", "fn add() {}\nfn sub() {}\n"),
            ("src/b.txt", "fn add\n"),
            (".git/x", "fn add"),
            ("node_modules/m/x.js", "fn add"),
            ("binary", "fn add\0"),
        ] {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("..", home.path().join("src/loop")).unwrap();
        home
    }

    #[test]
    fn lines_are_found_by_expression_and_by_text() {
        let home = tree();
        let all = search(home.path(), "fn (add|sub)", |_| {});
        assert_eq!(
            all.text,
            "src/a.rs:1: fn add() {}\nsrc/a.rs:2: fn sub() {}\nsrc/b.txt:1: fn add"
        );
        let plain = search(home.path(), "add()", |wish| wish.plain = true);
        assert_eq!(plain.text, "src/a.rs:1: fn add() {}");
        let ending = search(home.path(), "add", |wish| wish.ending = Some(".txt".to_owned()));
        assert_eq!(ending.text, "src/b.txt:1: fn add");
        let one = search(home.path(), "sub", |wish| wish.path = Some("src/a.rs".to_owned()));
        assert_eq!(one.text, "src/a.rs:2: fn sub() {}");
        assert_eq!(search(home.path(), "mul", |_| {}).text, "[nothing found]");
    }

    #[test]
    fn what_cannot_be_searched_is_told() {
        let home = tree();
        for (pattern, path, told) in [
            ("(", ".", "no regular expression"),
            ("", ".", "a pattern has"),
            ("a", "missing", "nothing to search"),
            ("(((((a{1000}){1000}){1000}", ".", "no regular expression"),
        ] {
            let outcome = search(home.path(), pattern, |wish| wish.path = Some(path.to_owned()));
            assert_eq!(outcome.end, End::Failed);
            assert!(outcome.text.contains(told), "{}", outcome.text);
        }
        assert!(search(home.path(), &"(".repeat(1000), |_| {}).end == End::Failed);
    }

    #[test]
    fn many_hits_are_cut_and_said_so() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a"), "hit\n".repeat(5000)).unwrap();
        let outcome = search(home.path(), "hit", |_| {});
        assert_eq!(outcome.text.lines().count(), MOST_HITS + 1);
        assert!(outcome.text.ends_with("[there is more; search for something narrower]"));
    }

    #[test]
    fn a_stop_ends_the_slowest_search_soon() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a"), format!("{}\n", "a".repeat(4000)).repeat(400))
            .unwrap();
        // As slow as an expression of this size can be: all of its states live at every place.
        let pattern = format!("(?:{})b", "a?".repeat(600));
        let wish = Wish { pattern, plain: false, path: None, ending: None };
        let stop = Stop::default();
        std::thread::scope(|scope| {
            let searching = scope.spawn(|| run(&wish, home.path(), 1000, &stop));
            stop.wait(Duration::from_millis(200)).unwrap();
            stop.stop();
            let stopped = Instant::now();
            let found = searching.join().unwrap();
            assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
            assert_eq!(found, Err(Stopped), "it was not slow");
        });
    }

    #[test]
    fn a_stop_ends_it() {
        let home = tree();
        let stop = Stop::default();
        stop.stop();
        let wish = Wish { pattern: "a".to_owned(), plain: true, path: None, ending: None };
        assert_eq!(run(&wish, home.path(), 1000, &stop), Err(Stopped));
    }
}
