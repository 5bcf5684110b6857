//! Builds the small programs of ours that run in or around a sandbox, and lets this room embed them.
//!
//! What runs inside must be static, because an image may have another libc or none, and free of relocations, because
//! every page that the loader touches is private memory of every sandbox. The proxy runs outside, beside `lamp`, and is linked as `lamp` is:
//! it looks names up as this system is set up to, and only the system's own libc knows how. Neither flags nor a profile can be given to one
//! program of a workspace, so a cargo of its own builds them: as people get them where this room is optimised, and sooner where it is not.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Programs that are built in the same way.
struct Build {
    /// In `Cargo.toml`, where this room is optimised.
    profile: &'static str,
    /// Where it is not.
    quick: &'static str,
    flags: &'static [&'static str],
    /// Rooms, and the program of each.
    programs: &'static [(&'static str, &'static str)],
    /// Rooms that the programs are made of besides.
    parts: &'static [&'static str],
}

const BUILDS: [Build; 2] = [
    Build {
        profile: "program",
        quick: "program-dev",
        flags: &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"],
        programs: &[
            ("guest", "lamp-guest"),
            ("launcher", "lamp-launcher"),
            ("apprentice", "lamp-agent"),
        ],
        parts: &[],
    },
    Build {
        profile: "proxy",
        quick: "proxy-dev",
        flags: &[],
        programs: &[("proxy", "lamp-proxy")],
        parts: &["domain"],
    },
];

fn main() -> Result<(), String> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    // As it is now, and not as it was when this was compiled: two clones may share a target directory.
    let rooms = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    told(&format!("rerun-if-changed={}", rooms.join("../Cargo.lock").display()));
    for build in BUILDS {
        build.run(&rooms, &out)?;
    }
    Ok(())
}

impl Build {
    fn run(&self, rooms: &Path, out: &Path) -> Result<(), String> {
        for room in self.programs.iter().map(|(room, _)| room).chain(self.parts) {
            for part in ["src", "Cargo.toml"] {
                told(&format!("rerun-if-changed={}", rooms.join(room).join(part).display()));
            }
        }
        // OUT_DIR is `<target>/<profile>/build/<package>/out`: beside the profiles, so that they share it.
        let shared = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?;
        let shared = shared.join("programs");
        let target = variable("TARGET")?;
        let profile = if variable("PROFILE")? == "release" { self.profile } else { self.quick };
        let mut cargo = Command::new(variable("CARGO")?);
        cargo
            .args(["build", "--locked", "--quiet", "--profile", profile, "--target", &target])
            .arg("--manifest-path")
            .arg(rooms.join("../Cargo.toml"))
            .arg("--target-dir")
            .arg(&shared)
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags.join("\x1f"))
            .env_remove("RUSTFLAGS")
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env_remove("CARGO_MAKEFLAGS")
            .env_remove("MAKEFLAGS");
        for (room, program) in self.programs {
            cargo.args(["-p", room, "--bin", program]);
        }
        let ended = cargo.status().map_err(|error| format!("cargo does not start: {error}"))?;
        if !ended.success() {
            return Err(format!("building the programs ended with {ended}"));
        }
        for (_, program) in self.programs {
            let built = shared.join(&target).join(profile).join(program);
            std::fs::copy(&built, out.join(program))
                .map_err(|error| format!("{program}: {error}"))?;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by environment")]
fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn told(line: &str) {
    println!("cargo:{line}");
}
