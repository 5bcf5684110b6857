//! Programs in the shapes of the API: what is offered, what a sandbox has, and what may be started there.

use std::time::Duration;

use contracts::{
    agent::{Mode, Presence, Steering},
    sandbox::{Compute, Listed, WorkspaceAccess},
};
use wire::{
    agent::{self as shape, Agent, AgentLayer, AgentMode, AgentPackage, Agents, StartAgent},
    error::{Code, Problem},
    sandbox::ComputeWish,
};

use crate::{
    agent_shapes,
    sockets::{AgentDesk, Offer, Offered, Start, WorkError, WrittenAgent},
};

pub(crate) fn offered(offered: &Offered, written: Vec<WrittenAgent>) -> Agents {
    let model = |it: &crate::sockets::Model| shape::Model {
        name: it.name.clone(),
        provider: it.provider.as_str().to_owned(),
        rule: format!("model:{}", it.provider.as_str()),
    };
    Agents {
        agents: offered.agents.iter().map(agent).collect(),
        models: offered.models.iter().map(model).collect(),
        written: written.into_iter().map(of_file).collect(),
    }
}

fn of_file(written: WrittenAgent) -> shape::WrittenAgent {
    let WrittenAgent { name, file, origin, commit, driver, description, problem } = written;
    let origin = origin.to_owned();
    shape::WrittenAgent { name, file, origin, commit, driver, description, problem }
}

fn agent(offer: &Offer) -> Agent {
    let package = |it: &crate::sockets::Package| AgentPackage {
        name: it.name.clone(),
        version: it.version.clone(),
    };
    let layer = |it: &crate::sockets::Layer| AgentLayer {
        what: it.what.clone(),
        setup: it.setup.clone(),
        compute: compute(it.compute),
    };
    Agent {
        name: offer.name.clone(),
        title: offer.title.clone(),
        packages: offer.packages.iter().map(package).collect(),
        formats: offer.formats.clone(),
        models: offer.models.clone(),
        steering: match offer.steering {
            Steering::AtOnce => shape::Steering::AtOnce,
            Steering::AfterTurn => shape::Steering::AfterTurn,
            Steering::Never => shape::Steering::Never,
        },
        memory_mib: offer.memory_mib,
        layers: offer.layers.iter().map(layer).collect(),
        needs_command: offer.needs_command,
        needs_model: offer.needs_model,
    }
}

const fn compute(compute: Compute) -> ComputeWish {
    ComputeWish {
        cpu_millis: Some(compute.cpu_millis),
        memory_mib: Some(compute.memory_mib),
        disk_mib: Some(compute.disk_mib),
        processes: Some(compute.processes),
        lifetime_seconds: Some(compute.lifetime.as_secs()),
    }
}

pub(crate) fn presence(presence: Presence) -> shape::Presence {
    match presence {
        Presence::Here { version } => shape::Presence::Here { version },
        Presence::Other { version, wanted } => shape::Presence::Other { version, wanted },
        Presence::Missing => shape::Presence::Missing {},
        Presence::Broken { reason } => shape::Presence::Broken { reason },
        Presence::NotAsked => shape::Presence::NotAsked {},
    }
}

/// What is to be started, if it is offered and may work in this sandbox.
pub(crate) fn start(
    desk: &dyn AgentDesk,
    sandbox: &Listed,
    start: StartAgent,
) -> Result<Start, Problem> {
    let Agents { agents, models, .. } = offered(&desk.list(), Vec::new());
    let Some(agent) = agents.iter().find(|it| it.name == start.agent) else {
        let names: Vec<&str> = agents.iter().map(|it| it.name.as_str()).collect();
        let message = format!("there is no agent `{}`", start.agent);
        let help = format!("those that there are: {}", names.join(", "));
        return Err(Problem::new(Code::BadRequest, message).with_help(help));
    };
    agent.check(&start, &models)?;
    let mode = mode(start.mode);
    if mode != Mode::Implement && sandbox.workspace != WorkspaceAccess::ReadOnly {
        // The mount keeps the promise, so it has to be there.
        let message = "this sandbox can be written to, and only `implement` may write";
        let help = "use one that was made with `--read-only`, or leave `--sandbox` out";
        return Err(Problem::new(Code::BadRequest, message).with_help(help));
    }
    let StartAgent { agent, request, guidance, provider, model, command, session, .. } = start;
    Ok(Start {
        agent,
        mode,
        request,
        guidance,
        provider,
        model,
        command,
        session,
        directories: start.directories,
        limit: start.limit_millis.map(Duration::from_millis),
    })
}

const fn mode(mode: AgentMode) -> Mode {
    match mode {
        AgentMode::Research => Mode::Research,
        AgentMode::Plan => Mode::Plan,
        AgentMode::Implement => Mode::Implement,
        AgentMode::Review => Mode::Review,
    }
}

pub(crate) fn not_worked(error: WorkError) -> Problem {
    match error {
        WorkError::Unfit { reason } => Problem::new(Code::BadRequest, reason),
        WorkError::Broken { reason } => Problem::new(Code::Internal, reason),
        WorkError::Failed(error) => agent_shapes::trouble(error),
    }
}
