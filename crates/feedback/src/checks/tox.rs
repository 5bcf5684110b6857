//! tox: the commands of its environments.
//!
//! tox makes an environment for each Python that is named, and installs into it from the network. A sandbox has one Python, and its
//! image has what is installed. So the commands themselves are the checks: those that tox would run for the Python that is there.

use super::{check::Directory, tree::Survey};

const SECTIONS_LIMIT: usize = 200;
const COMMANDS_LIMIT: usize = 20;

/// What is set up for tox in one directory.
pub(super) struct Tox {
    /// The file that says so.
    pub(super) file: String,
    sections: Vec<Section>,
}

struct Section {
    /// `testenv`, `testenv:lint`.
    name: String,
    keys: Vec<(String, Vec<(usize, String)>)>,
}

/// One command of an environment, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToxCommand {
    pub(super) environment: String,
    pub(super) line: usize,
    pub(super) command: String,
}

impl Tox {
    pub(super) fn at(survey: &Survey, directory: &Directory) -> Option<Self> {
        let ini = survey.text(directory, "tox.ini");
        let setup =
            || survey.text(directory, "setup.cfg").filter(|text| text.contains("[tox:tox]"));
        let (name, sections) = match (ini, setup()) {
            (Some(text), _) => ("tox.ini", ini_sections(text)),
            (None, Some(text)) => ("setup.cfg", ini_sections(text)),
            (None, None) => {
                let toml = survey.text(directory, "tox.toml").map(|text| ("tox.toml", text));
                let (name, text) = toml.or_else(|| {
                    Some(("pyproject.toml", survey.text(directory, "pyproject.toml")?))
                })?;
                (name, toml_sections(text))
            }
        };
        let is_tox = sections.iter().any(|section| section.name.starts_with("testenv"));
        is_tox.then(|| Self { file: directory.file(name), sections })
    }

    /// The commands of these environments, or of all that run by themselves where none is named. Those of several Pythons are those of
    /// one.
    pub(super) fn commands(&self, wanted: &[String]) -> Vec<ToxCommand> {
        let listed = if wanted.is_empty() { self.listed() } else { wanted.to_vec() };
        let mut found: Vec<ToxCommand> = Vec::new();
        for name in listed {
            let own = self.section(&format!("testenv:{name}"));
            let section = match own {
                Some(section) if section.key("commands").is_some() => section,
                Some(_) | None if is_python(&name) || own.is_some() => {
                    let Some(base) = self.section("testenv") else { continue };
                    base
                }
                Some(_) | None => continue,
            };
            for (line, command) in section.commands() {
                let is_known = found.iter().any(|it| it.command == command);
                if !is_known && found.len() < COMMANDS_LIMIT {
                    found.push(ToxCommand { environment: name.clone(), line, command });
                }
            }
        }
        found
    }

    /// The environments that `tox` alone runs; those for Pythons first.
    fn listed(&self) -> Vec<String> {
        let values = ["tox", "tox:tox"].iter().filter_map(|name| self.section(name));
        let lines = values.flat_map(|section| {
            ["envlist", "env_list"].into_iter().filter_map(|key| section.key(key)).flatten()
        });
        let text: Vec<&str> = lines.map(|(_, line)| line.as_str()).collect();
        let mut names: Vec<String> = outside_braces(&text.join(","));
        names.push("py".to_owned());
        names.sort_by_key(|name| !is_python(name));
        names.dedup();
        names
    }

    fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl Section {
    fn key(&self, name: &str) -> Option<&[(usize, String)]> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, lines)| lines.as_slice())
    }

    fn commands(&self) -> Vec<(usize, String)> {
        let mut commands = Vec::new();
        let mut open: Option<(usize, String)> = None;
        for (number, line) in self.key("commands").unwrap_or_default() {
            let (first, text) = open.take().unwrap_or((*number, String::new()));
            let text = format!("{text}{}", line.trim());
            match text.strip_suffix('\\') {
                Some(begun) => open = Some((first, format!("{} ", begun.trim_end()))),
                None => commands.extend(plain(&text).map(|text| (first, text))),
            }
        }
        commands
    }
}

fn is_python(name: &str) -> bool {
    name.starts_with("py") && !name.starts_with("pyl") && !name.starts_with("pyright")
        || name.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits at commas outside of braces, since `py{310,311}` is one for us.
fn outside_braces(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => names.push(String::new()),
            _ => {}
        }
        if c != ',' || depth > 0 {
            names.last_mut().into_iter().for_each(|name| name.push(c));
        }
    }
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A command without tox's own words; nothing where one is left that only tox can fill in, or where tox would not mind a failure.
fn plain(command: &str) -> Option<String> {
    if command.is_empty() || command.starts_with(['-', '#', '!']) {
        return None;
    }
    // `py312: pytest` is for one Python alone.
    let first = command.split(' ').next().unwrap_or_default();
    if first.ends_with(':') {
        return None;
    }
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (inside, left) = after.split_once('}')?;
        rest = left;
        match inside.split_once(':').unwrap_or((inside, "")) {
            ("posargs", default) => text.push_str(default),
            ("envpython" | "env_python", _) => text.push_str("python3"),
            ("toxinidir" | "tox_root", _) => text.push('.'),
            _ => {
                // An option that needs such a word can be done without; a word cannot.
                let at = text.rfind(' ').map_or(0, |at| at + 1);
                text.get(at..).filter(|word| word.starts_with("--"))?;
                text.truncate(at);
                rest = rest.find(' ').and_then(|at| rest.get(at..)).unwrap_or_default();
            }
        }
    }
    text.push_str(rest);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn ini_sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
            && !line.starts_with([' ', '\t'])
        {
            if sections.len() == SECTIONS_LIMIT {
                break;
            }
            sections.push(Section { name: name.trim().to_owned(), keys: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        if line.starts_with([' ', '\t']) {
            if let Some((_, lines)) = section.keys.last_mut() {
                lines.push((number, trimmed.to_owned()));
            }
            continue;
        }
        if let Some((key, value)) = trimmed.split_once(['=', ':']) {
            let value = value.trim();
            let first = (!value.is_empty()).then(|| (number, value.to_owned()));
            section.keys.push((key.trim().to_owned(), first.into_iter().collect()));
        }
    }
    sections
}

/// The same of tox's own tables in TOML: `commands` is a list of lists of words there.
fn toml_sections(text: &str) -> Vec<Section> {
    if let Some(inner) = legacy(text) {
        return ini_sections(inner);
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name =
                name.strip_prefix("tool.tox").map_or(name, |rest| rest.trim_start_matches('.'));
            let name = match name {
                "" => "tox".to_owned(),
                "env_run_base" => "testenv".to_owned(),
                _ => {
                    name.strip_prefix("env.").map_or(String::new(), |env| format!("testenv:{env}"))
                }
            };
            if sections.len() == SECTIONS_LIMIT {
                break;
            }
            sections.push(Section { name, keys: Vec::new() });
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        let key = key.trim();
        if !matches!(key, "commands" | "env_list") {
            continue;
        }
        let mut value = value.trim().to_owned();
        while value.matches('[').count() > value.matches(']').count() {
            let Some((_, more)) = lines.next() else { break };
            value.push(' ');
            value.push_str(more.trim());
        }
        let Some(section) = sections.last_mut() else { continue };
        let told = if key == "commands" {
            value
                .split(']')
                .map(|list| strings(list).join(" "))
                .filter(|it| !it.is_empty())
                .collect()
        } else {
            vec![strings(&value).join(",")]
        };
        let told = told.into_iter().map(|text: String| (number, text)).collect();
        section.keys.push((key.to_owned(), told));
    }
    sections
}

fn legacy(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("legacy_tox_ini")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quotes = if rest.starts_with("'''") { "'''" } else { "\"\"\"" };
    rest.strip_prefix(quotes)?.split_once(quotes).map(|(inside, _)| inside)
}

/// The quoted words of a list, without those inside of inline tables.
fn strings(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut chars = list.chars();
    while let Some(c) = chars.next() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '"' | '\'' => {
                let word: String = chars.by_ref().take_while(|inside| *inside != c).collect();
                if depth == 0 {
                    found.push(word);
                }
            }
            _ => {}
        }
    }
    found
}
