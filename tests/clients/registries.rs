//! Real package managers against the real registries of this machine, through the gateway: they install, and publish nothing.
//!
//! Which hosts those are is asked of the package managers, as the server does it. Where they have private addresses, the policy of the test
//! declares them, as a company would declare its mirror.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tests::internet::{OwnHouse, Plan, declared, npm};
use unsupported::unsupported;

/// One package manager: where its registry is, and what it does with it.
struct Manager {
    bundle: &'static str,
    /// Addresses of its registry; none, where it does not say.
    places: Vec<String>,
    install: &'static str,
    /// Prints `published` if it was let through.
    publish: &'static str,
}

fn managers() -> Vec<Manager> {
    vec![
        Manager {
            bundle: "registry:npm",
            places: npm(),
            install: "mkdir n; cd n; npm install --no-audit --no-fund --loglevel=error is-number@7.0.0; test -f node_modules/is-number/index.js",
            publish: "cd n; printf '{\"name\":\"lamplighter-probe\",\"version\":\"1.0.0\"}' > package.json
host=$(npm config get registry | sed 's,^https*:,,'); echo \"${host}:_authToken=none\" > .npmrc
npm publish",
        },
        Manager {
            bundle: "registry:pypi",
            places: pypi(),
            install: "/usr/bin/python3 -m pip install --quiet --target p --no-deps six==1.16.0; test -f p/six.py",
            publish: "/usr/bin/python3 - <<'END'
import urllib.request as u
from pip._internal.models.index import PyPI
print(u.urlopen(u.Request(PyPI.url.rstrip('/') + '/legacy/', b'content', method='POST')).status)
END",
        },
        Manager {
            bundle: "registry:crates",
            places: crates(),
            install: "export CARGO_HOME=/workspace/cargo; cargo init --quiet --vcs none c; cd c; echo 'itoa = \"=1.0.11\"' >> Cargo.toml; cargo fetch --quiet
ls $CARGO_HOME/registry/cache/*/itoa-1.0.11.crate",
            publish: "export CARGO_HOME=/workspace/cargo CARGO_REGISTRY_TOKEN=none; cd c
sed -i 's/^name = .*/name = \"lamplighter-probe\"\\nlicense = \"MIT\"\\ndescription = \"x\"/' Cargo.toml
cargo publish --quiet --no-verify --allow-dirty",
        },
    ]
}

/// What a program of this machine says, as this machine is set up.
fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir("/").output();
    output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default()
}

pub(crate) fn pypi() -> Vec<String> {
    let ask = "from pip._internal.models.index import PyPI as p; print(p.simple_url); print('https://' + p.file_storage_domain)";
    said("/usr/bin/python3", &["-c", ask]).lines().map(str::to_owned).collect()
}

/// The index that cargo complains about without a network, and where the index says that the files are.
pub(crate) fn crates() -> Vec<String> {
    let words =
        ["--config", "http.proxy='127.0.0.1:9'", "--config", "net.retry=0", "info", "serde@1.0.0"];
    let output = Command::new("cargo").args(words).current_dir("/").output();
    let complaint =
        output.map(|it| String::from_utf8_lossy(&it.stderr).into_owned()).unwrap_or_default();
    let mut places: Vec<String> = complaint
        .split(['`', ' ', '\n', '(', ')'])
        .filter(|word| word.starts_with("http") && word.ends_with("config.json"))
        .map(str::to_owned)
        .collect();
    if let Some(index) = places.first() {
        let config: serde_json::Value =
            serde_json::from_str(&said("curl", &["--silent", index])).unwrap_or_default();
        places.extend(config["dl"].as_str().map(str::to_owned));
    }
    places
}

/// A policy with every bundle, and the hosts at private addresses declared.
fn policy(managers: &[Manager]) -> String {
    let declared = declared(managers.iter().flat_map(|it| it.places.iter()));
    let allow: Vec<&str> = managers.iter().map(|it| it.bundle).collect();
    format!("version: 1\negress:\n  implement: {{ allow: ['{}'] }}\n{declared}", allow.join("', '"))
}

/// Where the toolchain is that `cargo` stands for.
fn toolchain() -> Option<PathBuf> {
    let root = said("rustc", &["--print", "sysroot"]);
    Some(PathBuf::from(root.trim())).filter(|path| path.join("bin/cargo").is_file())
}

/// Whether anybody answers there, from this machine itself.
pub(crate) fn answers(place: &str) -> bool {
    let words = ["--silent", "--output", "/dev/null", "--max-time", "20", place];
    Command::new("curl").args(words).status().is_ok_and(|status| status.success())
}

/// Whether somebody wanted to change something there.
fn writes(row: &serde_json::Value) -> bool {
    row["method"].as_str().is_some_and(|method| ["PUT", "POST", "DELETE"].contains(&method))
}

#[test]
fn package_managers_install_from_their_registries_and_publish_nothing() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("a house that sandboxes reach the world from needs root");
    }
    let mut managers = managers();
    managers.retain(|manager| {
        let place = manager.places.first();
        let there = place.is_some_and(|place| answers(place));
        if !there {
            unsupported::part(manager.bundle, "its registry does not answer this machine");
        }
        there
    });
    if managers.is_empty() {
        unsupported!("no registry answers");
    }
    let toolchain = toolchain();
    let shown = toolchain.iter().map(|path| format!("'{}'", path.display()));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let server = format!(
        "version: 1\nsandboxes: {{ warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB, toolchains: [{shown}] }}\n"
    );
    let house = OwnHouse::start(&Plan { server, ..Plan::new(&policy(&managers)) });
    let path = toolchain.as_deref().unwrap_or(Path::new("/usr")).join("bin");
    for manager in &managers {
        let name = manager.bundle.rsplit(':').next().unwrap_or_default();
        house.sandbox(name, &["--allow", manager.bundle]);
        house.knows(name, &manager.places[0]);
        let shown = house.lamp(&["sandbox", "get", name, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        let id = shown["id"].as_str().unwrap().to_owned();
        let begin = format!(
            "set -e; export PATH={}:$PATH HOME=/workspace; cd /workspace; ",
            path.display()
        );
        let said = house.shell(name, &format!("{begin}{}", manager.install));
        assert!(said.succeeded(), "{name}: {said}");
        let said = house.shell(name, &format!("{begin}{}", manager.publish));
        assert!(!said.succeeded(), "{name}: {said}");
        // Refused by us, for what it wanted to do there, and not by the registry for what it was.
        let rows = house.audit(&id);
        let refused = rows.iter().any(|row| row["outcome"] == "refused" && writes(row));
        assert!(refused, "{name}: {said}\n{rows:#?}");
        let written = rows.iter().find(|row| row["outcome"] != "refused" && writes(row));
        assert_eq!(written, None, "{name}: {said}");
        println!("{name}: installed, and published nothing");
    }
    println!("{} of 3 package managers", managers.len());
}
