//! One sentence about the network: what may be reached, and how.

use std::{collections::BTreeSet, fmt};

use super::{Bundle, HostName, HostPattern, PathPattern, RequestPath};

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A capability; the gateway knows which requests belong to it.
    Bundle(Bundle),
    /// Hosts, with explicit ports and a way of using them.
    Host { host: HostPattern, ports: BTreeSet<u16>, access: Access },
}

/// How a host may be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// The gateway sees each request, and compares method and path.
    Inspected { methods: BTreeSet<Method>, paths: BTreeSet<PathPattern> },
    /// The gateway sees bytes only. Never with a credential.
    Opaque,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    Get,
    Head,
    Options,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Options, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// The methods that ask and do not change. What a rule allows unless it says more.
    pub const READING: [Self; 3] = [Self::Get, Self::Head, Self::Options];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// What one request wants of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    Http {
        method: Method,
        path: RequestPath,
    },
    /// A tunnel whose content nobody sees.
    Tunnel,
}

/// One request, as the gateway understood it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub host: HostName,
    pub port: u16,
    pub reach: Reach,
    /// The bundles that this request belongs to, by the gateway's tables.
    pub bundles: BTreeSet<Bundle>,
}

impl Rule {
    /// Reading over HTTPS from one host or from all below one.
    pub fn reading(host: HostPattern) -> Self {
        let access = Access::Inspected {
            methods: BTreeSet::from(Method::READING),
            paths: BTreeSet::from([PathPattern::any()]),
        };
        Self::Host { host, ports: BTreeSet::from([443]), access }
    }

    pub fn matches(&self, request: &Outgoing) -> bool {
        match self {
            Self::Bundle(bundle) => request.bundles.contains(bundle),
            Self::Host { host, ports, access } => {
                host.matches(&request.host)
                    && ports.contains(&request.port)
                    && access.matches(&request.reach)
            }
        }
    }

    /// Whether this rule alone allows all that the single combination does.
    pub(super) fn covers_single(&self, single: &Single<'_>) -> bool {
        match self {
            Self::Bundle(mine) => single.bundle().is_some_and(|theirs| theirs == mine),
            Self::Host { host, ports, access } => match single {
                Single::Bundle(_) => false,
                Single::Host { host: theirs, port, way } => {
                    host.covers(theirs) && ports.contains(port) && access.covers(way)
                }
            },
        }
    }

    /// The rule, taken apart into combinations of one port, one method and one path.
    pub(super) fn singles(&self) -> Vec<Single<'_>> {
        match self {
            Self::Bundle(bundle) => vec![Single::Bundle(bundle)],
            Self::Host { host, ports, access } => {
                let ways = access.ways();
                let with_port = |port: &u16| {
                    let port = *port;
                    ways.iter().map(move |way| Single::Host { host, port, way: way.clone() })
                };
                ports.iter().flat_map(with_port).collect()
            }
        }
    }

    /// The ports that this rule names. A bundle's are 80 and 443, which need not be named.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        let named = match self {
            Self::Bundle(_) => None,
            Self::Host { ports, .. } => Some(ports),
        };
        named.into_iter().flatten().copied()
    }
}

/// The smallest part of a rule that another rule covers or does not.
#[derive(Debug, Clone)]
pub(super) enum Single<'a> {
    Bundle(&'a Bundle),
    Host { host: &'a HostPattern, port: u16, way: Way<'a> },
}

#[derive(Debug, Clone)]
pub(super) enum Way<'a> {
    Http { method: Method, path: &'a PathPattern },
    Opaque,
}

impl<'a> Single<'a> {
    fn bundle(&self) -> Option<&'a Bundle> {
        match self {
            Self::Bundle(bundle) => Some(bundle),
            Self::Host { .. } => None,
        }
    }
}

impl Access {
    fn matches(&self, reach: &Reach) -> bool {
        match (self, reach) {
            (Self::Opaque, Reach::Http { .. } | Reach::Tunnel) => true,
            (Self::Inspected { .. }, Reach::Tunnel) => false,
            (Self::Inspected { methods, paths }, Reach::Http { method, path }) => {
                methods.contains(method) && paths.iter().any(|pattern| pattern.matches(path))
            }
        }
    }

    fn covers(&self, way: &Way<'_>) -> bool {
        match (self, way) {
            (Self::Opaque, Way::Http { .. } | Way::Opaque) => true,
            (Self::Inspected { .. }, Way::Opaque) => false,
            (Self::Inspected { methods, paths }, Way::Http { method, path }) => {
                methods.contains(method) && paths.iter().any(|pattern| pattern.covers(path))
            }
        }
    }

    fn ways(&self) -> Vec<Way<'_>> {
        match self {
            Self::Opaque => vec![Way::Opaque],
            Self::Inspected { methods, paths } => methods
                .iter()
                .flat_map(|method| paths.iter().map(|path| Way::Http { method: *method, path }))
                .collect(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle(bundle) => write!(f, "{bundle}"),
            Self::Host { host, ports, access } => {
                write!(f, "{host}")?;
                for (position, port) in ports.iter().enumerate() {
                    write!(f, "{}{port}", if position == 0 { ":" } else { "," })?;
                }
                write!(f, " {access}")
            }
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque => f.write_str("opaque"),
            Self::Inspected { methods, paths } => {
                let methods: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
                let paths: Vec<String> = paths.iter().map(PathPattern::to_string).collect();
                write!(f, "{} {}", methods.join("|"), paths.join("|"))
            }
        }
    }
}
