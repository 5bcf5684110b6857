//! What one sandbox of a task is to be, by files, request and approval. Nothing is made here.
//!
//! ```text
//!  base ─▶ runtime ─▶ each program that works in some phase ─▶ the file's setup      image
//!  policy ∩ server ∩ file ∩ approval                                                network, tier, compute
//! ```

use std::{collections::BTreeMap, path::Path, time::Duration};

use agents::recipe;
use config::agent::{AgentFile, Exposure, ImageBase, Pusher};
use contracts::{
    agent::Mode,
    egress::{Push, Spending},
    outfit::{DeclaredCheck, Wanted},
    sandbox::{Base, Compute, Hooks},
    secret::SecretName,
};
use domain::{
    agent::{Tier, Trust},
    policy::{self, Ceilings, EgressPhase, HostName, Rule},
    task::Purpose,
};

use crate::{
    OWNER,
    agents::{Member, Written},
    layers::Layers,
    network::{self, Asked, Granted, Models},
    roster,
    server_files::ServerFiles,
};

/// How long a check may take where nobody says.
const CHECK: Duration = Duration::from_mins(30);

/// All that is known of what one sandbox is to be, before anything is made.
#[derive(Debug)]
pub struct Sketch<'a> {
    pub wanted: &'a Wanted<'a>,
    pub said: &'a ServerFiles,
    pub layers: &'a Layers,
    pub member: Member<'a>,
}

impl Sketch<'_> {
    pub(crate) fn file(&self) -> Option<&AgentFile> {
        self.member.file()
    }

    /// What a file says that no task can have yet must not be passed over in silence.
    pub fn refuse_unknown(&self) -> Result<(), String> {
        let Some(Written { place, file, .. }) = self.member.written else { return Ok(()) };
        if let Some(service) = file.sandbox.services.first() {
            let name = service.name.as_str();
            return Err(format!(
                "`{place}` asks for the service `{name}`, and tasks have no services yet; remove it, or start it with `hooks.post_start`"
            ));
        }
        let exposed = file.sandbox.variables.iter().find(|it| it.expose == Exposure::Env);
        if let Some(variable) = exposed {
            let name = variable.name.as_str();
            return Err(format!(
                "`{place}` gives the agent the value of the secret `{name}`, and tasks get placeholders only; remove `expose: env`"
            ));
        }
        Ok(())
    }

    /// The phase of the network, and the mode of the agent that works in it.
    const fn moment(&self) -> (EgressPhase, Option<Mode>) {
        match self.wanted.purpose {
            Purpose::Research => (EgressPhase::Research, Some(Mode::Research)),
            Purpose::Implement => (EgressPhase::Implement, Some(Mode::Implement)),
            Purpose::Verify => (EgressPhase::Implement, None),
            Purpose::Review => (EgressPhase::Review, Some(Mode::Review)),
        }
    }

    pub fn network(&self) -> Result<Granted, String> {
        let Wanted { task, request, conditions, .. } = *self.wanted;
        let (phase, mode) = self.moment();
        let model = match mode {
            Some(mode) => {
                roster::place(self.said, &request.agent, mode, request.model.as_deref())?.rule
            }
            None => None,
        };
        let models = match mode {
            Some(_) => Models::AsWritten,
            None => Models::LeftOut,
        };
        let asked = match self.file() {
            Some(file) => Asked::Written { rules: rules(file, phase), models },
            None => Asked::Everything,
        };
        let hosts = conditions.and_then(|conditions| conditions.hosts.as_ref());
        let request = network::Request { task, phase, asked, model: model.as_ref(), hosts };
        network::grant(self.layers, request)
    }

    /// For the file's own setup.
    pub fn setup_network(&self) -> Result<Granted, String> {
        let phase = EgressPhase::Setup;
        let rules = self.file().map_or(&[][..], |file| rules(file, phase));
        let asked = Asked::Written { rules, models: Models::AsWritten };
        let task = self.wanted.task;
        let request = network::Request { task, phase, asked, model: None, hosts: None };
        network::grant(self.layers, request)
    }

    /// Variables without a value are secrets of that name. Checks get none: they are what the change says.
    pub fn secrets(&self) -> Result<Vec<SecretName>, String> {
        let (Some(file), Some(_)) = (self.file(), self.moment().1) else { return Ok(Vec::new()) };
        let named = file.sandbox.variables.iter().filter(|it| it.value.is_none());
        let parsed = named.map(|it| it.name.as_str().parse());
        parsed
            .collect::<Result<_, contracts::secret::SecretNameError>>()
            .map_err(|error| error.to_string())
    }

    /// Who pushes what was made. Work that an agent pushes itself is inspected by nobody, so that has to be asked for.
    pub fn pusher(&self) -> Pusher {
        self.file().map_or(Pusher::Platform, |file| file.sandbox.push)
    }

    /// Variables with a value are nobody's secret, and are for all.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let all = self.file().map_or(&[][..], |file| &file.sandbox.variables);
        let valued = all.iter().filter_map(|it| {
            Some((it.name.as_str().to_owned(), it.value.as_ref()?.as_str().to_owned()))
        });
        valued.collect()
    }

    pub fn base(&self) -> Base {
        let written = self.file().and_then(|file| file.sandbox.image.base.as_ref());
        let defaults = &self.said.server.defaults;
        base(written.unwrap_or(&defaults.base), &self.said.beside)
    }

    pub fn setup(&self) -> Option<&str> {
        Some(self.file()?.sandbox.image.setup.as_ref()?.as_str())
    }

    /// A layer for each program, on those that they share.
    pub fn agent_layers(&self) -> Vec<recipe::Layer> {
        let mut layers = Vec::new();
        for layer in self.member.programs().into_iter().flat_map(recipe::layers) {
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        layers
    }

    fn policy(&self) -> policy::Policy {
        let below = [Some(self.layers.platform.clone()), self.file().map(AgentFile::layer)];
        let below: Vec<policy::Layer> = below.into_iter().flatten().collect();
        policy::effective(&self.layers.organisation, &below).policy
    }

    /// Never weaker than the policy wants, and the lightest only for those who can prove who they are, which nobody can yet.
    pub fn tier(&self) -> Tier {
        let asked = self.file().and_then(|file| file.sandbox.tier);
        let asked = asked.unwrap_or(self.said.server.defaults.tier).max(self.policy().tier);
        Tier::granted(asked, &Trust::Named(self.wanted.request.agent.clone()))
    }

    pub fn compute(&self) -> Compute {
        let defaults = &self.said.server.defaults;
        let asked = self.file().map(|file| &file.sandbox.compute);
        let usual = Compute::default();
        let cpu = asked.and_then(|it| it.cpu).unwrap_or(defaults.cpu);
        let memory = asked.and_then(|it| it.memory).unwrap_or(defaults.memory);
        let disk = asked.and_then(|it| it.disk).unwrap_or(defaults.disk);
        let time = asked.and_then(|it| it.timeout).unwrap_or(defaults.timeout);
        let Ceilings { cpu_millis, memory_bytes, disk_bytes, processes, time: longest, .. } =
            self.policy().ceilings;
        Compute {
            cpu_millis: small(cpu.millis().min(cpu_millis)),
            memory_mib: small(memory.bytes().min(memory_bytes) >> 20),
            disk_mib: small(disk.bytes().min(disk_bytes) >> 20),
            processes: small(u64::from(usual.processes).min(processes)),
            lifetime: time.get().min(longest),
        }
    }

    pub fn hooks(&self) -> Hooks {
        let Some(file) = self.file() else { return Hooks::default() };
        let hooks = &file.sandbox.hooks;
        let text = |script: &Option<config::names::Script>| {
            script.as_ref().map(|script| script.as_str().to_owned()).unwrap_or_default()
        };
        Hooks {
            post_clone: text(&hooks.post_clone),
            post_start: text(&hooks.post_start),
            pre_teardown: text(&hooks.pre_teardown),
        }
    }

    pub fn checks(&self) -> Vec<DeclaredCheck> {
        let Some(Written { place, file, .. }) = self.member.written else { return Vec::new() };
        let phase = file.phases.verify.as_ref().map(|verify| verify.timeout.get());
        let declared = file.checks.iter().map(|check| DeclaredCheck {
            name: check.name.as_str().to_owned(),
            command: check.run.as_str().to_owned(),
            report: check.report.as_ref().map(|path| path.as_str().to_owned()),
            limit: check.timeout.map(config::units::RunTime::get).or(phase).unwrap_or(CHECK),
            file: place.clone(),
        });
        declared.collect()
    }
}

fn rules(file: &AgentFile, phase: EgressPhase) -> &[Rule] {
    match phase {
        EgressPhase::Setup => &file.egress.setup,
        EgressPhase::Research => &file.egress.research,
        EgressPhase::Implement => &file.egress.implement,
        EgressPhase::Review => &file.egress.review,
    }
}

/// Host and repository of an address like `https://git.example.com/acme/web.git`; none of any other.
fn https_place(address: &str) -> Option<(HostName, String)> {
    let rest = address.strip_prefix("https://")?;
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    // A port of its own is no part of a host's name, and is refused with it.
    Some((host.parse().ok()?, path.to_owned()))
}

/// Directories stand beside `lamp.yaml`.
fn base(written: &ImageBase, beside: &Path) -> Base {
    match written {
        ImageBase::Host => Base::Host,
        ImageBase::Oci(reference) => Base::Oci(reference.clone()),
        ImageBase::Directory(path) => {
            let path = beside.join(path);
            let path = std::path::absolute(&path).unwrap_or(path);
            Base::Directory(path.display().to_string())
        }
    }
}

/// The right to push to the task's own branch, and to nothing else. Before the gate there is no branch; and where git does not speak
/// HTTPS nothing inside reaches it anyway. `address` is that of the repository that is changed.
pub fn pushes(address: Option<&str>, wanted: &Wanted<'_>) -> Vec<Push> {
    let (Purpose::Implement, Some(branch)) = (wanted.purpose, wanted.branch) else {
        return Vec::new();
    };
    let push = address.and_then(https_place).map(|(host, repository)| Push {
        host,
        repository,
        branch: branch.as_str().to_owned(),
    });
    push.into_iter().collect()
}

/// There is one person here, whoever asked.
pub fn spending(wanted: &Wanted<'_>) -> Spending {
    Spending {
        person: Some(OWNER.to_owned()),
        repository: wanted.request.repositories.first().map(|used| used.name.clone()),
        limit: Some(wanted.budget),
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "outfit_tests.rs"]
pub(crate) mod tests;
