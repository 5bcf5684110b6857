//! From a line that somebody wrote to the checks that it comes down to.
//!
//! ```text
//! npm run ci          = npm run lint && npm run unit     two checks, each by its own name
//! make check          : fmt lint test                    three
//! tox -e py,lint      = the commands of these            as many as there are
//! ci/test.sh test     = its lines, one level deep        those that are understood
//! make test           ; ruff check . ; pytest            one check that does two things
//! ```
//!
//! The finest parts that can be run by themselves are taken, since a check that stops at its first failure hides what comes after it.
//! What a part does is found out by following names, with limits, and never by running anything.

mod does;
mod environments;
mod scripts;

pub(super) use self::environments::environment;
use super::{
    check::{Directory, Kind},
    classify::{self, Meaning, Runner},
    deed::{Deed, Does, Rest, Scope},
    justfile::JUST,
    makefile::MAKE,
    names,
    shell::{self, Part},
    targets::Targets,
    tree::Survey,
};

/// Scripts that run scripts that run scripts: nobody reads further.
const DEPTH_LIMIT: usize = 8;
const UNITS_LIMIT: usize = 64;

/// Something that can be run by itself.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    pub(super) command: String,
    pub(super) directory: Directory,
    /// Where its code is: not where it is run, for `make -C web test`.
    pub(super) about: Directory,
    pub(super) does: Does,
    pub(super) scope: Scope,
    /// How the line led here, where it is not the line itself: `` `tox` runs it (`tox.ini`, line 12) ``.
    pub(super) through: Option<String>,
}

/// Follows names in the files of one repository.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) survey: &'a Survey,
}

/// What a line comes down to.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) units: Vec<Unit>,
    pub(super) meanings: Vec<Meaning>,
}

impl Reader<'_> {
    /// A line of commands joined by `&&`; nothing where it is more than that.
    pub(super) fn line(self, line: &str, at: &Directory) -> Option<Reading> {
        let parts = shell::parts(line)?;
        let meanings: Vec<Meaning> =
            parts.iter().map(|part| classify::meaning(&part.words)).collect();
        let mut units = Vec::new();
        let splits = meanings.iter().all(|meaning| match meaning {
            Meaning::Judges { .. }
            | Meaning::Runs { .. }
            | Meaning::Script { .. }
            | Meaning::Moves(_)
            | Meaning::Elsewhere(_)
            | Meaning::Installs => true,
            Meaning::Prepares | Meaning::Publishes | Meaning::Unknown => false,
        });
        if splits && parts.len() > 1 {
            let mut here = at.clone();
            for (part, meaning) in parts.iter().zip(&meanings) {
                if let Meaning::Moves(path) = meaning {
                    here = here.join(path)?;
                } else {
                    units.extend(self.part(part, &here, 0));
                }
            }
        } else if let [part] = parts.as_slice() {
            units.extend(self.part(part, at, 0));
        } else {
            units.extend(self.whole(line, &parts, at));
        }
        units.truncate(UNITS_LIMIT);
        Some(Reading { units, meanings })
    }

    /// Several commands of which one needs what another does.
    fn whole(self, line: &str, parts: &[Part], at: &Directory) -> Option<Unit> {
        let does = self.sequence(parts.iter().map(|part| part.words.as_slice()), at, 0);
        let kind = does.kind()?;
        let about = does.deeds.first().map_or_else(|| at.clone(), |deed| deed.about.clone());
        let command = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let scope = does.scope(kind);
        Some(Unit { kind, command, directory: at.clone(), about, does, scope, through: None })
    }

    fn part(self, part: &Part, at: &Directory, depth: usize) -> Vec<Unit> {
        if depth > DEPTH_LIMIT {
            return Vec::new();
        }
        match classify::meaning(&part.words) {
            Meaning::Runs { runner: Runner::Package, targets, directory } => {
                let about = directory.as_deref().map_or(Some(at.clone()), |path| at.join(path));
                about.map_or(Vec::new(), |about| self.scripts(part, &targets, at, &about, depth))
            }
            Meaning::Runs { runner: Runner::Make, targets, .. } => {
                self.targets(part, ("make", &targets), at, depth)
            }
            Meaning::Runs { runner: Runner::Just, targets, .. } => {
                self.targets(part, ("just", &targets), at, depth)
            }
            Meaning::Script { path, arguments } => {
                self.script(part, (&path, &arguments), at, depth)
            }
            Meaning::Judges { .. } => self
                .environments(part, at, depth)
                .unwrap_or_else(|| self.one(part, at).into_iter().collect()),
            Meaning::Moves(_)
            | Meaning::Elsewhere(_)
            | Meaning::Installs
            | Meaning::Prepares
            | Meaning::Publishes
            | Meaning::Unknown => Vec::new(),
        }
    }

    /// The command as it stands.
    fn one(self, part: &Part, at: &Directory) -> Option<Unit> {
        let meaning = classify::meaning(&part.words);
        let does = self.does(&part.words, at, 0);
        let kind = does.kind().or_else(|| classify::kind_of(&meaning))?;
        let about = match &meaning {
            Meaning::Judges { directory: Some(path), .. }
            | Meaning::Runs { directory: Some(path), .. } => at.join(path)?,
            Meaning::Judges { .. }
            | Meaning::Runs { .. }
            | Meaning::Moves(_)
            | Meaning::Script { .. }
            | Meaning::Elsewhere(_)
            | Meaning::Installs
            | Meaning::Prepares
            | Meaning::Publishes
            | Meaning::Unknown => at.clone(),
        };
        let scope = does.scope(kind);
        let command = part.text.clone();
        Some(Unit { kind, command, directory: at.clone(), about, does, scope, through: None })
    }

    /// Targets of a Makefile or recipes of a justfile: one that only needs others is those others.
    fn targets(
        self,
        part: &Part,
        (program, names): (&str, &[String]),
        at: &Directory,
        depth: usize,
    ) -> Vec<Unit> {
        let whole = || self.one(part, at).into_iter().collect::<Vec<_>>();
        // Options, variables and other directories mean something: as it stands.
        let is_bare = part.words.len() == names.len() + 1;
        let targets = self.file_of(program, at);
        let (true, Some(targets)) = (is_bare, targets) else { return whole() };
        let mut found = Vec::new();
        for name in names {
            let parts = targets.parts(name);
            let several = names.len() > 1;
            if parts.is_none() && !several {
                found.extend(whole().into_iter().map(|unit| Unit {
                    scope: unit.scope.max(self.scope_of_target(&targets, name, at)),
                    ..unit
                }));
                continue;
            }
            for inner in parts.unwrap_or_else(|| vec![name]) {
                if targets.parts(inner).is_some() && inner != name {
                    continue;
                }
                let one = Part {
                    text: format!("{program} {inner}"),
                    words: vec![program.to_owned(), inner.to_owned()],
                };
                let through = format!("`{}` runs it", part.text);
                let units = if inner == name {
                    self.one(&one, at).into_iter().collect()
                } else {
                    self.part(&one, at, depth + 1)
                };
                found.extend(
                    units.into_iter().map(|unit| Unit { through: Some(through.clone()), ..unit }),
                );
            }
        }
        found
    }

    fn scope_of_target(self, targets: &Targets, name: &str, at: &Directory) -> Scope {
        if names::kind_of(name).is_some_and(|kind| kind != Kind::Test) {
            return Scope::Plain;
        }
        let whole = ["test", "tests", "check"].into_iter().find(|it| targets.has(it));
        let Some(whole) = whole.filter(|whole| *whole != name) else { return Scope::Plain };
        let does = |name: &str| self.lines(&targets.lines(&[name.to_owned()]), at, 1);
        let (whole, own) = (does(whole), does(name));
        let tests = Does {
            deeds: whole.deeds.iter().filter(|deed| deed.kind == Kind::Test).cloned().collect(),
            rest: Rest::Nothing,
        };
        let names_part = names::kind_of(name) == Some(Kind::Test) && own.deeds.is_empty();
        let differs = !tests.deeds.is_empty() && !own.covers(&tests) && !same_tools(&own, &tests);
        if names_part || differs { Scope::Part } else { Scope::Plain }
    }

    fn file_of(self, program: &str, at: &Directory) -> Option<Targets> {
        match program {
            "just" => JUST.targets(self.survey, at),
            _ => MAKE.targets(self.survey, at),
        }
    }
}

/// Both ask the same tools, perhaps with other options.
fn same_tools(own: &Does, tests: &Does) -> bool {
    let tool = |deed: &Deed| deed.words.split(' ').take(2).collect::<Vec<_>>().join(" ");
    tests.deeds.iter().all(|test| {
        own.deeds.iter().any(|mine| {
            tool(mine) == tool(test) && mine.about == test.about && mine.scope <= test.scope
        })
    })
}
