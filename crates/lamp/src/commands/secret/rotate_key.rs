//! `lamp secret rotate-key`

use std::io::Write;

use terminal::{exit::Exit, refusal::Explained as _};
use wire::client::Client;

/// Make a new master key, and seal every secret with it
///
/// Secrets stay usable meanwhile. The old key is thrown away when nothing needs it any more; a crash on the way loses nothing.
#[derive(Debug, clap::Args)]
pub(super) struct RotateKey {}

impl RotateKey {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let rotated = client.rotate_key().await.explained()?;
        let secrets = match rotated.secrets {
            1 => "1 secret has it".to_owned(),
            many => format!("{many} secrets have it"),
        };
        match rotated.old_key_kept {
            None => {
                writeln!(out, "There is a new master key, and {secrets}. The old one is gone.")?;
            }
            Some(reason) => writeln!(
                out,
                "There is a new master key, and {secrets}. The old one is kept, because {reason}."
            )?,
        }
        Ok(Exit::Done)
    }
}
