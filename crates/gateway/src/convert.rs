//! Between the shapes of the API and the types of the contract.

use std::{error::Error, str::FromStr, time::Duration};

use contracts::{egress::NetworkWish, sandbox as inner};
use domain::{agent::Tier, cost::Cost, policy::EgressPhase, task::Purpose};
use wire::{exec, files, image, sandbox, server};

use crate::{
    extract::bad,
    problem::Answer,
    sockets::{Exposing, Source},
};

pub(crate) const fn tier(tier: sandbox::Tier) -> Tier {
    match tier {
        sandbox::Tier::Verified => Tier::Verified,
        sandbox::Tier::Standard => Tier::Standard,
        sandbox::Tier::Untrusted => Tier::Untrusted,
    }
}

const fn tier_out(tier: Tier) -> sandbox::Tier {
    match tier {
        Tier::Verified => sandbox::Tier::Verified,
        Tier::Standard => sandbox::Tier::Standard,
        Tier::Untrusted => sandbox::Tier::Untrusted,
    }
}

pub(crate) fn capabilities(told: inner::Capabilities) -> server::Capabilities {
    let missing = told.missing.into_iter();
    server::Capabilities {
        tiers: told.tiers.into_iter().map(tier_out).collect(),
        missing: missing
            .map(|(tier, reason)| server::MissingTier { tier: tier_out(tier), reason })
            .collect(),
        weaker: told.weaker,
    }
}

/// What is wished for, and `usual` for the rest.
pub(crate) fn compute(wish: sandbox::ComputeWish, usual: inner::Compute) -> inner::Compute {
    inner::Compute {
        cpu_millis: wish.cpu_millis.unwrap_or(usual.cpu_millis),
        memory_mib: wish.memory_mib.unwrap_or(usual.memory_mib),
        disk_mib: wish.disk_mib.unwrap_or(usual.disk_mib),
        processes: wish.processes.unwrap_or(usual.processes),
        lifetime: wish.lifetime_seconds.map_or(usual.lifetime, Duration::from_secs),
    }
}

pub(crate) fn listed(listed: inner::Listed) -> sandbox::Sandbox {
    let inner::Compute { cpu_millis, memory_mib, disk_mib, processes, lifetime } = listed.compute;
    sandbox::Sandbox {
        id: listed.id.to_string(),
        name: listed.name.map(|name| name.to_string()),
        state: match listed.state {
            inner::State::Open => sandbox::State::Open,
            inner::State::Frozen => sandbox::State::Frozen,
            inner::State::Resting => sandbox::State::Resting,
        },
        owner: match listed.owner {
            inner::Owner::Task(task) => sandbox::Owner::Task(task.to_string()),
            inner::Owner::Person(name) => sandbox::Owner::Person(name),
        },
        purpose: match listed.purpose {
            inner::Use::Phase(Purpose::Research) => sandbox::Purpose::Research,
            inner::Use::Phase(Purpose::Implement) => sandbox::Purpose::Implement,
            inner::Use::Phase(Purpose::Verify) => sandbox::Purpose::Verify,
            inner::Use::Phase(Purpose::Review) => sandbox::Purpose::Review,
            inner::Use::Person => sandbox::Purpose::Person,
            inner::Use::Setup => sandbox::Purpose::Setup,
        },
        image: listed.image,
        tier: tier_out(listed.tier),
        compute: sandbox::Compute {
            cpu_millis,
            memory_mib,
            disk_mib,
            processes,
            lifetime_seconds: lifetime.as_secs(),
        },
        read_only: listed.workspace == inner::WorkspaceAccess::ReadOnly,
        created_at_millis: listed.created_at_millis,
        died: listed.died,
    }
}

pub(crate) const fn workspace(read_only: bool) -> inner::WorkspaceAccess {
    if read_only { inner::WorkspaceAccess::ReadOnly } else { inner::WorkspaceAccess::Writable }
}

pub(crate) const fn stats(reading: inner::Reading) -> sandbox::Stats {
    let Cost { cpu_millis, memory_mib_seconds, network_bytes, .. } = reading.cost;
    sandbox::Stats {
        cpu_millis,
        memory_mib_seconds,
        network_bytes,
        memory_bytes: reading.memory_bytes,
        memory_peak_bytes: reading.memory_peak_bytes,
        disk_bytes: reading.disk_bytes,
        disk_files: reading.disk_files,
        read_bytes: reading.read_bytes,
        written_bytes: reading.written_bytes,
        processes: reading.processes,
        out_of_memory: reading.out_of_memory,
    }
}

pub(crate) const fn user(user: exec::User) -> inner::User {
    match user {
        exec::User::Agent => inner::User::Agent,
        exec::User::Root => inner::User::Root,
    }
}

pub(crate) const fn size(size: exec::Size) -> inner::TerminalSize {
    inner::TerminalSize { columns: size.columns, rows: size.rows }
}

pub(crate) fn finished(finished: &inner::Finished) -> exec::Finished {
    exec::Finished {
        ending: match finished.ending {
            inner::Ended::Exited(code) => exec::Ending::Exited { code },
            inner::Ended::Killed { signal } => exec::Ending::Killed { signal },
            inner::Ended::TimedOut => exec::Ending::TimedOut {},
            inner::Ended::OutOfMemory { peak_mib } => exec::Ending::OutOfMemory { peak_mib },
        },
        cut: finished.cut == inner::Cut::Cut,
        cpu_millis: finished.cost.cpu_millis,
        memory_mib_seconds: finished.cost.memory_mib_seconds,
    }
}

pub(crate) fn entry(entry: inner::Entry) -> files::Entry {
    files::Entry {
        name: entry.name,
        kind: match entry.kind {
            inner::EntryKind::File => files::EntryKind::File,
            inner::EntryKind::Directory => files::EntryKind::Directory,
            inner::EntryKind::Symlink => files::EntryKind::Symlink,
            inner::EntryKind::Other => files::EntryKind::Other,
        },
        size: entry.size,
        mode: entry.mode,
        uid: entry.uid,
        modified_seconds: entry.modified_seconds,
    }
}

pub(crate) fn image(image: inner::Image) -> image::Image {
    image::Image {
        key: image.key.to_string(),
        base: image.base,
        sources: image.sources,
        setup: image.setup,
        bytes: image.bytes,
        built_at_millis: image.built_at_millis,
        used_at_millis: image.used_at_millis,
        users: image.users,
    }
}

pub(crate) fn news(news: inner::BuildNews) -> image::BuildNews {
    match news {
        inner::BuildNews::Stage(text) => image::BuildNews::Stage { text },
        inner::BuildNews::Output(bytes) => {
            image::BuildNews::Output { text: String::from_utf8_lossy(&bytes).into_owned() }
        }
        inner::BuildNews::Proposed { script, because } => {
            image::BuildNews::Proposed { script, because }
        }
    }
}

pub(crate) fn hooks(hooks: sandbox::Hooks) -> inner::Hooks {
    let sandbox::Hooks { post_clone, post_start, pre_teardown } = hooks;
    inner::Hooks { post_clone, post_start, pre_teardown }
}

/// The repositories that are wanted inside.
pub(crate) fn sources(wanted: Vec<sandbox::Repository>) -> Answer<Vec<Source>> {
    let source = |it: sandbox::Repository| match it.name.parse() {
        Ok(name) => Ok(Source { name, url: it.url, revision: it.revision }),
        Err(error) => {
            let error: domain::code::CodeNameError = error;
            let (repository, reason) = (it.name, error.to_string());
            Err(inner::SandboxError::Source { repository, reason }.into())
        }
    };
    wanted.into_iter().map(source).collect()
}

pub(crate) fn network_wish(wish: sandbox::NetworkWish) -> Answer<NetworkWish> {
    let sandbox::NetworkWish { allow, secrets, agent, phase } = wish;
    Ok(NetworkWish {
        allow,
        secrets: names(&secrets)?,
        agent: agent.as_deref().map(parsed).transpose()?,
        phase: match phase {
            Some(sandbox::EgressPhase::Setup) => EgressPhase::Setup,
            Some(sandbox::EgressPhase::Research) => EgressPhase::Research,
            Some(sandbox::EgressPhase::Implement) | None => EgressPhase::Implement,
            Some(sandbox::EgressPhase::Review) => EgressPhase::Review,
        },
    })
}

pub(crate) fn exposing(wish: &exec::ExposeSecrets) -> Answer<Exposing> {
    Ok(Exposing {
        names: names(&wish.names)?,
        agent: wish.agent.as_deref().map(parsed).transpose()?,
        even_untrusted: wish.even_untrusted,
    })
}

fn names<T: FromStr<Err: Error>>(names: &[String]) -> Answer<Vec<T>> {
    names.iter().map(|name| parsed(name)).collect()
}

fn parsed<T: FromStr<Err: Error>>(text: &str) -> Answer<T> {
    text.parse().map_err(|error: T::Err| bad(error.to_string()))
}
