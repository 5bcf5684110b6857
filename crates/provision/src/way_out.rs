//! What the files say about the way out, in the terms of the room that keeps it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use config::{
    policy::PolicyFile,
    server::{Model, ProviderTools, ServerFile},
    text_file,
};
use contracts::egress::Internal;
use domain::policy::{Ecosystem, HostName};
use egress::bundles::{
    Known,
    endpoint::Endpoint,
    github::GithubHosts,
    model::{self, ModelRoute, Models, Upstream},
    registries::{self, Answers, RegistryHosts, Sources},
};

use crate::files::FilesError;

/// Whether the certificates that files name are read. Who only wants to know what is allowed need not have them.
#[derive(Debug, Clone, Copy)]
pub enum Certificates<'a> {
    /// They stand beside the file.
    Beside(&'a Path),
    LeftOut,
}

impl Certificates<'_> {
    fn read(self, name: &str) -> Result<Option<String>, FilesError> {
        let Self::Beside(directory) = self else { return Ok(None) };
        let path = directory.join(name);
        text_file::read(&path).map(Some).map_err(|reason| FilesError::Certificate { path, reason })
    }
}

/// Providers, forges and clouds of a server.
pub fn known(file: &ServerFile, certificates: Certificates<'_>) -> Result<Known, FilesError> {
    let routes: Vec<ModelRoute> = file
        .models
        .iter()
        .map(|model| route(model, certificates))
        .collect::<Result<_, FilesError>>()?;
    let public = GithubHosts::public()?;
    let own = file.github_servers.iter().map(GithubHosts::enterprise);
    let clouds = file
        .clouds
        .iter()
        .map(|cloud| (cloud.provider, cloud.hosts.iter().cloned().collect::<BTreeSet<_>>()))
        .collect();
    Ok(Known {
        models: Models::new(routes)?,
        githubs: std::iter::once(public).chain(own).collect(),
        clouds,
    })
}

fn route(model: &Model, certificates: Certificates<'_>) -> Result<ModelRoute, FilesError> {
    let upstream = |url: &config::server::PublicUrl| -> Result<Upstream, FilesError> {
        let place = url
            .as_str()
            .parse()
            .map_err(|source| FilesError::ModelUrl { model: model.name.to_string(), source })?;
        let addresses: Vec<IpAddr> = model.addresses.iter().map(|it| it.get()).collect();
        let authority = match &model.ca {
            Some(ca) => certificates.read(ca.as_str())?,
            None => None,
        };
        Ok(Upstream { place, addresses, authority })
    };
    Ok(ModelRoute {
        name: model.name.to_string(),
        provider: model.provider,
        secret: model.secret.as_ref().map(|name| name.to_string().parse()).transpose()?,
        upstream: model.url.as_ref().map(upstream).transpose()?,
        tools: match model.provider_tools {
            ProviderTools::Allowed => model::ProviderTools::Allowed,
            ProviderTools::Refused => model::ProviderTools::Refused,
        },
    })
}

/// The private hosts of a policy, by the names that rules use.
pub fn internal(
    file: &PolicyFile,
    certificates: Certificates<'_>,
) -> Result<BTreeMap<String, Internal>, FilesError> {
    let one = |host: &config::policy::InternalHost| {
        let ports = host.ports.iter().filter_map(|port| u16::try_from(port.get()).ok()).collect();
        let authority = match &host.ca {
            Some(ca) => certificates.read(ca.as_str())?,
            None => None,
        };
        let internal = Internal {
            host: host.host.clone(),
            ports,
            addresses: host.addresses.iter().map(|it| it.get()).collect(),
            authority,
        };
        Ok((host.name.to_string(), internal))
    };
    file.internal.iter().map(one).collect()
}

/// The registries of this host: what the server's file says, and for the others of `wanted` what the package managers say.
pub fn registries_of_host(
    file: &ServerFile,
    wanted: impl IntoIterator<Item = Ecosystem>,
    home: Option<&Path>,
) -> RegistryHosts {
    let said = said_registries(file);
    let asked = wanted.into_iter().filter(|ecosystem| !said.contains_key(ecosystem));
    let found = asked.map(|ecosystem| (ecosystem, places_on_host(ecosystem, home)));
    RegistryHosts::new(found).overridden(&said)
}

/// The same for a server: a package manager is asked when somebody has to know, because it takes its time, and most never need to be.
pub fn registries_when_needed(file: &ServerFile, home: Option<PathBuf>) -> Arc<RegistryHosts> {
    let ask = move |ecosystem: Ecosystem| places_on_host(ecosystem, home.as_deref());
    Arc::new(RegistryHosts::asking(Arc::new(ask)).overridden(&said_registries(file)))
}

fn said_registries(file: &ServerFile) -> BTreeMap<Ecosystem, Vec<HostName>> {
    file.registries.iter().map(|it| (it.ecosystem, it.hosts.clone())).collect()
}

fn places_on_host(ecosystem: Ecosystem, home: Option<&Path>) -> BTreeSet<Endpoint> {
    let answers = ask(registries::sources(ecosystem), home);
    registries::places(ecosystem, &answers).places
}

/// Asks the package managers of this host. One that is not there says nothing.
fn ask(sources: Sources, home: Option<&Path>) -> Answers {
    let mut answers = Answers::default();
    let all = sources.commands.iter().map(|words| (words, Heard::Output));
    let complaints = sources.complaints.iter().map(|words| (words, Heard::Complaint));
    for (words, heard) in all.chain(complaints) {
        if let Some(text) = said(words, heard) {
            answers.commands.insert(words.join(" "), text);
        }
    }
    let paths = sources.files.iter().flat_map(|pattern| matching(pattern, home));
    answers.files = paths.filter_map(|path| text_file::read(&path).ok()).collect();
    answers
}

#[derive(Debug, Clone, Copy)]
enum Heard {
    Output,
    Complaint,
}

fn said(words: &[&str], heard: Heard) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    // They need the person's settings, and nothing of ours: the master key may be among it.
    let theirs = std::env::vars_os();
    let theirs = theirs.filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"LAMP"));
    let output = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(theirs)
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let bytes = match heard {
        Heard::Output => output.stdout,
        Heard::Complaint => output.stderr,
    };
    String::from_utf8(bytes).ok()
}

/// The files that `pattern` means: `~/` is the home, and `*` any part of one name.
fn matching(pattern: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let (start, rest) = match pattern.strip_prefix("~/") {
        Some(rest) => match home {
            Some(home) => (home.to_owned(), rest),
            None => return Vec::new(),
        },
        None => (PathBuf::from("/"), pattern.trim_start_matches('/')),
    };
    rest.split('/').fold(vec![start], |directories, part| match part.split_once('*') {
        None => directories.into_iter().map(|directory| directory.join(part)).collect(),
        Some((before, after)) => {
            let fits = |entry: &fs_err::DirEntry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.len() >= part.len() - 1 && name.starts_with(before) && name.ends_with(after)
            };
            let listed =
                directories.iter().filter_map(|directory| fs_err::read_dir(directory).ok());
            let mut found: Vec<_> =
                listed.flatten().flatten().filter(fits).map(|entry| entry.path()).collect();
            found.sort();
            found
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_of_one_name() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a.list", "b.sources", "c.list.off"] {
            fs_err::create_dir_all(home.path().join("d")).unwrap();
            fs_err::write(home.path().join("d").join(name), "x").unwrap();
        }
        let found = matching("~/d/*.list", Some(home.path()));
        assert_eq!(found, [home.path().join("d/a.list")]);
        assert_eq!(matching("~/d/*.list", None), Vec::<PathBuf>::new());
        assert_eq!(matching("/etc/pip.conf", None), [Path::new("/etc/pip.conf")]);
    }

    #[test]
    fn a_model_goes_where_the_file_says() {
        let text = "{ version: 1, models: [{ name: own, provider: openai-compatible, secret: KEY, \
            url: 'http://models.example.com:8000/v1', addresses: [10.0.0.9], provider_tools: true }], \
            clouds: [{ provider: aws, hosts: [sts.eu-central-1.amazonaws.com] }], \
            registries: [{ ecosystem: npm, hosts: [npm.example.com] }], github_servers: [ghe.example.com] }";
        let checked = config::check_as(config::FileKind::Server, "lamp.yaml", text).unwrap();
        let config::Checked::Server(file) = checked else { panic!("a server's file") };
        let known = known(&file, Certificates::LeftOut).unwrap();
        assert_eq!(known.githubs.len(), 2);
        assert_eq!(known.clouds.len(), 1);
        let host = "models.example.com".parse().unwrap();
        assert_eq!(known.models.at(&host, Some(8000)).count(), 1);
        let hosts = registries_of_host(&file, [Ecosystem::Npm], None);
        assert_eq!(hosts.of(Ecosystem::Npm).count(), 1);
    }
}
