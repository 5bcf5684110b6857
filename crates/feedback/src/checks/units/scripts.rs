//! Scripts: those of a `package.json`, and files of a shell.

use super::{
    super::{
        check::{Directory, Kind},
        classify::{self, Meaning, Runner},
        deed::{Does, Rest, Scope},
        names,
        package_scripts::{Manager, Package},
        script_file::{self, Setting},
        shell::{self, Part},
    },
    Reader, Unit,
    does::is_shell,
};

impl Reader<'_> {
    /// Scripts of a `package.json`: one that only names others is those others.
    pub(super) fn scripts(
        self,
        part: &Part,
        names: &[String],
        at: &Directory,
        about: &Directory,
        depth: usize,
    ) -> Vec<Unit> {
        let whole = || self.one(part, at).into_iter().collect::<Vec<_>>();
        let Some(package) = Package::at(self.survey, about) else { return whole() };
        let [name] = names else { return whole() };
        let Some(body) = package.body(name) else { return Vec::new() };
        let Some(mut unit) = self.one(part, at) else { return Vec::new() };
        unit.scope = unit.scope.max(self.scope_of_script(&package, name, about));
        let ignores = part.words.iter().any(|word| word == "--ignore-scripts");
        let is_bare = part.words.iter().all(|word| {
            word == name
                || !word.starts_with('-')
                || matches!(word.as_str(), "--ignore-scripts" | "--silent" | "-s")
        }) && part.words.len() <= 5;
        if !is_bare || at != about {
            return vec![unit];
        }
        let via = |it: Unit| Unit {
            through: it.through.clone().or_else(|| {
                Some(format!("`{}` runs it (`{}`)", part.text, about.file("package.json")))
            }),
            ..it
        };
        let refs = references(body).filter(|refs| !refs.iter().any(|it| it == name));
        let hooks = if ignores || package.manager != Manager::Npm {
            Some(Vec::new())
        } else {
            self.hooks(&package, name, about, depth)
        };
        match (refs, hooks) {
            (Some(refs), Some(hooks)) => {
                let inner = refs
                    .iter()
                    .flat_map(|script| self.part(&run(&package, script), about, depth + 1));
                hooks.into_iter().chain(inner).map(via).collect()
            }
            (None, Some(hooks)) if !hooks.is_empty() || (!ignores && has_hooks(&package, name)) => {
                let text = format!("{} --ignore-scripts", run(&package, name).text);
                let mut words = part.words.clone();
                words.push("--ignore-scripts".to_owned());
                unit.does = self.does(&words, at, 0);
                unit.command = text;
                hooks.into_iter().map(via).chain([unit]).collect()
            }
            (Some(_) | None, _) => vec![unit],
        }
    }

    /// The checks in the hooks of a script, if the script can be run without its hooks: what comes before it must be understood, because
    /// it may be needed; what comes after cannot be.
    pub(super) fn hooks(
        self,
        package: &Package,
        name: &str,
        about: &Directory,
        depth: usize,
    ) -> Option<Vec<Unit>> {
        let mut found = Vec::new();
        for (hook, is_needed) in [(format!("pre{name}"), true), (format!("post{name}"), false)] {
            let Some(body) = package.body(&hook) else { continue };
            let parts = shell::parts(body);
            if parts.is_none() && is_needed {
                return None;
            }
            for part in parts.unwrap_or_default() {
                let part = match classify::meaning(&part.words) {
                    Meaning::Runs { runner: Runner::Package, targets, directory: None } => {
                        targets.first().map_or(part.clone(), |script| run(package, script))
                    }
                    Meaning::Runs { .. }
                    | Meaning::Judges { .. }
                    | Meaning::Moves(_)
                    | Meaning::Script { .. }
                    | Meaning::Elsewhere(_)
                    | Meaning::Installs
                    | Meaning::Prepares
                    | Meaning::Publishes
                    | Meaning::Unknown => part,
                };
                let inside = self.part(&part, about, depth + 1);
                // A tool of `node_modules` is found by npm, not by a shell.
                let is_runnable =
                    inside.iter().all(|unit| unit.command.starts_with(package.manager.name()));
                if is_needed && (inside.is_empty() || !is_runnable) {
                    return None;
                }
                found.extend(inside.into_iter().filter(|_| is_runnable));
            }
        }
        Some(found)
    }

    /// Whether a script is what `test` is, or less.
    pub(super) fn scope_of_script(self, package: &Package, name: &str, about: &Directory) -> Scope {
        if name == "test" || names::kind_of(name) != Some(Kind::Test) {
            return Scope::Plain;
        }
        let Some(whole) = package.body("test") else { return Scope::Plain };
        let Some(own) = package.body(name) else { return Scope::Plain };
        let (whole, own) = (self.text(whole, about, 1), self.text(own, about, 1));
        let tests = |does: &Does| -> Does {
            let deeds = does.deeds.iter().filter(|deed| deed.kind == Kind::Test).cloned();
            Does { deeds: deeds.collect(), rest: Rest::Nothing }
        };
        let is_all = own.covers(&tests(&whole)) || tests(&whole).deeds.is_empty();
        if is_all { Scope::Plain } else { Scope::Part }
    }

    /// A script of the repository: its lines, where they can stand alone.
    pub(super) fn script(
        self,
        part: &Part,
        (path, arguments): (&str, &[String]),
        at: &Directory,
        depth: usize,
    ) -> Vec<Unit> {
        let whole = || self.one(part, at).into_iter().collect::<Vec<_>>();
        let text = self.survey.script(at, path).filter(|text| is_shell(path, text));
        let Some(script) = text.and_then(|text| script_file::read(text, arguments)) else {
            return whole();
        };
        if script.setting == Setting::Some || depth > 0 {
            return whole();
        }
        let mut here = at.clone();
        let mut found = Vec::new();
        let mut missed = Rest::Nothing;
        for (number, line) in &script.lines {
            let Some(parts) = shell::parts(line) else {
                missed = Rest::Unknown;
                continue;
            };
            for inner in parts.into_iter().map(unquoted) {
                let meaning = classify::meaning(&inner.words);
                if matches!(
                    meaning,
                    Meaning::Elsewhere(_) | Meaning::Unknown | Meaning::Script { .. }
                ) {
                    missed = Rest::Unknown;
                }
                match meaning {
                    Meaning::Moves(to) => match here.join(&to) {
                        Some(there) => here = there,
                        None => return whole(),
                    },
                    // One level: what a script calls is not read in turn.
                    Meaning::Script { .. } => {}
                    Meaning::Judges { .. }
                    | Meaning::Runs { .. }
                    | Meaning::Elsewhere(_)
                    | Meaning::Installs
                    | Meaning::Prepares
                    | Meaning::Publishes
                    | Meaning::Unknown => {
                        let through =
                            format!("`{}` runs it (`{}`, line {number})", part.text, at.file(path));
                        let units = self.part(&inner, &here, depth + 1);
                        found.extend(
                            units
                                .into_iter()
                                .map(|unit| Unit { through: Some(through.clone()), ..unit }),
                        );
                    }
                }
            }
        }
        // What is only half understood does not stand for the plain test.
        let least = if missed == Rest::Unknown { Scope::Part } else { Scope::Plain };
        for unit in &mut found {
            unit.scope = unit.scope.max(least);
        }
        if found.is_empty() { whole() } else { found }
    }
}

fn has_hooks(package: &Package, name: &str) -> bool {
    let has = |hook: String| package.body(&hook).is_some();
    package.manager == Manager::Npm && (has(format!("pre{name}")) || has(format!("post{name}")))
}

/// Quotes around a plain word were for a variable that stood there.
fn unquoted(part: Part) -> Part {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+=/,:@ ".contains(c);
    let text = part.words.join(" ");
    let is_one = part.words.iter().all(|word| !word.is_empty() && !word.contains(' '));
    if is_one && text.chars().all(is_plain) { Part { text, ..part } } else { part }
}

/// The scripts that a body names, if it does nothing else.
fn references(body: &str) -> Option<Vec<String>> {
    let all = shell::commands(body)?;
    let mut names = Vec::new();
    for words in &all {
        if let Some((first, rest)) = words.split_first()
            && matches!(first.as_str(), "run-s" | "run-p" | "npm-run-all")
        {
            let scripts = rest.iter().filter(|word| !word.starts_with('-'));
            names.extend(scripts.filter(|word| !word.contains(['*', '{'])).cloned());
            continue;
        }
        let Meaning::Runs { runner: Runner::Package, targets, directory: None } =
            classify::meaning(words)
        else {
            return None;
        };
        // Arguments for the script inside, and options for other packages, would be lost.
        let is_loud =
            |word: &String| word.starts_with('-') && !matches!(word.as_str(), "--silent" | "-s");
        if words.len() > 4 || words.iter().any(is_loud) {
            return None;
        }
        names.extend(targets);
    }
    (!names.is_empty()).then_some(names)
}

fn run(package: &Package, script: &str) -> Part {
    let manager = package.manager.name();
    let words = [manager, "run", script].map(str::to_owned).to_vec();
    Part { text: words.join(" "), words }
}
