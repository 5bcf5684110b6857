//! A broker's neighbours that have nothing to say: no secret, and no program that is seen.

use std::{collections::BTreeMap, net::SocketAddr};

use contracts::{
    sandbox::Owner,
    secret::{SecretError, SecretName, SecretValue},
};
use domain::{id::SandboxId, policy::HostName};
use egress::broker::{
    cause::Causes,
    credentials::{Bound, Credentials, For},
};
use futures::future::BoxFuture;

/// Sees nobody.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoCauses;

impl Causes for NoCauses {
    fn find(&self, _sandbox: SandboxId, _peer: SocketAddr) -> Option<String> {
        None
    }
}

/// Nobody has a secret.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoCredentials;

impl Credentials for NoCredentials {
    fn placeholders<'a>(
        &'a self,
        _whom: For<'a>,
    ) -> BoxFuture<'a, Result<BTreeMap<SecretName, String>, SecretError>> {
        Box::pin(async { Ok(BTreeMap::new()) })
    }

    fn is_bound<'a>(&'a self, _whom: For<'a>, _host: &'a HostName) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }

    fn bound<'a>(
        &'a self,
        _whom: For<'a>,
        _host: &'a HostName,
    ) -> BoxFuture<'a, Result<Vec<Bound>, SecretError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn key<'a>(
        &'a self,
        name: &'a SecretName,
        _whom: For<'a>,
    ) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async { Err(SecretError::Unknown(name.clone())) })
    }

    fn may_ask<'a>(&'a self, _whom: For<'a>) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(async { Ok(()) })
    }

    fn left(&self, _sandbox: SandboxId) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn forgotten<'a>(
        &'a self,
        _sandbox: SandboxId,
        _owner: Option<&'a Owner>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
