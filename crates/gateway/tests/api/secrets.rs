//! Secrets through the door: they go in, are described, and do not come out.

use std::{collections::BTreeMap, sync::Mutex};

use contracts::secret::{Description, Entry, OldKey, SecretName, Turned};
use domain::time::Timestamp;
use futures::future::BoxFuture;
use gateway::sockets::{Kept, SecretShelf, ShelfError};
use wire::{
    client::ClientError,
    error::Code,
    secret::{Place, SetSecret},
};

use crate::fixture::Fixture;

/// Keeps what it is given, in memory.
#[derive(Debug, Default)]
pub(crate) struct ScriptedShelf(Mutex<BTreeMap<SecretName, Description>>);

impl SecretShelf for ScriptedShelf {
    fn set(&self, entry: Entry) -> BoxFuture<'_, Result<Description, ShelfError>> {
        let Entry { name, value: _, binding, note } = entry;
        let mut kept = self.0.lock().unwrap();
        let version = kept.get(&name).map_or(1, |secret| secret.version + 1);
        let (created, updated) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let secret = Description { name: name.clone(), binding, note, version, created, updated };
        kept.insert(name, secret.clone());
        Box::pin(async { Ok(secret) })
    }

    fn list(&self) -> BoxFuture<'_, Result<Kept, ShelfError>> {
        let secrets = self.0.lock().unwrap().values().cloned().collect();
        Box::pin(async { Ok(Kept { secrets, broken: Vec::new() }) })
    }

    fn delete(&self, name: SecretName) -> BoxFuture<'_, Result<(), ShelfError>> {
        let gone = self.0.lock().unwrap().remove(&name);
        Box::pin(async { gone.map(drop).ok_or(ShelfError::Unknown(name)) })
    }

    fn rotate_key(&self) -> BoxFuture<'_, Result<Turned, ShelfError>> {
        let secrets = self.0.lock().unwrap().len();
        Box::pin(async move { Ok(Turned { secrets, old_key: OldKey::Gone }) })
    }
}

#[tokio::test]
async fn a_secret_is_set_described_and_deleted() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let wish = SetSecret {
        value: "a value nobody may see".to_owned(),
        hosts: vec!["api.example.com".to_owned()],
        places: vec![Place::Basic],
        ..SetSecret::default()
    };
    assert_eq!(client.set_secret("TOKEN", &wish).await.unwrap().version, 1);
    assert_eq!(client.set_secret("TOKEN", &wish).await.unwrap().version, 2);
    let listed = client.secrets().await.unwrap();
    assert_eq!(listed.secrets[0].hosts, ["api.example.com"]);
    assert!(!serde_json::to_string(&listed).unwrap().contains("nobody may see"));
    assert_eq!(client.rotate_key().await.unwrap().secrets, 1);
    client.delete_secret("TOKEN").await.unwrap();
    let Err(ClientError::Refused(problem)) = client.delete_secret("TOKEN").await else {
        panic!("it is gone")
    };
    assert_eq!(problem.code, Code::NotFound);
}

#[tokio::test]
async fn a_name_that_may_be_a_value_is_not_repeated() {
    let fixture = Fixture::new().await;
    let wrong = fixture.client().set_secret("sk-live=value", &SetSecret::default()).await;
    let Err(ClientError::Refused(problem)) = wrong else { panic!("it is refused") };
    assert_eq!(problem.code, Code::BadRequest);
    assert!(!problem.message.contains("live"), "{}", problem.message);
}
