//! Who the person is that this server belongs to: there are no accounts yet, and every task has an author.
//!
//! The id is made at the first start, and kept as `<data>/owner`: approvals and receipts name it for good.

use std::{collections::BTreeSet, io, path::Path};

use anyhow::Context as _;
use contracts::ids::IdSource;
use domain::{
    id::PersonId,
    people::{Person, Role},
};
use files::Durability;
use terminal::report::Hint;

const FILE: &str = "owner";

/// The owner of this data directory, who may do everything here.
pub(crate) fn person(data: &Path, ids: &impl IdSource) -> anyhow::Result<Person> {
    let path = data.join(FILE);
    let what = || {
        let hint = format!("bring `{}` back from where it was", path.display());
        Hint::new(format!("cannot use `{}`", path.display()), hint)
    };
    let id = match fs_err::read_to_string(&path) {
        Ok(text) => text.trim().parse().with_context(what)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(&path, PersonId::from_u128(ids.next())).with_context(what)?
        }
        Err(error) => return Err(error).with_context(what),
    };
    Ok(Person { id, role: Role::Admin, teams: BTreeSet::new() })
}

fn make(path: &Path, id: PersonId) -> io::Result<PersonId> {
    files::write(path, format!("{id}\n").as_bytes(), files::PRIVATE, Durability::Synced)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use contracts::ids::SystemIds;

    use super::*;

    #[test]
    fn the_owner_is_the_same_at_every_start() {
        let data = tempfile::tempdir().unwrap();
        let first = person(data.path(), &SystemIds).unwrap();
        assert_eq!(person(data.path(), &SystemIds).unwrap(), first);
        fs_err::write(data.path().join(FILE), "nobody\n").unwrap();
        assert!(person(data.path(), &SystemIds).is_err(), "another must not take their place");
    }
}
