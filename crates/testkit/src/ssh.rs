//! Git over SSH without a server that listens: a real `ssh` whose other end is a real `sshd`, started for one connection and joined by a pipe.
//!
//! Keys and settings are in a directory of their own; nothing of the tester's `~/.ssh` or of the host's own `sshd` is read or touched.

use std::{
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use fs_err as fs;
use tempfile::TempDir;

/// A host of git repositories, and whoever may ask it.
#[derive(Debug)]
pub struct Ssh {
    directory: TempDir,
    user: String,
}

/// As root, it wants this to be there. Debian makes it when it starts the host's own.
const SEPARATION: &str = "/run/sshd";

impl Ssh {
    /// Makes keys for both sides. One side knows the other.
    pub fn set_up() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("lamp-ssh-").tempdir()?;
        let user = said(Command::new("id").arg("--user").arg("--name"))?;
        let server =
            ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|it| Path::new(it).exists());
        let server =
            server.context("sshd is missing: `scripts/setup test` installs openssh-server")?;
        if user == "root" && !Path::new(SEPARATION).exists() {
            std::fs::DirBuilder::new().recursive(true).mode(0o755).create(SEPARATION)?;
        }
        let ssh = Self { directory, user };
        let at = |name: &str| ssh.path(name).display().to_string();
        for name in ["host", "person"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &at(name)];
            said(Command::new("ssh-keygen").args(words))?;
        }
        ssh.admit()?;
        let host = fs::read_to_string(ssh.path("host.pub"))?;
        fs::write(ssh.path("known"), format!("git.example {host}"))?;
        fs::write(
            ssh.path("sshd_config"),
            format!(
                "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n\
                 PasswordAuthentication no\nKbdInteractiveAuthentication no\n",
                at("host"),
                at("admitted")
            ),
        )?;
        fs::write(
            ssh.path("ssh_config"),
            format!(
                "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  \
                 StrictHostKeyChecking yes\n  ProxyCommand {server} -i -f {}\n",
                at("person"),
                at("known"),
                at("sshd_config")
            ),
        )?;
        // Git as it is called, and with its own words for ssh; only where keys are is added.
        let program = ssh.program();
        let script = format!(
            "#!/bin/sh\nGIT_SSH_COMMAND=\"${{GIT_SSH_COMMAND:-ssh}} -F {}\" exec git \"$@\"\n",
            at("ssh_config")
        );
        fs::write(&program, script)?;
        fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(ssh)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The git that knows the way.
    pub fn program(&self) -> PathBuf {
        self.path("git")
    }

    /// The same for a repository's own `core.sshCommand`.
    pub fn command(&self) -> String {
        format!("ssh -F {}", self.path("ssh_config").display())
    }

    /// How a repository of this host is named.
    pub fn address(&self, repository: &Path) -> String {
        format!("ssh://{}@git.example{}", self.user, repository.display())
    }

    /// The person may come in.
    pub fn admit(&self) -> anyhow::Result<()> {
        fs::copy(self.path("person.pub"), self.path("admitted"))?;
        Ok(())
    }

    /// Nobody may come in any more.
    pub fn turn_away(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.path("admitted"), "")?)
    }
}

fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
