//! Images that have the programs: a layer with a runtime that they share, and a layer for each.
//!
//! A recipe is known by all that it is made of, so it is built once, and every task that wants the program stands on the same
//! layer. Packages come from the registry that the machine's own package manager is set to, through the gateway.

use contracts::{
    egress::Network,
    sandbox::{Base, Compute, Recipe},
};

use crate::program::{Package, Program, SHELF};

/// The programs want a newer one than most systems have, and one that is too old gives an old program without a word.
const RUNTIME: Package = Package { name: "node", version: "24.21.0" };

/// What installing needs.
pub const COMPUTE: Compute = Compute {
    cpu_millis: 2_000,
    memory_mib: 3_072,
    disk_mib: 6_144,
    processes: 1_024,
    lifetime: std::time::Duration::from_mins(30),
};

/// One layer of an image, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub what: String,
    pub setup: String,
}

/// The layers that `program` needs, in their order. None for one that is brought along or that an image has itself.
pub fn layers(program: &Program) -> Vec<Layer> {
    if program.packages.is_empty() {
        return Vec::new();
    }
    let runtime = Layer {
        what: format!("{} {}", RUNTIME.name, RUNTIME.version),
        setup: install("node", &[RUNTIME], &[]),
    };
    let names: Vec<String> =
        program.packages.iter().map(|it| format!("{} {}", it.name, it.version)).collect();
    let packages = Layer {
        what: names.join(", "),
        setup: install(program.name, program.packages, program.version),
    };
    vec![runtime, packages]
}

/// The recipe of a layer on top of `base`.
pub fn recipe(layer: &Layer, base: Base, network: Option<Network>) -> Recipe {
    Recipe {
        base,
        sources: Vec::new(),
        setup: Some(layer.setup.clone()),
        compute: COMPUTE,
        network,
    }
}

/// A script that installs packages at exactly their versions, and fails where something else came.
fn install(shelf: &str, packages: &[Package], version: &[&str]) -> String {
    let wanted: Vec<String> =
        packages.iter().map(|it| format!("'{}@{}'", it.name, it.version)).collect();
    let mut script = format!(
        "command -v npm >/dev/null || {{ echo 'this base has no npm: use one that has, or install the agent in your own image' >&2; exit 1; }}\n\
         mkdir -p {SHELF}/{shelf}\n\
         cd {SHELF}/{shelf}\n\
         export PATH={SHELF}/{shelf}/node_modules/.bin:{SHELF}/node/node_modules/.bin:$PATH\n\
         cache=$(mktemp -d)\n\
         npm install --no-audit --no-fund --no-update-notifier --save-exact --cache \"$cache\" --prefix . {}\n\
         rm -rf \"$cache\"\n",
        wanted.join(" ")
    );
    let checks = packages.iter().map(|package| {
        let Package { name, version } = package;
        format!(
            "grep -q '\"version\": *\"{version}\"' node_modules/{name}/package.json || {{ echo '{name} is not at version {version}' >&2; exit 1; }}\n"
        )
    });
    script.extend(checks);
    if !version.is_empty() {
        script.extend(["HOME=$(mktemp -d) ", &version.join(" "), "\n"]);
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_layer_of_its_own_on_a_shared_one() {
        let pi = layers(Program::named("pi").unwrap());
        let codex = layers(Program::named("codex").unwrap());
        assert_eq!(pi[0], codex[0], "the runtime is shared");
        insta::assert_snapshot!(pi[1].setup);
        assert!(layers(Program::named("builtin").unwrap()).is_empty());
    }
}
