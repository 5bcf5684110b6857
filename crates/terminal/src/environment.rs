//! The environment variables that lamp reads. All of them, here, once.
//!
//! The rest of the program takes the values as arguments, so that a test can
//! invent them.

use std::{ffi::OsString, path::PathBuf};

/// What the environment said when the program started.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `LAMP_DATA`: the data directory, unless `--data` names another.
    pub data: Option<PathBuf>,
    /// `LAMP_SERVER`: which server to talk to, unless `--server` names another.
    pub server: Option<String>,
    /// `LAMP_TOKEN`: what a server on the loopback wants to be shown, unless it is in the data directory.
    pub token: Option<String>,
    /// `LAMP_MASTER_KEY`: the key that seals secrets, and after it those that it replaces.
    pub master_key: Option<String>,
    /// `LAMP_MASTER_KEY_COMMAND`: prints them instead.
    pub master_key_command: Option<String>,
    /// `ANTHROPIC_API_KEY` and `OPENAI_API_KEY`: for `lamp demo --model`, and for nothing else.
    pub anthropic_api_key: Option<String>,
    pub openai_api_key: Option<String>,
    /// `TMPDIR`: where `lamp demo` makes its directory.
    pub tmpdir: Option<PathBuf>,
    pub xdg_runtime_dir: Option<PathBuf>,
    pub xdg_data_home: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub path: Option<OsString>,
    pub no_color: Option<OsString>,
    pub term: Option<OsString>,
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`, as far as they are set: where the gateway finds certificates.
    pub certificates: Vec<(&'static str, OsString)>,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn read() -> Self {
        let path = |name| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let text = |name| std::env::var(name).ok().filter(|it| !it.is_empty());
        Self {
            data: path("LAMP_DATA"),
            server: text("LAMP_SERVER"),
            token: text("LAMP_TOKEN"),
            master_key: text("LAMP_MASTER_KEY"),
            master_key_command: text("LAMP_MASTER_KEY_COMMAND"),
            anthropic_api_key: text("ANTHROPIC_API_KEY"),
            openai_api_key: text("OPENAI_API_KEY"),
            tmpdir: path("TMPDIR"),
            xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
            xdg_data_home: path("XDG_DATA_HOME"),
            home: path("HOME"),
            path: std::env::var_os("PATH"),
            no_color: std::env::var_os("NO_COLOR"),
            term: std::env::var_os("TERM"),
            certificates: ["SSL_CERT_FILE", "SSL_CERT_DIR"]
                .into_iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?)))
                .collect(),
        }
    }

    /// Where things go that are gone soon.
    pub fn temporary_directory(&self) -> PathBuf {
        let named = self.tmpdir.clone().filter(|path| path.is_absolute());
        named.unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// By the convention of no-color.org, an empty `NO_COLOR` says nothing.
    pub fn welcomes_color(&self) -> bool {
        let refused = self.no_color.as_ref().is_some_and(|value| !value.is_empty());
        let dumb = self.term.as_ref().is_some_and(|term| term == "dumb");
        !refused && !dumb
    }
}
