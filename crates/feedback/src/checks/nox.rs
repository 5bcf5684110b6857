//! `noxfile.py`: what its sessions run, as far as it is written as plain words.
//!
//! A noxfile is a program. Only calls of `session.run` whose arguments are texts are understood; a session that puts its command together
//! in another way is left to nox itself.

use super::{check::Directory, tree::Survey};

const SESSIONS_LIMIT: usize = 100;
const CALL_LIMIT: usize = 2_000;

pub(super) struct Nox {
    pub(super) file: String,
    sessions: Vec<Session>,
}

struct Session {
    name: String,
    commands: Vec<(usize, String)>,
}

impl Nox {
    pub(super) fn at(survey: &Survey, directory: &Directory) -> Option<Self> {
        let text = survey.text(directory, "noxfile.py")?;
        Some(Self { file: directory.file("noxfile.py"), sessions: sessions(text) })
    }

    /// The commands of these sessions, or of all: session, line, command.
    pub(super) fn commands(&self, wanted: &[String]) -> Vec<(&str, usize, &str)> {
        let is_wanted = |session: &&Session| wanted.is_empty() || wanted.contains(&session.name);
        let sessions = self.sessions.iter().filter(is_wanted);
        let commands = sessions.flat_map(|session| {
            session
                .commands
                .iter()
                .map(|(line, command)| (session.name.as_str(), *line, command.as_str()))
        });
        commands.collect()
    }
}

fn sessions(text: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut is_session = false;
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("@nox.session") || line.starts_with("@session") {
            is_session = true;
        } else if let Some(rest) = line.strip_prefix("def ") {
            let name = rest.split('(').next().unwrap_or_default().to_owned();
            if is_session && sessions.len() < SESSIONS_LIMIT {
                sessions.push(Session { name, commands: Vec::new() });
            }
            is_session = false;
        } else if let (Some(session), Some((_, begun))) =
            (sessions.last_mut(), line.split_once("session.run("))
        {
            let rest = lines.get(index + 1..).unwrap_or_default();
            session.commands.extend(call(begun, rest).map(|command| (index + 1, command)));
        }
    }
    sessions
}

/// The words of a call, if all that stand in their place are texts.
fn call(begun: &str, rest: &[&str]) -> Option<String> {
    let mut text = begun.to_owned();
    let mut more = rest.iter();
    while text.matches('(').count() + 1 > text.matches(')').count() {
        text.push(' ');
        text.push_str(more.next()?.trim());
        if text.len() > CALL_LIMIT {
            return None;
        }
    }
    let inside = text.rsplit_once(')')?.0;
    let mut words = Vec::new();
    for argument in inside.split(',').map(str::trim).filter(|argument| !argument.is_empty()) {
        let quoted = ['"', '\'']
            .iter()
            .find_map(|quote| argument.strip_prefix(*quote)?.strip_suffix(*quote));
        match quoted {
            Some(word) if !word.is_empty() && !word.contains([' ', '"', '\'', '$', '*']) => {
                words.push(word);
            }
            // What whoever starts nox adds, and options of nox itself.
            None if argument.starts_with("*session.posargs")
                || argument.starts_with("*posargs")
                || argument.contains('=') => {}
            Some(_) | None => return None,
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}
