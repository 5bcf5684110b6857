//! The programs on the host, installed by the same scripts that make our images, in a directory of ours.
//!
//! What was installed is kept with the script that did it. Another version is another script, and is installed anew.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use agents::{
    Program,
    program::SHELF,
    recipe::{self, Layer},
};
use anyhow::{Context as _, ensure};
use fs_err as fs;
use tokio::process::Command;

#[derive(Debug)]
pub struct Shelf {
    at: PathBuf,
}

impl Shelf {
    pub fn at(at: &Path) -> Self {
        Self { at: at.to_owned() }
    }

    /// Text that speaks of the shelf in an image, so that it speaks of this one.
    pub fn outward(&self, text: &str) -> String {
        text.replace(SHELF, &self.at.to_string_lossy())
    }

    pub async fn install(&self, program: &Program) -> anyhow::Result<()> {
        fs::create_dir_all(&self.at)?;
        for layer in recipe::layers(program) {
            self.lay(&layer).await.with_context(|| format!("installing {}", layer.what))?;
        }
        Ok(())
    }

    async fn lay(&self, layer: &Layer) -> anyhow::Result<()> {
        let script = self.outward(&layer.setup);
        let name: String = layer
            .what
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let receipt = self.at.join(format!("{name}.sh"));
        if fs::read_to_string(&receipt).is_ok_and(|kept| kept == script) {
            return Ok(());
        }
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &script]).current_dir(&self.at).kill_on_drop(true);
        let told = command.stdin(Stdio::null()).output().await?;
        let said = String::from_utf8_lossy(&told.stderr);
        ensure!(told.status.success(), "{}: {}", told.status, said.trim());
        Ok(fs::write(receipt, script)?)
    }
}
