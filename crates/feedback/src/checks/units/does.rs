//! What a command does, found out by following names: scripts, targets and files of the repository.

use super::{
    super::{
        check::Directory,
        classify::{self, Meaning, Runner},
        deed::{Deed, Does, Rest, Scope},
        names,
        package_scripts::{Manager, Package},
        scope, script_file, shell,
    },
    DEPTH_LIMIT, Reader,
};

impl Reader<'_> {
    /// What words do.
    pub(super) fn does(self, words: &[String], at: &Directory, depth: usize) -> Does {
        if depth > DEPTH_LIMIT {
            return Does::unknown();
        }
        let about = |path: &Option<String>| match path {
            Some(path) => at.join(path),
            None => Some(at.clone()),
        };
        match classify::meaning(words) {
            Meaning::Judges { kind, ecosystem, directory } => {
                let Some(about) = about(&directory) else { return Does::unknown() };
                let words_left = normal(words);
                let scope = scope::of(words);
                let deed = Deed { kind, ecosystem, about, scope, words: words_left };
                Does { deeds: [deed].into(), rest: Rest::Nothing }
            }
            Meaning::Runs { runner, targets, directory } => {
                let Some(about) = about(&directory) else { return Does::unknown() };
                match runner {
                    Runner::Package => self.package(words, &targets, &about, depth),
                    Runner::Make | Runner::Just => {
                        let program = if runner == Runner::Make { "make" } else { "just" };
                        let Some(file) = self.file_of(program, &about) else {
                            return Does::unknown();
                        };
                        self.lines(&file.lines(&targets), &about, depth + 1)
                    }
                }
            }
            Meaning::Script { path, arguments } => {
                let text = self.survey.script(at, &path).filter(|text| is_shell(&path, text));
                match text.and_then(|text| script_file::read(text, &arguments)) {
                    Some(script) if depth < 2 => {
                        let lines: Vec<String> =
                            script.lines.into_iter().map(|(_, line)| line).collect();
                        self.lines(&lines, at, depth + 2)
                    }
                    Some(_) | None => file(&path, words, at),
                }
            }
            Meaning::Moves(_) | Meaning::Installs | Meaning::Prepares => Does::default(),
            Meaning::Elsewhere(_) | Meaning::Publishes | Meaning::Unknown => Does::unknown(),
        }
    }

    pub(super) fn package(
        self,
        words: &[String],
        names: &[String],
        about: &Directory,
        depth: usize,
    ) -> Does {
        let Some(package) = Package::at(self.survey, about) else { return Does::unknown() };
        let hooks =
            package.manager == Manager::Npm && !words.iter().any(|word| word == "--ignore-scripts");
        let mut does = Does::default();
        for name in names {
            let Some(body) = package.body(name) else {
                does.add(Does::unknown());
                continue;
            };
            does.add(self.text(body, about, depth + 1));
            for hook in ["pre", "post"].iter().filter(|_| hooks).map(|word| format!("{word}{name}"))
            {
                if let Some(body) = package.body(&hook) {
                    does.add(self.text(body, about, depth + 1));
                }
            }
        }
        does
    }

    pub(super) fn text(self, body: &str, at: &Directory, depth: usize) -> Does {
        self.lines(&[body.to_owned()], at, depth)
    }

    pub(super) fn lines(self, lines: &[String], at: &Directory, depth: usize) -> Does {
        let mut does = Does::default();
        for line in lines {
            match shell::commands(line) {
                Some(all) => does.add(self.sequence(all.iter().map(Vec::as_slice), at, depth)),
                None => does.add(Does::unknown()),
            }
        }
        does
    }

    pub(super) fn sequence<'w>(
        self,
        all: impl Iterator<Item = &'w [String]>,
        at: &Directory,
        depth: usize,
    ) -> Does {
        let mut does = Does::default();
        let mut here = at.clone();
        for words in all {
            if let Meaning::Moves(path) = classify::meaning(words) {
                match here.join(&path) {
                    Some(there) => here = there,
                    None => return Does::unknown(),
                }
            } else {
                does.add(self.does(words, &here, depth));
            }
        }
        does
    }
}

/// A program of the repository that is no shell script: what it is, its name says.
fn file(path: &str, words: &[String], at: &Directory) -> Does {
    let ecosystem = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("py") => classify::Ecosystem::Python,
        Some("js" | "mjs" | "cjs" | "ts") => classify::Ecosystem::JavaScript,
        Some("rb") => classify::Ecosystem::Ruby,
        Some("php") => classify::Ecosystem::Php,
        Some(_) | None => return Does::unknown(),
    };
    let Some(kind) = names::kind_of_file(path) else { return Does::unknown() };
    let (about, words) = (at.clone(), words.join(" "));
    let deed = Deed { kind, ecosystem, about, scope: Scope::Plain, words };
    Does { deeds: [deed].into(), rest: Rest::Nothing }
}

pub(super) fn is_shell(path: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_named = [".sh", ".bash"].iter().any(|ending| path.ends_with(ending));
    is_named || (first.starts_with("#!") && first.contains("sh"))
}

/// A command without options that only change what is shown, so that two that do the same are the same.
fn normal(words: &[String]) -> String {
    let is_talk = |word: &str| {
        const TALK: &[&str] = &[
            "-v",
            "-vv",
            "--verbose",
            "-q",
            "--quiet",
            "--nocapture",
            "--locked",
            "--frozen",
            "--no-fail-fast",
            "--workspace",
            "--all",
        ];
        const BEGINNINGS: &[&str] = &["--color=", "--reporter", "--tb=", "--capture="];
        TALK.contains(&word) || BEGINNINGS.iter().any(|it| word.starts_with(it))
    };
    let is_special = |word: &&str| shell::is_assignment(word) && word.starts_with("RUST");
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    let special =
        all.iter().copied().take_while(|word| shell::is_assignment(word)).filter(is_special);
    let tool = classify::without_wrappers(&all).iter().copied();
    let kept: Vec<&str> =
        special.chain(tool.filter(|word| !is_talk(word) && *word != "--")).collect();
    kept.join(" ")
}
