//! Secrets, called from a program.

use bytes::Bytes;
use hyper::Method;

use super::{Answered, Client, escaped};
use crate::secret::{RotatedKey, Secret, Secrets, SetSecret};

impl Client {
    pub async fn set_secret(&self, name: &str, wish: &SetSecret) -> Answered<Secret> {
        let path = format!("/secrets/{}", escaped(name));
        self.send(Method::PUT, &path, wish).await?.json().await
    }

    pub async fn secrets(&self) -> Answered<Secrets> {
        self.get("/secrets").await
    }

    pub async fn delete_secret(&self, name: &str) -> Answered<()> {
        let path = format!("/secrets/{}", escaped(name));
        self.call(Method::DELETE, &path, Bytes::new()).await?.nothing().await
    }

    pub async fn rotate_key(&self) -> Answered<RotatedKey> {
        self.call(Method::POST, "/master-key/rotate", Bytes::new()).await?.json().await
    }
}
