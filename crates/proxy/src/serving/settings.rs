//! What the gateway knows of this machine before it shuts itself in.

use rustls::RootCertStore;

use super::reach::{Reach, Resolver};

/// Whom everybody believes, and how names are looked up.
pub struct Settings {
    pub(super) reach: Reach,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("this machine has no certificates of authorities; install `ca-certificates`")]
    NoRoots,
}

impl Settings {
    /// Reads the roots that this machine believes. Call it before [`super::shut_in`]: afterwards the files are out of reach.
    pub fn of_this_machine() -> Result<Self, SettingsError> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some certificates of authorities cannot be read");
        }
        let mut roots = RootCertStore::empty();
        let (added, _ignored) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            return Err(SettingsError::NoRoots);
        }
        Ok(Self { reach: Reach::new(Resolver::System, roots) })
    }

    #[cfg(test)]
    pub(super) fn scripted(reach: Reach) -> Self {
        Self { reach }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}
