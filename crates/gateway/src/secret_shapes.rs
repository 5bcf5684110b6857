//! Secrets between the shapes of the API and the types of the contract. No value goes out.

use contracts::secret::{
    Description, Entry, OldKey, SecretName, SecretValue, Turned,
    binding::{Binding, Exposure, Header, Placement},
};
use wire::{
    error::{Code, Problem},
    secret::{self as shape, BrokenSecret, RotatedKey, Secret, Secrets, SetSecret},
};

use crate::{
    extract::bad,
    problem::{Answer, Trouble},
    sockets::{Kept, ShelfError},
};

/// What is to be kept. One that is bound to hosts and to no place stands where tokens usually do.
pub(crate) fn entry(name: SecretName, wish: SetSecret) -> Answer<Entry> {
    let SetSecret { value, hosts, places, agents, expose, note } = wish;
    let value = SecretValue::new(value);
    let is_swapped = !hosts.is_empty();
    let mut places: Vec<Placement> = places.into_iter().map(place).collect::<Result<_, _>>()?;
    if places.is_empty() && is_swapped {
        places = vec![Placement::Header("authorization".parse().map_err(wrong)?), Placement::Basic];
    }
    let exposure = match expose {
        None => Exposure::Never,
        Some(shape::Expose::Env) => Exposure::Environment,
    };
    let hosts = hosts.iter().map(|host| host.parse().map_err(wrong)).collect::<Result<_, _>>()?;
    let agents =
        agents.iter().map(|agent| agent.parse().map_err(wrong)).collect::<Result<_, _>>()?;
    Ok(Entry { name, value, binding: Binding { hosts, places, agents, exposure }, note })
}

fn place(place: shape::Place) -> Answer<Placement> {
    Ok(match place {
        shape::Place::Header { name, prefix } => {
            Placement::Header(Header::new(&name, &prefix).map_err(wrong)?)
        }
        shape::Place::Basic => Placement::Basic,
        shape::Place::Query { name } => Placement::Query(name.parse().map_err(wrong)?),
    })
}

fn wrong(error: impl std::error::Error) -> Trouble {
    bad(error.to_string())
}

pub(crate) fn described(description: Description) -> Secret {
    let Description { name, binding, note, version, created, updated } = description;
    let place = |place: Placement| match place {
        Placement::Header(header) => shape::Place::Header {
            name: header.name().to_owned(),
            prefix: header.prefix().to_owned(),
        },
        Placement::Basic => shape::Place::Basic,
        Placement::Query(name) => shape::Place::Query { name: name.as_str().to_owned() },
    };
    Secret {
        name: name.to_string(),
        hosts: binding.hosts.iter().map(ToString::to_string).collect(),
        places: binding.places.into_iter().map(place).collect(),
        agents: binding.agents.iter().map(|agent| agent.as_str().to_owned()).collect(),
        expose: match binding.exposure {
            Exposure::Never => None,
            Exposure::Environment => Some(shape::Expose::Env),
        },
        note,
        version,
        created_at_millis: created.as_millis(),
        updated_at_millis: updated.as_millis(),
    }
}

pub(crate) fn kept(kept: Kept) -> Secrets {
    let broken = kept.broken.into_iter();
    let broken = broken.map(|it| BrokenSecret { name: it.name.to_string(), reason: it.reason });
    Secrets { secrets: kept.secrets.into_iter().map(described).collect(), broken: broken.collect() }
}

pub(crate) fn turned(turned: Turned) -> RotatedKey {
    let old_key_kept = match turned.old_key {
        OldKey::Gone => None,
        OldKey::Kept { reason } => Some(reason),
    };
    RotatedKey { secrets: turned.secrets, old_key_kept }
}

impl From<ShelfError> for Trouble {
    fn from(error: ShelfError) -> Self {
        let (code, help) = match &error {
            ShelfError::Unfit { .. } | ShelfError::KeyIsNeeded { .. } => (Code::Limit, None),
            ShelfError::TooLong { .. } => (Code::TooLarge, None),
            ShelfError::Unknown(_) => {
                (Code::NotFound, Some("`lamp secret list` shows those that exist"))
            }
            ShelfError::KeyIsGiven { .. } => (Code::Unsupported, None),
            ShelfError::Unfinished { .. } => (Code::Busy, None),
            ShelfError::NotTurned { .. } => {
                (Code::Internal, Some("nothing is lost; correct the cause and run it again"))
            }
            ShelfError::Broken { .. } => (Code::Internal, None),
        };
        let problem = Problem::new(code, error.to_string());
        Self(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        })
    }
}
