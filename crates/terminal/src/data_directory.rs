//! Where lamp keeps its data: what a person named, or the system's usual place.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::{environment::Environment, report::Hint};

/// `--data`, for every command that works on the data directory.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct DataFlag {
    /// The data directory; `LAMP_DATA` names it too [default: `$XDG_DATA_HOME/lamplighter`,
    /// or `/var/lib/lamplighter` as root]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// As whom the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    Root,
    Ordinary { uid: u32 },
}

impl Account {
    pub fn own() -> Self {
        match rustix::process::geteuid().as_raw() {
            0 => Self::Root,
            uid => Self::Ordinary { uid },
        }
    }
}

impl DataFlag {
    /// What the person named now comes before what `lamp.yaml` names.
    pub fn directory(
        &self,
        environment: &Environment,
        configured: Option<&Path>,
        account: Account,
    ) -> anyhow::Result<PathBuf> {
        let named = self.data.as_deref().or(environment.data.as_deref()).or(configured);
        decide(named, environment, account)
    }
}

/// Shuts others out of a directory that somebody made before us, as it would be shut if we had made it: requests, plans and transcripts are
/// in it.
pub fn keep_private(directory: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = fs_err::metadata(directory)?.permissions();
    let private = permissions.mode() & !0o077;
    if permissions.mode() == private {
        return Ok(());
    }
    tracing::warn!(directory = %directory.display(), "others could look into the data directory; now only its owner can");
    permissions.set_mode(private);
    Ok(fs_err::set_permissions(directory, permissions)?)
}

fn decide(
    named: Option<&Path>,
    environment: &Environment,
    account: Account,
) -> anyhow::Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    if account == Account::Root {
        return Ok(PathBuf::from("/var/lib/lamplighter"));
    }
    // The XDG specification says to ignore a relative path.
    let share = environment.xdg_data_home.clone().filter(|path| path.is_absolute());
    let home = || environment.home.as_ref().map(|home| home.join(".local/share"));
    let share = share.or_else(home).ok_or_else(|| {
        anyhow!("neither `XDG_DATA_HOME` nor `HOME` is set").context(Hint::new(
            "cannot tell where the data directory is",
            "name it with `--data DIR` or `LAMP_DATA`",
        ))
    })?;
    Ok(share.join("lamplighter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Account = Account::Ordinary { uid: 1000 };

    fn environment(data: Option<&str>, xdg: Option<&str>, home: Option<&str>) -> Environment {
        Environment {
            data: data.map(PathBuf::from),
            xdg_data_home: xdg.map(PathBuf::from),
            home: home.map(PathBuf::from),
            ..Environment::default()
        }
    }

    fn flag(data: Option<&str>) -> DataFlag {
        DataFlag { data: data.map(PathBuf::from) }
    }

    #[test]
    fn the_nearest_word_wins() {
        let all = environment(Some("/env"), Some("/xdg"), Some("/home/ann"));
        let xdg = environment(None, Some("/xdg"), Some("/home/ann"));
        let relative = environment(None, Some("xdg"), Some("/home/ann"));
        let file = Some(Path::new("/file"));
        let table = [
            (flag(Some("flag")), &all, file, Account::Root, "flag"),
            (flag(None), &all, file, Account::Root, "/env"),
            (flag(None), &xdg, file, Account::Root, "/file"),
            (flag(None), &xdg, None, Account::Root, "/var/lib/lamplighter"),
            (flag(None), &xdg, None, ANN, "/xdg/lamplighter"),
            (flag(None), &relative, None, ANN, "/home/ann/.local/share/lamplighter"),
        ];
        for (flag, environment, file, account, expected) in table {
            let decided = flag.directory(environment, file, account).unwrap();
            assert_eq!(decided, Path::new(expected));
        }
    }

    #[test]
    fn nobody_else_looks_into_a_directory_that_was_open_before() {
        use std::os::unix::fs::PermissionsExt as _;
        let open = tempfile::tempdir().unwrap();
        let mode = || fs_err::metadata(open.path()).unwrap().permissions().mode() & 0o777;
        fs_err::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        keep_private(open.path()).unwrap();
        assert_eq!(mode(), 0o700);
        keep_private(open.path()).unwrap();
        assert_eq!(mode(), 0o700);
    }

    #[test]
    fn without_a_home_it_asks() {
        let error = flag(None).directory(&Environment::default(), None, ANN).unwrap_err();
        assert_eq!(error.to_string(), "cannot tell where the data directory is");
    }
}
