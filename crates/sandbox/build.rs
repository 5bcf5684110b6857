//! Builds the small programs of ours that run in or around a sandbox, and lets this room embed them.
//!
//! They must be static, because an image may have another libc or none, and free of relocations, because
//! every page that the loader touches is private memory of every sandbox. The flags for that cannot be
//! given to one program of a workspace, so a cargo of its own builds them: small with `program` where this room is optimised, and sooner with
//! `program-dev` where it is not.

use std::{path::PathBuf, process::Command};

const PROGRAMS: [(&str, &str); 3] =
    [("guest", "lamp-guest"), ("launcher", "lamp-launcher"), ("apprentice", "lamp-agent")];

const FLAGS: [&str; 2] = ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];

fn main() -> Result<(), String> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    let profile = if variable("PROFILE")? == "release" { "program" } else { "program-dev" };
    // As it is now, and not as it was when this was compiled: two clones may share a target directory.
    let rooms = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    for (room, _) in PROGRAMS {
        for part in ["src", "Cargo.toml"] {
            told(&format!("rerun-if-changed={}", rooms.join(room).join(part).display()));
        }
    }
    told(&format!("rerun-if-changed={}", rooms.join("../Cargo.lock").display()));

    // OUT_DIR is `<target>/<profile>/build/<package>/out`: beside the profiles, so that they share it.
    let shared = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?;
    let shared = shared.join("programs");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .args(["build", "--locked", "--quiet", "--profile", profile, "--target", &target])
        .arg("--manifest-path")
        .arg(rooms.join("../Cargo.toml"))
        .arg("--target-dir")
        .arg(&shared)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_MAKEFLAGS")
        .env_remove("MAKEFLAGS");
    for (room, program) in PROGRAMS {
        cargo.args(["-p", room, "--bin", program]);
    }
    let ended = cargo.status().map_err(|error| format!("cargo does not start: {error}"))?;
    if !ended.success() {
        return Err(format!("building the programs ended with {ended}"));
    }
    for (_, program) in PROGRAMS {
        let built = shared.join(&target).join(profile).join(program);
        std::fs::copy(&built, out.join(program)).map_err(|error| format!("{program}: {error}"))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by environment")]
fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn told(line: &str) {
    println!("cargo:{line}");
}
