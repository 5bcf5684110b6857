//! Words of others, made fit for a page: harmless, short enough, in their place.

use std::time::Duration;

pub(crate) use terminal::format::{json_line, json_page};
use terminal::{clean::Cleaner, colors::Stream};
use wire::{
    pull::{PullAuthor, PullState},
    task::shown::Person,
    time::Time,
};

use super::put::put_line;

/// Several lines without anything that a terminal would obey. A carriage return would let a line hide what is before it.
pub(crate) fn clean(text: &str) -> String {
    let cleaned = Cleaner::of(Stream::Terminal).clean(text.as_bytes()).into_owned();
    let text = String::from_utf8(cleaned).unwrap_or_default();
    text.replace("\r\n", "\n").replace('\r', "\u{240d}").replace('\t', "    ")
}

/// One line of at most so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let cleaned = clean(text.trim());
    let words = cleaned.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&words, most)
}

/// A name that somebody gave themselves: anybody who may push to the repository can have written it.
pub(crate) fn unproven(name: &str) -> String {
    format!("somebody who calls themselves {} (unproven)", line(name, 60))
}

/// One line that hides nothing: what would be run has its line's ends and spaces in it, to be seen.
pub(crate) fn exact(text: &str) -> String {
    clean(text).replace('\n', "⏎")
}

/// Not longer than that, and visibly so.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(most.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

/// Lines with room before them; at most so many, and the last says how many more there are.
pub(crate) fn block(text: &str, indent: usize, most: usize) -> String {
    let cleaned = clean(text.trim_end());
    let room = " ".repeat(indent);
    let lines: Vec<&str> = cleaned.lines().collect();
    let mut block = String::new();
    for line in lines.iter().take(most) {
        let line = format!("{room}{line}");
        block.push_str(line.trim_end());
        block.push('\n');
    }
    if let Some(more) = lines.len().checked_sub(most).filter(|more| *more > 0) {
        put_line!(block, "{room}[{more} more lines]");
    }
    block
}

/// The beginning of a hash, as people compare it.
pub(crate) fn short(hash: &str) -> String {
    line(hash, 64).chars().take(12).collect()
}

pub(crate) fn person(person: &Person) -> String {
    line(person.name.as_deref().unwrap_or(&person.id), 60)
}

/// Who said something on a pull request.
pub(crate) fn author(author: &PullAuthor) -> String {
    match author {
        PullAuthor::Platform {} => "lamp".to_owned(),
        PullAuthor::Person { name } => line(name, 60),
        PullAuthor::Unproven { name } => unproven(name),
    }
}

/// How a pull request stands.
pub(crate) fn pull_state(state: &PullState) -> String {
    match state {
        PullState::Draft {} => "draft".to_owned(),
        PullState::Open {} => "open".to_owned(),
        PullState::Merged { commit, by } => {
            format!("merged by {} as {}", author(by), short(commit))
        }
        PullState::Closed { by } => format!("closed by {}", author(by)),
    }
}

/// A time as people say it: `3s`, `2m 10s`, `1h 5m`.
pub(crate) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, 0, _) if hours < 48 => format!("{hours}h"),
        (hours, minutes, _) if hours < 48 => format!("{hours}h {minutes}m"),
        (hours, _, _) => format!("{}d", hours / 24),
    }
}

/// From one point in time to another; nothing where a clock went back.
pub(crate) fn between(from: Time, to: Time) -> Duration {
    let millis = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use domain::visible::is_visible;

    use super::*;

    #[test]
    fn words_of_others_cannot_speak_to_the_terminal() {
        let evil = "\u{1b}]0;title\u{7}ok\rhidden\n\u{202e}txt\u{9b}31m\u{200b}\u{e0069}";
        for shown in [clean(evil), line(evil, 80), exact(evil), block(evil, 2, 9), short(evil)] {
            assert!(shown.chars().all(is_visible), "{shown:?}");
        }
        let json = json_line(&evil).unwrap();
        assert!(json.chars().all(is_visible), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), evil);
    }

    #[test]
    fn long_words_are_cut_where_it_is_seen() {
        assert_eq!(line("one  two\nthree", 80), "one two three");
        assert_eq!(exact("ls  a\nrm b"), "ls  a⏎rm b");
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(block("a\n\nb\nc\n", 2, 3), "  a\n\n  b\n  [1 more lines]\n");
    }

    #[test]
    fn times_read_as_people_say_them() {
        let seconds = [0, 59, 60, 61, 3600, 3660, 200_000];
        let told = seconds.map(|it| took(Duration::from_secs(it)));
        assert_eq!(told, ["0s", "59s", "1m", "1m 1s", "1h", "1h 1m", "2d"]);
        let (early, late) = (Time::from_millis(1_000), Time::from_millis(3_500));
        assert_eq!(took(between(early, late)), "2s");
        assert_eq!(took(between(late, early)), "0s");
    }
}
