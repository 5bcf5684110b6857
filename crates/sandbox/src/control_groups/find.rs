//! Which hierarchy does what, decided once.

use std::path::{Path, PathBuf};

use super::{
    Abilities, Ability, Duty, Found, Place, Version,
    delegation::{self, Unified},
    mounts::{self, Hierarchy},
};

pub(super) fn find(mounts: &str, own: &str, root: &Path, name: &str) -> Found {
    let hierarchies = mounts::hierarchies(mounts, own, root);
    let unified = hierarchies
        .iter()
        .find(|hierarchy| hierarchy.version == Version::Two)
        .map_or_else(|| Err(NOT_MOUNTED.to_owned()), |two| delegation::take(two, name));
    let mut search = Search { hierarchies: &hierarchies, unified, name, places: Vec::new() };

    let cpu = search.limit(Duty::Cpu, "cpu");
    let memory = search.limit(Duty::Memory, "memory");
    let pids = search.limit(Duty::Pids, "pids");
    search.either(Duty::CpuTime, "cpu.stat", "cpuacct");
    let freeze = search.either(Duty::Freeze, "cgroup.freeze", "freezer");
    let kill = search.kill();
    let io = search.io();

    let abilities = Abilities { cpu, memory, pids, freeze, kill, io };
    Found { places: search.places, abilities, proc: root.join("proc") }
}

const NOT_MOUNTED: &str = "no unified hierarchy of control groups is mounted";

struct Search<'found> {
    hierarchies: &'found [Hierarchy],
    unified: Result<Unified, String>,
    name: &'found str,
    places: Vec<Place>,
}

impl Search<'_> {
    /// A limit is kept by whichever version has the controller; a controller is never in both.
    fn limit(&mut self, duty: Duty, controller: &str) -> Ability {
        let refusal = match &self.unified {
            Ok(unified) => match unified.controller(controller) {
                Ok(()) => return self.give_unified(duty),
                Err(refusal) => refusal,
            },
            Err(refusal) => refusal.clone(),
        };
        self.first_version(duty, controller, refusal)
    }

    /// The unified hierarchy does it if its groups have the file; otherwise a controller of version 1.
    fn either(&mut self, duty: Duty, file: &str, controller: &str) -> Ability {
        let refusal = match &self.unified {
            Ok(unified) if unified.has(file) => return self.give_unified(duty),
            Ok(_) => format!("this kernel has no `{file}`"),
            Err(refusal) => refusal.clone(),
        };
        self.first_version(duty, controller, refusal)
    }

    fn kill(&mut self) -> Ability {
        match &self.unified {
            Ok(unified) if unified.has("cgroup.kill") => self.give_unified(Duty::Kill),
            Ok(_) => Ability::No("this kernel has no `cgroup.kill`".to_owned()),
            Err(refusal) => Ability::No(refusal.clone()),
        }
    }

    /// Without the controller the members are asked, which needs a hierarchy that tells who they are.
    fn io(&mut self) -> Ability {
        match &self.unified {
            Ok(unified) if unified.controller("io").is_ok() => self.give_unified(Duty::Io),
            Ok(_) => Ability::Yes,
            Err(_) if !self.places.is_empty() => Ability::Yes,
            Err(refusal) => Ability::No(refusal.clone()),
        }
    }

    fn give_unified(&mut self, duty: Duty) -> Ability {
        if let Ok(unified) = &self.unified {
            let directory = unified.directory.clone();
            self.give(directory, Version::Two, duty);
        }
        Ability::Yes
    }

    fn first_version(&mut self, duty: Duty, controller: &str, refusal: String) -> Ability {
        let has = |hierarchy: &&Hierarchy| hierarchy.controllers.iter().any(|c| c == controller);
        let Some(hierarchy) = self.hierarchies.iter().find(has) else {
            return Ability::No(refusal);
        };
        let made = delegation::make(&hierarchy.mount.join(self.name)).or_else(|refusal| {
            delegation::make(&hierarchy.own.join(self.name)).map_err(|_lower| refusal)
        });
        match made {
            Ok(directory) => {
                self.give(directory, Version::One, duty);
                Ability::Yes
            }
            Err(refusal) => Ability::No(refusal),
        }
    }

    fn give(&mut self, directory: PathBuf, version: Version, duty: Duty) {
        match self.places.iter_mut().find(|place| place.directory == directory) {
            Some(place) => place.duties.push(duty),
            None => self.places.push(Place { directory, version, duties: vec![duty] }),
        }
    }
}
