//! Private hosts and trusted agents, which only the security team can name.

use std::{fmt, net::IpAddr, str::FromStr};

use domain::{agent::AgentName, policy::HostName};

use crate::{
    names::{FilePath, PlainName},
    rules::Port,
    shape::{record, text},
};

record! {
    /// A private host, with the addresses that it may have.
    pub struct InternalHost {
        /// Rules name it as `internal:NAME`.
        name: PlainName,
        /// Its host name.
        host: HostName,
        /// Ports.
        ports: Vec<Port> = vec![Port::nearest_to(443)],
        /// The addresses that it may have. An answer with any other is refused.
        addresses: Vec<Address>,
        /// A file with the certificate authority that vouches for it.
        ca: Option<FilePath> = None,
    }
}

/// One address of a host in the company's own network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(IpAddr);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is not an address")]
    Malformed(String),
    #[error("`{0}` is an address that no rule can open: it means this machine, everyone or nobody")]
    Special(IpAddr),
}

/// The metadata service of cloud machines, which hands out credentials.
const METADATA: [&str; 4] =
    ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"];

impl Address {
    pub const fn get(self) -> IpAddr {
        self.0
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address: IpAddr =
            text.parse().map_err(|_not_one| AddressError::Malformed(text.to_owned()))?;
        if address.to_canonical().is_loopback() || is_nobodys(address) {
            return Err(AddressError::Special(address));
        }
        Ok(Self(address))
    }
}

/// Whether an address means everyone, nobody, or something that a cloud keeps for itself.
pub(crate) fn is_nobodys(address: IpAddr) -> bool {
    let canonical = address.to_canonical();
    let is_link_local = match canonical {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let is_metadata = METADATA.contains(&canonical.to_string().as_str());
    canonical.is_unspecified() || canonical.is_multicast() || is_link_local || is_metadata
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text!(
    Address,
    "an address",
    help = "write it as `10.1.2.3` or `fd12::1`; one address, not a range"
);

record! {
    /// An agent whose signature is trusted.
    pub struct TrustedAgent {
        /// The agent's name.
        name: AgentName,
        /// Its Ed25519 public key, as `lamp` prints it.
        public_key: PublicKey,
    }
}

/// An Ed25519 public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a public key of 64 hexadecimal digits after `ed25519:`")]
pub struct PublicKeyError;

impl PublicKey {
    pub const fn bytes(self) -> [u8; 32] {
        self.0
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("ed25519:").ok_or(PublicKeyError)?;
        if digits.len() != 64 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(PublicKeyError);
        }
        let mut key = [0; 32];
        for (position, byte) in key.iter_mut().enumerate() {
            let pair = digits.get(position * 2..position * 2 + 2).ok_or(PublicKeyError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_not_hex| PublicKeyError)?;
        }
        Ok(Self(key))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ed25519:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

text!(
    PublicKey,
    "a public key",
    help = "write `ed25519:` and 64 hexadecimal digits",
    pattern = "^ed25519:[0-9a-fA-F]{64}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_host_is_never_this_machine_nor_its_metadata() {
        for wrong in [
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "169.254.169.254",
            "::ffff:127.0.0.1",
            "fe80::1",
            "224.0.0.1",
            "fd00:ec2::254",
            "10.0.0.0/8",
            "x",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        for right in ["10.1.2.3", "192.168.0.9", "fd12::1"] {
            assert!(right.parse::<Address>().is_ok(), "{right}");
        }
    }

    #[test]
    fn a_key_reads_as_it_prints() {
        let key = format!("ed25519:{}", "0a".repeat(32));
        assert_eq!(key.parse::<PublicKey>().unwrap().to_string(), key);
        assert!("ed25519:é".parse::<PublicKey>().is_err());
    }
}
