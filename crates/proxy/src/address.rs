//! Which addresses may be dialled.
//!
//! A name that a rule allows may still lead anywhere, so every address that it resolves to is looked at before it is dialled. Only
//! what the public internet routes to someone is left: nothing private, local, special or reserved, none of our own addresses, no
//! cloud's metadata, and no IPv6 address that carries an IPv4 one inside, because what it leads to depends on the network.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// The addresses of this machine, on every interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own(BTreeSet<IpAddr>);

impl FromIterator<IpAddr> for Own {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        Self(addresses.into_iter().map(|address| address.to_canonical()).collect())
    }
}

/// Why an address is not dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("the address is this machine's")]
    Own,
    #[error("the address means this machine or this network")]
    ThisNetwork,
    #[error("the address is a loopback")]
    Loopback,
    #[error("the address belongs to a cloud's metadata service")]
    Metadata,
    #[error("the address is private")]
    Private,
    #[error("the address is shared behind a carrier's network")]
    Shared,
    #[error("the address is link-local")]
    LinkLocal,
    #[error("the address is for many receivers")]
    Multicast,
    #[error("the address is for documents and examples")]
    Documentation,
    #[error("the address is for benchmarks")]
    Benchmark,
    #[error("the address is reserved")]
    Reserved,
    #[error("the address has another address inside")]
    Embedded,
}

/// Whether this address may be dialled for a name that a rule allows.
pub fn dialable(address: IpAddr, own: &Own) -> Result<(), Unfit> {
    match address {
        IpAddr::V4(v4) => public_v4(v4)?,
        IpAddr::V6(v6) => public_v6(v6)?,
    }
    if own.0.contains(&address.to_canonical()) { Err(Unfit::Own) } else { Ok(()) }
}

fn public_v4(address: Ipv4Addr) -> Result<(), Unfit> {
    match address.octets() {
        [0, ..] => Err(Unfit::ThisNetwork),
        [127, ..] => Err(Unfit::Loopback),
        [169, 254, 169, 254] | [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => {
            Err(Unfit::Metadata)
        }
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Err(Unfit::Private),
        [100, 64..=127, ..] => Err(Unfit::Shared),
        [169, 254, ..] => Err(Unfit::LinkLocal),
        [224..=239, ..] => Err(Unfit::Multicast),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Err(Unfit::Documentation),
        [198, 18..=19, ..] => Err(Unfit::Benchmark),
        // Protocol assignments, the relays of 6to4, and what was never given out, with the broadcast address at its end.
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => Err(Unfit::Reserved),
        [..] => Ok(()),
    }
}

fn public_v6(address: Ipv6Addr) -> Result<(), Unfit> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Err(Unfit::ThisNetwork),
        [0, 0, 0, 0, 0, 0, 0, 1] => Err(Unfit::Loopback),
        [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254] => Err(Unfit::Metadata),
        // Compatible, mapped and translated; both prefixes of NAT64; 6to4; Teredo; ISATAP on any network.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x0064, 0xff9b, ..]
        | [0x2002, ..]
        | [0x2001, 0, ..]
        | [_, _, _, _, 0 | 0x0200, 0x5efe, ..] => Err(Unfit::Embedded),
        [0xfe80..=0xfebf, ..] => Err(Unfit::LinkLocal),
        // Unique local, and site-local as it was called before.
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Err(Unfit::Private),
        [0xff00..=0xffff, ..] => Err(Unfit::Multicast),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Err(Unfit::Documentation),
        [0x2001, 0x0002, 0, ..] => Err(Unfit::Benchmark),
        [0x2001, 1..=0x01ff, ..] => Err(Unfit::Reserved),
        // Everything that is given out today begins with the bits 001.
        [0x2000..=0x3fff, ..] => Ok(()),
        [..] => Err(Unfit::Reserved),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged(text: &str) -> Result<(), Unfit> {
        dialable(text.parse().unwrap(), &Own::from_iter(["9.9.9.9".parse().unwrap()]))
    }

    #[test]
    fn only_public_addresses_are_dialled() {
        let table = [
            ("0.0.0.0", Unfit::ThisNetwork),
            ("0.1.2.3", Unfit::ThisNetwork),
            ("::", Unfit::ThisNetwork),
            ("127.0.0.1", Unfit::Loopback),
            ("127.255.255.254", Unfit::Loopback),
            ("::1", Unfit::Loopback),
            ("169.254.169.254", Unfit::Metadata),
            ("100.100.100.200", Unfit::Metadata),
            ("168.63.129.16", Unfit::Metadata),
            ("192.0.0.192", Unfit::Metadata),
            ("fd00:ec2::254", Unfit::Metadata),
            ("fd00:ec2:1::", Unfit::Metadata),
            ("fd20:ce::254", Unfit::Metadata),
            ("10.0.0.1", Unfit::Private),
            ("172.16.0.1", Unfit::Private),
            ("172.31.255.255", Unfit::Private),
            ("192.168.1.1", Unfit::Private),
            ("fd12:3456::1", Unfit::Private),
            ("fc00::1", Unfit::Private),
            ("fec0::1", Unfit::Private),
            ("100.64.0.1", Unfit::Shared),
            ("100.127.255.255", Unfit::Shared),
            ("169.254.0.1", Unfit::LinkLocal),
            ("fe80::1", Unfit::LinkLocal),
            ("febf::1", Unfit::LinkLocal),
            ("224.0.0.1", Unfit::Multicast),
            ("239.255.255.250", Unfit::Multicast),
            ("ff02::1", Unfit::Multicast),
            ("192.0.2.1", Unfit::Documentation),
            ("198.51.100.1", Unfit::Documentation),
            ("203.0.113.1", Unfit::Documentation),
            ("2001:db8::1", Unfit::Documentation),
            ("3fff::1", Unfit::Documentation),
            ("198.18.0.1", Unfit::Benchmark),
            ("198.19.255.255", Unfit::Benchmark),
            ("2001:2::1", Unfit::Benchmark),
            ("192.0.0.1", Unfit::Reserved),
            ("192.88.99.1", Unfit::Reserved),
            ("240.0.0.1", Unfit::Reserved),
            ("255.255.255.255", Unfit::Reserved),
            ("100::1", Unfit::Reserved),
            ("4000::1", Unfit::Reserved),
            ("2001:10::1", Unfit::Reserved),
            ("2001:20::1", Unfit::Reserved),
            ("::ffff:10.0.0.1", Unfit::Embedded),
            ("::ffff:8.8.8.8", Unfit::Embedded),
            ("::10.0.0.1", Unfit::Embedded),
            ("::ffff:0:10.0.0.1", Unfit::Embedded),
            ("64:ff9b::10.0.0.1", Unfit::Embedded),
            ("64:ff9b::8.8.8.8", Unfit::Embedded),
            ("64:ff9b:1::10.0.0.1", Unfit::Embedded),
            ("2002:a00:1::", Unfit::Embedded),
            ("2001::a00:1", Unfit::Embedded),
            ("2606:4700::5efe:10.0.0.1", Unfit::Embedded),
            ("2606:4700::200:5efe:10.0.0.1", Unfit::Embedded),
            ("9.9.9.9", Unfit::Own),
        ];
        for (text, reason) in table {
            assert_eq!(judged(text), Err(reason), "{text}");
        }
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert_eq!(judged(text), Ok(()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_of_our_own_is_never_dialled(bytes in any::<[u8; 16]>()) {
            let address = IpAddr::from(bytes);
            prop_assert!(dialable(address, &Own::from_iter([address])).is_err());
        }

        #[test]
        fn an_embedded_address_is_never_dialled(inner in any::<u32>()) {
            let v4 = Ipv4Addr::from(inner);
            let [a, b, c, d] = v4.octets();
            let pair = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
            let forms = [
                v4.to_ipv6_mapped(),
                v4.to_ipv6_compatible(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, pair[0], pair[1]),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, pair[0], pair[1]),
                Ipv6Addr::new(0x2002, pair[0], pair[1], 0, 0, 0, 0, 0),
                Ipv6Addr::new(0x2606, 1, 2, 3, 0, 0x5efe, pair[0], pair[1]),
            ];
            for form in forms {
                prop_assert!(dialable(form.into(), &Own::default()).is_err(), "{}", form);
            }
        }
    }
}
