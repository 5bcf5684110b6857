//! Makefiles and justfiles: the targets whose names promise a check.

use super::{
    candidate::{Candidate, Place, Source},
    check::Confidence,
    names,
    targets::Dialect,
    tree::Survey,
    units::Reader,
};

pub(super) fn read(dialect: &Dialect, survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    for directory in survey.directories(dialect.files) {
        let file = dialect.files.iter().find(|name| survey.has(&directory, name));
        let (Some(file), Some(targets)) = (file, dialect.targets(survey, &directory)) else {
            continue;
        };
        let path = directory.file(file);
        for (name, line) in targets.checks() {
            let command = format!("{} {name}", dialect.program);
            let reading = Reader { survey }.line(&command, &directory).unwrap_or_default();
            let says = format!("`{name}` is a target for people to run");
            let place = Place { file: &path, line };
            for mut unit in reading.units {
                // What its recipe does may not be understood; its name was given by people.
                if let Some(kind) = names::kind_of(name) {
                    unit.kind = unit.kind.max(kind);
                }
                found.push(Candidate::written(
                    unit,
                    Source::Target,
                    Confidence::Likely,
                    place,
                    &says,
                ));
            }
        }
    }
    found
}
