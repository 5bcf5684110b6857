//! A value of a secret is in no refusal.

use std::borrow::Cow;

use contracts::{
    sandbox::Listed,
    secret::{ExposeError, SecretName, SecretValue},
};
use futures::future::BoxFuture;
use gateway::sockets::{Cleaned, Exposing, NotCleaned, Values};
use wire::files::PathQuery;

use crate::fixture::Fixture;

/// There is one, and it is `hush-hush`. A command is passed on as it is.
pub(crate) struct OneValue;

impl Values for OneValue {
    fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, NotCleaned> {
        Ok(None)
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        text.replace("hush-hush", "[redacted]").into()
    }

    fn expose<'a>(
        &'a self,
        wish: &'a Exposing,
        _sandbox: &'a Listed,
        _program: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(SecretName, SecretValue)>, ExposeError>> {
        Box::pin(async {
            let value = SecretValue::new("hush-hush".to_owned());
            Ok(wish.names.iter().map(|it| (it.clone(), value.clone())).collect())
        })
    }
}

#[tokio::test]
async fn a_refusal_repeats_no_value() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let refused = client.sandbox("hush-hush").await.unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("[redacted]") && !told.contains("hush-hush"), "{told}");
    let query = PathQuery { path: "hush-hush".to_owned(), user: wire::exec::User::Agent };
    let told = format!("{:?}", client.entry("hush-hush", &query).await.unwrap_err());
    assert!(!told.contains("hush-hush"), "{told}");
}
