//! The lines that a program says, and the way to say something to it.
//!
//! A program in a sandbox may say anything: bytes that are no text, a line without an end, a flood. A line has a limit, noise has
//! a limit, all of it has a limit, and nothing is read ahead of whoever takes it, so a flood holds up only the one who makes it.
//! It may also not listen; then nobody waits for it for ever.

use std::{collections::VecDeque, time::Duration};

use contracts::sandbox::{Input, Output};
use serde_json::Value;
use tokio::sync::mpsc;

/// Bytes of one line. A tool's whole result is in one.
pub(crate) const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// Lines that are not what they should be, before it is taken for another program.
const NOISE_LIMIT: u32 = 1_000;

/// Values in one line of JSON. Each takes far more memory than the two bytes that a program needs to say it.
const VALUES_LIMIT: usize = 200_000;

/// Lines that are kept for whoever asks what went wrong, and bytes of each.
const KEPT_LINES: usize = 40;
const KEPT_BYTES: usize = 500;

/// What came next.
#[derive(Debug)]
pub(crate) enum Next {
    Line(String),
    /// For a while nothing.
    Pause,
    /// The program has said all.
    End,
}

/// Why a program is not listened to any longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unheard {
    #[error("it said a line of more than {} MiB", LINE_LIMIT / 1024 / 1024)]
    TooLong,
    #[error("it does not speak as it should: more than {NOISE_LIMIT} lines are not JSON")]
    Noise,
    #[error("it said more than {} MiB", .0 / 1024 / 1024)]
    TooMuch(u64),
    #[error("it does not listen")]
    Deaf,
}

/// How much a program may say, and how long it may not listen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) output: u64,
    pub(crate) patience: Duration,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    input: Option<mpsc::Sender<Input>>,
    output: mpsc::Receiver<Output>,
    bounds: Bounds,
    /// Bytes that it has said.
    heard: u64,
    /// The beginning of a line.
    half: Vec<u8>,
    lines: VecDeque<String>,
    noise: u32,
    last: LastLines,
    error_half: Vec<u8>,
}

impl Pipe {
    pub(crate) fn new(
        input: mpsc::Sender<Input>,
        output: mpsc::Receiver<Output>,
        bounds: Bounds,
    ) -> Self {
        Self {
            input: Some(input),
            output,
            bounds,
            heard: 0,
            half: Vec::new(),
            lines: VecDeque::new(),
            noise: 0,
            last: LastLines::default(),
            error_half: Vec::new(),
        }
    }

    /// Says one line.
    pub(crate) async fn say(&mut self, line: &Value) -> Result<(), Unheard> {
        self.say_bytes((line.to_string() + "\n").into_bytes()).await
    }

    pub(crate) async fn say_bytes(&mut self, bytes: Vec<u8>) -> Result<(), Unheard> {
        let input = self.input.as_ref().ok_or(Unheard::Deaf)?;
        let sent = tokio::time::timeout(self.bounds.patience, input.send(Input::Bytes(bytes)));
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Unheard::Deaf),
        }
    }

    /// There is nothing more to say.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// The next line; a pause where none comes for so long. Safe to be dropped and called again.
    pub(crate) async fn next(&mut self, patience: Duration) -> Result<Next, Unheard> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(Next::Line(line));
            }
            match tokio::time::timeout(patience, self.output.recv()).await {
                Err(_late) => return Ok(Next::Pause),
                Ok(None) => return Ok(self.rest()),
                Ok(Some(Output::Out(bytes))) => {
                    self.count(&bytes)?;
                    self.hear(&bytes)?;
                }
                Ok(Some(Output::Error(bytes))) => {
                    self.hear_error(&bytes);
                    self.count(&bytes)?;
                }
            }
        }
    }

    /// What is passed on to us ends at the limit, so whoever has reached it counts as somebody who goes on.
    fn count(&mut self, bytes: &[u8]) -> Result<(), Unheard> {
        self.heard = self.heard.saturating_add(bytes.len() as u64);
        let limit = self.bounds.output;
        if self.heard < limit {
            return Ok(());
        }
        self.sample(bytes);
        Err(Unheard::TooMuch(limit))
    }

    /// Keeps a little of what is not listened to, so that people see what it was.
    fn sample(&mut self, bytes: &[u8]) {
        let last = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
        let some: Vec<u8> = last.unwrap_or_default().iter().copied().take(KEPT_BYTES).collect();
        self.last.keep(&String::from_utf8_lossy(&some));
    }

    /// A line that is not JSON. Some are usual; too many are not.
    pub(crate) fn noise(&mut self, line: &str) -> Result<(), Unheard> {
        self.last.keep(line);
        self.noise += 1;
        if self.noise > NOISE_LIMIT { Err(Unheard::Noise) } else { Ok(()) }
    }

    /// The last lines that the program said beside its answers, for whoever has to find out what went wrong.
    pub(crate) fn last_lines(&self) -> String {
        self.last.text()
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), Unheard> {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // The first belongs to what was said before.
        self.half.extend_from_slice(parts.next().unwrap_or_default());
        for part in parts {
            let line = std::mem::replace(&mut self.half, part.to_vec());
            self.take(&line)?;
        }
        if self.half.len() <= LINE_LIMIT {
            return Ok(());
        }
        self.sample(bytes);
        Err(Unheard::TooLong)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Unheard> {
        if line.len() > LINE_LIMIT {
            self.sample(line);
            return Err(Unheard::TooLong);
        }
        let line = String::from_utf8_lossy(line).trim().to_owned();
        if !line.is_empty() {
            self.lines.push_back(line);
        }
        Ok(())
    }

    fn hear_error(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.error_half);
                self.last.keep(&String::from_utf8_lossy(&line));
            } else if self.error_half.len() < KEPT_BYTES {
                self.error_half.push(*byte);
            }
        }
    }

    /// A last line may have no end.
    fn rest(&mut self) -> Next {
        let line = std::mem::take(&mut self.error_half);
        self.last.keep(&String::from_utf8_lossy(&line));
        let half = std::mem::take(&mut self.half);
        let line = String::from_utf8_lossy(&half).trim().to_owned();
        if line.is_empty() { Next::End } else { Next::Line(line) }
    }
}

/// A line as an object, if it is one and not made to fill the memory.
pub(crate) fn object(line: &str) -> Option<Value> {
    if values(line) > VALUES_LIMIT {
        return None;
    }
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// How many values a line has, if it is JSON: each but the first follows a comma, a colon or a bracket.
fn values(line: &str) -> usize {
    let mut count = 1;
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in line.bytes() {
        match (byte, is_text) {
            (_, true) if is_escaped => is_escaped = false,
            (b'\\', true) => is_escaped = true,
            (b'"', _) => is_text = !is_text,
            (b',' | b':' | b'[' | b'{', false) => count += 1,
            (_, _) => {}
        }
    }
    count
}

/// The end of what was said.
#[derive(Debug, Default)]
struct LastLines(VecDeque<String>);

impl LastLines {
    fn keep(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        if self.0.len() == KEPT_LINES {
            self.0.pop_front();
        }
        let plain = |c: &char| !c.is_control() || *c == '\t';
        self.0.push_back(line.chars().filter(plain).take(KEPT_BYTES).collect());
    }

    fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    fn pipe(outputs: Vec<Output>) -> (Pipe, mpsc::Receiver<Input>) {
        let (to, input) = mpsc::channel(8);
        let (say, output) = mpsc::channel(outputs.len().max(1));
        for said in outputs {
            say.try_send(said).unwrap();
        }
        let bounds = Bounds { output: 64 * 1024 * 1024, patience: PATIENCE };
        (Pipe::new(to, output, bounds), input)
    }

    async fn all(pipe: &mut Pipe) -> Result<Vec<String>, Unheard> {
        let mut lines = Vec::new();
        loop {
            match pipe.next(PATIENCE).await? {
                Next::Line(line) => lines.push(line),
                Next::Pause => {}
                Next::End => return Ok(lines),
            }
        }
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
        let mebibyte = || Output::Out(vec![b'x'; 1024 * 1024]);
        let (mut pipe, _input) = pipe((0..9).map(|_| mebibyte()).collect());
        assert_eq!(all(&mut pipe).await, Err(Unheard::TooLong));
        assert_eq!(pipe.last_lines(), "x".repeat(KEPT_BYTES), "a little of it is kept");
    }

    #[tokio::test]
    async fn a_flood_is_refused_at_its_limit_whatever_it_is_made_of() {
        let (out, error) =
            (|| Output::Out(b"{}\n".repeat(4096)), || Output::Error(vec![0; 12_288]));
        for piece in [out(), error()] {
            let (mut pipe, _input) = pipe(vec![piece; 3]);
            pipe.bounds.output = 36_864;
            assert_eq!(all(&mut pipe).await, Err(Unheard::TooMuch(36_864)));
        }
    }

    #[tokio::test]
    async fn one_that_does_not_listen_is_not_waited_for() {
        let (mut pipe, _input) = pipe(Vec::new());
        let mut said = Ok(());
        for _ in 0..9 {
            said = said.and(pipe.say_bytes(b"hello".to_vec()).await);
        }
        assert_eq!(said, Err(Unheard::Deaf));
    }

    #[test]
    fn a_line_of_too_many_values_is_no_object() {
        let line = |count: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(count));
        assert!(object(&line(1_000)).is_some());
        assert!(object(&line(VALUES_LIMIT)).is_none());
        let text = format!(r#"{{"a":"\\\"{}"}}"#, "0,".repeat(VALUES_LIMIT));
        assert!(object(&text).is_some(), "a text is one value");
        assert!(object("[]").is_none() && object(&"[".repeat(1_000)).is_none());
    }

    #[tokio::test]
    async fn what_is_no_text_is_read_as_far_as_it_goes() {
        let (mut pipe, _input) = pipe(vec![Output::Out(b"a\xff\xfeb\n\nc".to_vec())]);
        assert_eq!(all(&mut pipe).await.unwrap(), ["a\u{fffd}\u{fffd}b", "c"]);
    }

    #[tokio::test]
    async fn the_last_lines_of_errors_are_kept_and_shortened() {
        let flood: Vec<u8> = (0..100).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let long = [vec![b'y'; 5000], b"\x1b[31m\n".to_vec()].concat();
        let (mut pipe, _input) = pipe(vec![Output::Error(flood), Output::Error(long)]);
        all(&mut pipe).await.unwrap();
        let last = pipe.last_lines();
        assert_eq!(last.lines().count(), KEPT_LINES);
        assert!(last.ends_with(&"y".repeat(KEPT_BYTES)) && !last.contains("line 60"), "{last}");
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_lines_are_the_same(text in "[a-c\n]{0,80}", cuts in prop::collection::vec(1_usize..9, 0..20)) {
            let whole: Vec<String> = text.split('\n').filter(|it| !it.is_empty()).map(str::to_owned).collect();
            let mut rest = text.as_bytes();
            let mut outputs = Vec::new();
            for cut in cuts {
                let (first, after) = rest.split_at(cut.min(rest.len()));
                outputs.push(Output::Out(first.to_vec()));
                rest = after;
            }
            outputs.push(Output::Out(rest.to_vec()));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let heard = runtime.block_on(async { all(&mut pipe(outputs).0).await }).unwrap();
            prop_assert_eq!(heard, whole);
        }
    }
}
