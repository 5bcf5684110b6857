//! What is written is what is read, and nobody else's key opens.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Turns bytes over, and checks the context.
struct Turned;

impl Seal for Turned {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        let turned = plain.iter().map(|byte| !byte);
        Ok(context.bytes().chain([0]).chain(turned).collect())
    }

    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        let start: Vec<u8> = context.bytes().chain([0]).collect();
        let rest = sealed.strip_prefix(start.as_slice()).ok_or("sealed for something else")?;
        Ok(rest.iter().map(|byte| !byte).collect())
    }
}

fn remembered() -> Remembered {
    let rules = |layer, allow: &[&str], deny: &[&str]| {
        let rule = |text: &&str| match text.parse() {
            Ok(bundle) => Rule::Bundle(bundle),
            Err(_) => Rule::reading(text.parse().unwrap()),
        };
        let opaque = Rule::Host {
            host: "db.example.com".parse().unwrap(),
            ports: [5432, 443].into(),
            access: Access::Opaque,
        };
        let allow = allow.iter().map(rule).chain([opaque]).collect();
        let rules = Rules { layer, allow, deny: deny.iter().map(rule).collect() };
        Egress::of(BTreeMap::from([(EgressPhase::Research, rules)]))
    };
    let organisation =
        rules(LayerKind::Organisation, &["github", "*.example.com"], &["bad.example.com"]);
    let mut network = Network::closed(Owner::Task(domain::id::TaskId::from_u128(9)));
    network.spending = Spending {
        person: Some("ada".to_owned()),
        repository: Some("acme/web".parse().unwrap()),
        limit: Some(Money::from_dollars(3)),
    };
    network.variables = BTreeMap::from([("LOG_LEVEL".to_owned(), "info".to_owned())]);
    network.phase = EgressPhase::Research;
    network.egress = organisation.narrow(&rules(LayerKind::Approval, &["github"], &[]));
    network.pushes.push(Push {
        host: "github.com".parse().unwrap(),
        repository: "a/b".to_owned(),
        branch: "lamp/1".to_owned(),
    });
    network.secrets.push("TOKEN".parse().unwrap());
    let internal = Internal {
        host: "cache.example.com".parse().unwrap(),
        ports: vec![443],
        addresses: vec!["10.0.0.1".parse().unwrap(), "fd12::1".parse().unwrap()],
        authority: Some("PEM".to_owned()),
    };
    network.internal.insert("cache".to_owned(), internal);
    let authority = Authority { certificate: "CERT".to_owned(), key: b"the key itself".to_vec() };
    Remembered { network, authority, generation: 3 }
}

#[test]
fn a_network_is_read_as_it_was_written_and_by_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let kept = Kept::open(directory.path().join("egress")).unwrap();
    let (one, other) = (SandboxId::from_u128(1), SandboxId::from_u128(2));
    assert_eq!(kept.read(one, &Turned).unwrap(), None);
    kept.write(one, &remembered(), &Turned).unwrap();
    assert_eq!(kept.read(one, &Turned).unwrap(), Some(remembered()));

    let path = kept.path(one);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&STANDARD.encode("the key itself")));
    std::fs::copy(&path, kept.path(other)).unwrap();
    assert!(kept.read(other, &Turned).is_err(), "the key of another sandbox");

    std::fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
    let error = kept.read(one, &Turned).unwrap_err().to_string();
    assert!(error.ends_with("it has version 2, and this program knows 1"), "{error}");
    kept.remove(one).unwrap();
    kept.remove(one).unwrap();
    assert_eq!(kept.read(one, &Turned).unwrap(), None);
}
