//! What the keeper keeps, hands out, forgets, and survives.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use contracts::sandbox::Owner;
use proptest::prelude::*;

use super::*;
use crate::{
    binding::{Exposure, Placement},
    randomness::SystemRandomness,
};

const VALUE: &str = "ghp_a-value-nobody-may-see";
const NOW: Timestamp = Timestamp::from_millis(1_794_787_200_000);

struct House {
    directory: tempfile::TempDir,
}

impl House {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("secrets")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("master.key")
    }

    fn open(&self) -> Keeper {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Keeper, KeeperError> {
        Keeper::open(self.data(), Master::File(self.key()), SystemRandomness)
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut directories = vec![self.directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    found.push((path.clone(), fs::read(path).unwrap()));
                }
            }
        }
        found
    }
}

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn entry(text: &str, value: &str) -> Entry {
    let binding = Binding {
        hosts: vec!["api.github.com".parse().unwrap(), "*.example.com".parse().unwrap()],
        places: vec![
            Placement::Header("Authorization: Bearer".parse().unwrap()),
            Placement::Basic,
            Placement::Query("key".parse().unwrap()),
        ],
        agents: vec!["fixer".parse().unwrap()],
        exposure: Exposure::Never,
    };
    Entry {
        name: name(text),
        value: SecretValue::new(value.to_owned()),
        binding,
        note: "for tests".to_owned(),
    }
}

fn exposed_entry(text: &str, value: &str) -> Entry {
    let binding = Binding { exposure: Exposure::Environment, ..Binding::default() };
    Entry { binding, ..entry(text, value) }
}

fn key(seq: u64) -> Key {
    Key { task: TaskId::from_u128(5), seq, part: "test", number: 0 }
}

#[tokio::test]
async fn the_keeper_keeps_its_promises() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(entry("KNOWN", VALUE), NOW).unwrap();
    contracts::promises::secret::kept(&keeper, &name("KNOWN"), VALUE, &name("OTHER"))
        .await
        .unwrap();
}

#[tokio::test]
async fn everything_survives_a_restart_and_nothing_is_written_in_the_open() {
    let house = House::new();
    let keeper = house.open();
    assert_eq!(keeper.set(entry("A", VALUE), NOW).unwrap(), Set::Made);
    let sandbox = SandboxId::from_u128(1);
    keeper.grant(key(3), sandbox).await.unwrap();
    let described = keeper.list();
    drop(keeper);
    let keeper = house.open();
    assert_eq!(keeper.list(), described);
    assert_eq!(described[0].version, 1);
    let value = keeper.value(&name("A"), key(3).task, sandbox).await.unwrap();
    assert_eq!(value.expose(), VALUE);
    keeper.revoke(key(4)).await.unwrap();
    let keeper = house.open();
    assert_eq!(keeper.value(&name("A"), key(3).task, sandbox).await, Err(SecretError::Revoked));
    assert_eq!(keeper.grant(key(3), sandbox).await, Err(SecretError::Revoked));
    for (path, bytes) in house.files() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
        assert!(!String::from_utf8_lossy(&bytes).contains(VALUE), "{}", path.display());
    }
    for directory in ["", "values", "grants", "inside"].map(|part| house.data().join(part)) {
        assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert!(!format!("{keeper:?} {:?}", entry("A", VALUE)).contains(VALUE));
}

#[tokio::test]
async fn a_new_value_is_handed_out_at_once_and_a_deleted_one_never() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(entry("A", VALUE), NOW).unwrap();
    let sandbox = SandboxId::from_u128(1);
    keeper.grant(key(1), sandbox).await.unwrap();
    let later = Timestamp::from_millis(NOW.as_millis() + 1);
    assert_eq!(keeper.set(entry("A", "another value"), later).unwrap(), Set::Replaced);
    let described = keeper.describe(&name("A")).unwrap();
    assert_eq!((described.version, described.created, described.updated), (2, NOW, later));
    let value = keeper.value(&name("A"), key(1).task, sandbox).await.unwrap();
    assert_eq!(value.expose(), "another value");
    keeper.delete(&name("A")).unwrap();
    assert!(matches!(keeper.delete(&name("A")), Err(DeleteError::Unknown(_))));
    let gone = keeper.value(&name("A"), key(1).task, sandbox).await;
    assert_eq!(gone, Err(SecretError::Unknown(name("A"))));
    assert_eq!(house.open().list(), []);
}

#[test]
fn what_cannot_be_kept_well_is_refused_with_a_sentence() {
    let house = House::new();
    let keeper = house.open();
    let refused = |entry: Entry| keeper.set(entry, NOW).unwrap_err().to_string();
    let placeholder = Placeholder::make(name("A"), &SystemRandomness).unwrap().to_string();
    let unbound = Entry { binding: Binding::default(), ..entry("A", VALUE) };
    let mut placeless = entry("A", VALUE);
    placeless.binding.places.clear();
    let told = [
        refused(entry("A", "short")),
        refused(entry("A", &"x".repeat(LONGEST + 1))),
        refused(exposed_entry("A", "a zero \0 in it")),
        refused(entry("A", "a line\nbreak")),
        refused(entry("A", " space at an end")),
        refused(entry("A", "a letter beyond: ü")),
        refused(entry("A", &format!("Bearer {placeholder}"))),
        refused(unbound),
        refused(placeless),
        refused(Entry { note: "a\nb".to_owned(), ..entry("A", VALUE) }),
    ];
    insta::assert_snapshot!(told.join("\n"));
    assert_eq!(keeper.list(), []);
    keeper.set(exposed_entry("A", "two lines\nare fine here"), NOW).unwrap();
}

#[test]
fn a_secret_whose_file_was_changed_is_broken_and_the_others_are_not() {
    let house = House::new();
    let keeper = house.open();
    for text in ["A", "B", "C", "D"] {
        keeper.set(entry(text, VALUE), NOW).unwrap();
    }
    let place = |text: &str| house.data().join("values").join(text);
    let bytes = fs::read(place("A")).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let at = text.find("api.github.com").unwrap();
    let mut changed = bytes.clone();
    changed[at..at + 14].copy_from_slice(b"api.attack.com");
    fs::write(place("A"), &changed).unwrap();
    fs::write(place("B"), &bytes).unwrap();
    fs::write(place("C"), "{}\n").unwrap();
    fs::write(place(".E.unfinished"), "half").unwrap();
    let keeper = house.open();
    let broken: Vec<String> = keeper
        .broken()
        .into_iter()
        .map(|broken| format!("{}: {}", broken.name, broken.reason))
        .collect();
    insta::assert_snapshot!(broken.join("\n"));
    assert_eq!(keeper.list().len(), 1);
    assert!(!place(".E.unfinished").exists());
    assert!(
        matches!(keeper.turn_over(&[]), Err(TurnError::Broken(_))),
        "their key is not thrown away"
    );
    for text in ["A", "B", "C"] {
        keeper.delete(&name(text)).unwrap();
    }
    assert_eq!(keeper.turn_over(&[]).unwrap(), Turned { secrets: 1, old_key: OldKey::Gone });
}

#[test]
fn a_lost_master_key_is_not_replaced_by_another() {
    let house = House::new();
    house.open().set(entry("A", VALUE), NOW).unwrap();
    fs::remove_file(house.key()).unwrap();
    let told = house.try_open().unwrap_err();
    assert!(matches!(told, KeeperError::KeyIsLost { .. }), "{told}");
    assert!(!house.key().exists());
}

struct Others(AtomicUsize, Result<(), String>);

impl Reseal for Others {
    fn reseal(&self, _: &Sealer) -> Result<(), String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.clone()
    }
}

#[tokio::test]
async fn the_master_key_is_turned_over_while_secrets_are_used() {
    let house = House::new();
    let keeper = house.open();
    for text in ["A", "B"] {
        keeper.set(entry(text, VALUE), NOW).unwrap();
    }
    let sandbox = SandboxId::from_u128(1);
    keeper.grant(key(1), sandbox).await.unwrap();
    let before = fs::read_to_string(house.key()).unwrap();
    let closed = keeper.sealer().seal("elsewhere", b"bytes").unwrap();
    let others = Others(AtomicUsize::new(0), Ok(()));
    assert_eq!(keeper.turn_over(&[&others]).unwrap(), Turned { secrets: 2, old_key: OldKey::Gone });
    assert_eq!(others.0.load(Ordering::Relaxed), 1);
    let after = fs::read_to_string(house.key()).unwrap();
    assert_ne!(before, after);
    assert_eq!(after.lines().count(), 1, "the old key is gone");
    assert!(keeper.sealer().open("elsewhere", &closed).is_err());
    for keeper in [keeper, house.open()] {
        let value = keeper.value(&name("B"), key(1).task, sandbox).await.unwrap();
        assert_eq!(value.expose(), VALUE);
    }
}

#[test]
fn turning_over_that_stops_half_way_loses_nothing_and_goes_on() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(entry("A", VALUE), NOW).unwrap();
    let others = Others(AtomicUsize::new(0), Err("the disk is full".to_owned()));
    let turned = keeper.turn_over(&[&others]).unwrap();
    assert_eq!(turned.old_key, OldKey::Kept { reason: "the disk is full".to_owned() });
    let told = keeper.turn_over(&[&others]).unwrap_err().to_string();
    assert!(told.contains("because the disk is full"), "keys do not pile up: {told}");
    assert_eq!(fs::read_to_string(house.key()).unwrap().lines().count(), 2);
    let keeper = house.open();
    assert_eq!((keeper.list().len(), keeper.broken()), (1, Vec::new()));
    keeper.finish_turning(&[]).unwrap();
    assert_eq!(fs::read_to_string(house.key()).unwrap().lines().count(), 1);
    assert_eq!(house.open().broken(), []);
}

#[test]
fn a_key_that_the_operator_gives_is_turned_over_by_giving_two() {
    let house = House::new();
    let (old, new) = ("1".repeat(64), "2".repeat(64));
    let open = |keys: &str| {
        Keeper::open(house.data(), Master::Given(keys.parse().unwrap()), SystemRandomness).unwrap()
    };
    open(&old).set(entry("A", VALUE), NOW).unwrap();
    assert!(matches!(open(&old).turn_over(&[]), Err(TurnError::Given)));
    assert_eq!(open(&new).broken().len(), 1);
    open(&format!("{new} {old}")).finish_turning(&[]).unwrap();
    assert_eq!(open(&new).broken(), []);
    assert!(!house.key().exists());
}

#[tokio::test]
async fn values_that_are_kept_are_removed_from_text() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(entry("A", VALUE), NOW).unwrap();
    let text = format!("token={VALUE}");
    assert_eq!(keeper.redactions().unwrap().text(&text), "token=[redacted]");
    keeper.set(entry("A", "another value"), NOW).unwrap();
    assert_eq!(keeper.redactions().unwrap().text("another%20value"), "[redacted]");
    keeper.delete(&name("A")).unwrap();
    assert_eq!(keeper.redactions().unwrap().text("another value"), "another value");
}

#[test]
fn placeholders_stay_the_same_until_their_sandbox_is_gone() {
    let house = House::new();
    let (one, other) = (SandboxId::from_u128(1), SandboxId::from_u128(2));
    let names = [name("A"), name("B")];
    let keeper = house.open();
    let first = keeper.placeholders(one, &names[..1]).unwrap();
    let both = keeper.placeholders(one, &names).unwrap();
    assert_eq!(both[&names[0]], first[&names[0]]);
    assert_ne!(keeper.placeholders(other, &names).unwrap()[&names[0]], first[&names[0]]);
    assert_eq!(house.open().placeholders(one, &names).unwrap(), both);
    assert_eq!(house.open().placeholders(one, &names[..1]).unwrap(), first, "others are not told");
    keeper.forget(one).unwrap();
    assert_ne!(keeper.placeholders(one, &names).unwrap(), both);
    fs::write(house.data().join("inside").join(other.to_string()), "nonsense\n").unwrap();
    assert!(house.open().placeholders(other, &names).is_err());
}

#[test]
fn the_server_uses_its_own_keys_without_a_grant() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(entry("MODEL", VALUE), NOW).unwrap();
    assert_eq!(keeper.for_the_server(&name("MODEL")).unwrap().expose(), VALUE);
    assert!(matches!(keeper.for_the_server(&name("NONE")), Err(SecretError::Unknown(_))));
}

#[tokio::test]
async fn a_sandbox_that_is_gone_leaves_no_grant_and_what_was_withdrawn_stays_so() {
    let house = House::new();
    let keeper = house.open();
    let (one, other) = (SandboxId::from_u128(1), SandboxId::from_u128(2));
    keeper.grant(key(1), one).await.unwrap();
    let files = || fs::read_dir(house.data().join("grants")).unwrap().count();
    assert_eq!(files(), 1);
    keeper.end_grant(key(1).task, other).unwrap();
    assert_eq!(files(), 1, "another's");
    keeper.end_grant(key(1).task, one).unwrap();
    assert_eq!(files(), 0);
    keeper.grant(key(2), one).await.unwrap();
    keeper.revoke(key(5)).await.unwrap();
    keeper.grant(key(6), one).await.unwrap();
    keeper.end_grant(key(1).task, one).unwrap();
    assert_eq!(house.open().grant(key(4), one).await, Err(SecretError::Revoked));
}

struct Book(Mutex<Vec<Exposed>>, Result<(), String>);

impl Witness for Book {
    async fn note(&self, exposed: &Exposed) -> Result<(), String> {
        self.0.lock().unwrap().push(exposed.clone());
        self.1.clone()
    }
}

#[tokio::test]
async fn a_value_enters_a_sandbox_only_by_its_own_word_and_after_it_was_written_down() {
    let house = House::new();
    let keeper = house.open();
    keeper.set(exposed_entry("AWS", VALUE), NOW).unwrap();
    keeper.set(entry("GITHUB", VALUE), NOW).unwrap();
    let mut bound = exposed_entry("BOUND", VALUE);
    bound.binding.agents = vec!["other".parse().unwrap()];
    keeper.set(bound, NOW).unwrap();
    let by = Use {
        owner: Owner::Task(key(1).task),
        sandbox: SandboxId::from_u128(1),
        agent: Some("fixer".parse().unwrap()),
    };
    let book = Book(Mutex::default(), Ok(()));
    let ask = async |names: &[&str]| {
        let names: Vec<SecretName> = names.iter().map(|text| name(text)).collect();
        keeper.expose(&names, &by, "aws s3 ls", &book).await
    };
    assert_eq!(ask(&["AWS"]).await, Err(ExposeError::Secret(SecretError::Revoked)));
    keeper.grant(key(1), by.sandbox).await.unwrap();
    assert_eq!(ask(&["AWS", "GITHUB"]).await, Err(ExposeError::NotExposed(name("GITHUB"))));
    let others = Err(ExposeError::Secret(SecretError::ForAgents(name("BOUND"))));
    assert_eq!(ask(&["BOUND"]).await, others);
    let nobodys = Use { agent: None, ..by.clone() };
    assert_eq!(keeper.expose(&[name("BOUND")], &nobodys, "aws", &book).await, others);
    let theirs = Use { agent: Some("other".parse().unwrap()), ..by.clone() };
    let theirs = Use { owner: Owner::Person("ann".to_owned()), ..theirs };
    assert!(keeper.expose(&[name("BOUND")], &theirs, "aws", &book).await.is_ok());
    book.0.lock().unwrap().clear();
    assert!(matches!(ask(&["NONE"]).await, Err(ExposeError::Secret(SecretError::Unknown(_)))));
    assert!(book.0.lock().unwrap().is_empty());
    let given = ask(&["AWS"]).await.unwrap();
    assert_eq!(given, [(name("AWS"), SecretValue::new(VALUE.to_owned()))]);
    let noted = book.0.lock().unwrap().clone();
    assert_eq!((noted.len(), noted[0].program.as_str(), noted[0].version), (1, "aws s3 ls", 1));
    let closed = Book(Mutex::default(), Err("the log is full".to_owned()));
    let refused = keeper.expose(&[name("AWS")], &by, "aws", &closed).await.unwrap_err();
    assert!(matches!(refused, ExposeError::NotWritten { .. }), "{refused}");
}

proptest! {
    #[test]
    fn any_file_is_read_as_a_secret_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        line in "\\{(\"(format|name|hosts|places)\":(1|\"A\"|\\[\\]|\\[\"a\\.b\"\\]),?){0,5}\\}\n.{0,20}",
    ) {
        prop_assert!(Record::parse(&name("A"), &bytes).is_err());
        prop_assert!(Record::parse(&name("A"), line.as_bytes()).is_err());
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_no_secret(cut in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>()) {
        let sealer = Sealer::new("1".repeat(64).parse().unwrap(), SystemRandomness);
        let Entry { name, value, binding, note } = entry("A", VALUE);
        let description = Description { name: name.clone(), binding, note, version: 1, created: NOW, updated: NOW };
        let record = Record::seal(description, value.expose(), &sealer).unwrap();
        let bytes = record.to_bytes().to_vec();
        prop_assert_eq!(&Record::parse(&name, &bytes).unwrap(), &record);
        let opens = |bytes: &[u8]| Record::parse(&name, bytes).ok().and_then(|record| record.open(&sealer).ok());
        prop_assert!(opens(&bytes).is_some());
        prop_assert!(opens(&bytes[..cut.index(bytes.len())]).is_none());
        let mut flipped = bytes.clone();
        flipped[flip.index(bytes.len())] ^= 1;
        prop_assert!(opens(&flipped).is_none());
    }

    #[test]
    fn headers_and_parameters_are_read_or_refused(text in "[A-Za-z: _\u{e4}-]{0,20}") {
        if let Ok(header) = text.parse::<crate::binding::Header>() {
            prop_assert_eq!(header.to_string().parse(), Ok(header));
        }
        let _ = text.parse::<crate::binding::Parameter>();
    }
}
