//! Reads the `lamp.yaml` that a person named, as far as doctor needs it.

use std::{
    net::{TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};

use config::{Checked, FileKind, server::DatabaseUrl, text_file};
use rustix::fs::Access as Permission;

use super::super::host::{Configuration, Database};

const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Configured {
    pub(crate) configuration: Configuration,
    /// The data directory that the file names.
    pub(crate) data: Option<PathBuf>,
}

pub(crate) fn measure(path: &Path) -> Configured {
    let file = path.display().to_string();
    let nothing_named = |configuration| Configured { configuration, data: None };
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) => {
            let error = error.to_string();
            return nothing_named(Configuration::Unreadable { file, error });
        }
    };
    match config::check_as(FileKind::Server, &file, &text) {
        Err(wrong) => nothing_named(Configuration::Wrong { file, problems: wrong.problems.len() }),
        Ok(Checked::Server(server)) => {
            // What the file names stands beside it, unless the path is absolute.
            let beside = path.parent().unwrap_or(Path::new(""));
            let data = server.data.as_ref().map(|data| beside.join(data.as_str()));
            let database = server.database.as_ref().map(|url| database(url, beside));
            let database = database.unwrap_or(Database::InDataDirectory);
            Configured { configuration: Configuration::Right { file, database }, data }
        }
        Ok(Checked::Agent(_) | Checked::Policy(_)) => {
            nothing_named(Configuration::Wrong { file, problems: 1 })
        }
    }
}

fn database(url: &DatabaseUrl, beside: &Path) -> Database {
    match url {
        DatabaseUrl::Sqlite { path } => {
            let file = beside.join(path);
            // A file that is not there yet is made in its directory.
            let parent = file.parent().filter(|it| !it.as_os_str().is_empty());
            let target = if file.exists() { &file } else { parent.unwrap_or(Path::new(".")) };
            let answer = rustix::fs::access(target, Permission::WRITE_OK);
            let answer = answer.map_err(|error| error.kind().to_string());
            Database::Sqlite { file, answer }
        }
        DatabaseUrl::Postgres { url } => match host_and_port(url) {
            Some((host, port)) => Database::Postgres {
                answer: connect(&host, port).map_err(|error| error.to_string()),
                address: format!("{host}:{port}"),
            },
            None => Database::PostgresSocket,
        },
    }
}

fn connect(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_stream) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// `postgres://ann@db.example.com:5433/lamp` leads to `db.example.com` and 5433;
/// a URL without a host, or with the directory of a socket, to neither.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (_, rest) = url.split_once("://")?;
    let is_end = |character| "/?#".contains(character);
    let authority = rest.split(is_end).next()?;
    let address = authority.rsplit('@').next()?;
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        Some(_) | None => (address, 5432),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_socket = host.is_empty() || host.contains('%') || rest.contains("host=");
    (!is_socket).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_server_is_found_in_its_url() {
        let table = [
            ("postgres://ann@db.example.com/lamp", Some(("db.example.com", 5432))),
            ("postgresql://db:5433?sslmode=require", Some(("db", 5433))),
            ("postgres://ann@[::1]:6000/lamp", Some(("::1", 6000))),
            ("postgres://[::1]", Some(("::1", 5432))),
            ("postgres:///lamp", None),
            ("postgres://%2Frun%2Fpostgresql/lamp", None),
            ("postgres:///lamp?host=/run/postgresql", None),
            ("postgres://db:port/lamp", None),
        ];
        for (url, expected) in table {
            let expected = expected.map(|(host, port): (&str, u16)| (host.to_owned(), port));
            assert_eq!(host_and_port(url), expected, "{url}");
        }
    }

    #[test]
    fn a_server_that_nobody_runs_does_not_answer() {
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(connect("127.0.0.1", port).is_ok());
        drop(listener);
        assert!(connect("127.0.0.1", port).is_err());
    }
}
