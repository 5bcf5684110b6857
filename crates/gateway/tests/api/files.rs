//! Files, streamed.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use wire::{
    client::Client,
    error::Code,
    exec::User,
    files::{PathQuery, WriteQuery},
    sandbox::CreateSandbox,
};

use crate::fixture::Fixture;

fn at(path: &str) -> PathQuery {
    PathQuery { path: path.to_owned(), user: User::Agent }
}

fn to(path: &str) -> WriteQuery {
    WriteQuery { path: path.to_owned(), user: User::Agent, mode: Some("600".to_owned()) }
}

fn chunks(number: usize) -> impl futures::Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    stream::iter((0..number).map(|n| Ok(Bytes::from(vec![u8::try_from(n % 256).unwrap(); 10_000]))))
}

async fn opened() -> (Fixture, Client, String) {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let id = client.create(&CreateSandbox::default()).await.unwrap().id;
    (fixture, client, id)
}

#[tokio::test]
async fn a_file_goes_in_and_comes_out() {
    let (_stage, client, id) = opened().await;
    client.write(&id, &to("/tmp/a & b"), chunks(100)).await.unwrap();
    let entry = client.entry(&id, &at("/tmp/a & b")).await.unwrap();
    assert_eq!((entry.name.as_str(), entry.size, entry.mode), ("a & b", 1_000_000, 0o600));
    let read = client.read(&id, &at("/tmp/a & b")).await.unwrap();
    let read: Vec<u8> = read.flat_map(|chunk| stream::iter(chunk.unwrap())).collect().await;
    assert_eq!(read.len(), 1_000_000);
    assert_eq!(read[999_999], 99);
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let (_stage, client, id) = opened().await;
    let broken = chunks(50).chain(stream::once(async { Err(std::io::Error::other("torn")) }));
    client.write(&id, &to("/tmp/torn"), broken).await.unwrap_err();
    let error = client.entry(&id, &at("/tmp/torn")).await.unwrap_err();
    assert_eq!(error.problem().unwrap().code, Code::Path);
}

#[tokio::test]
async fn what_is_refused_is_told_even_in_the_middle_of_an_upload() {
    let (_stage, client, id) = opened().await;
    let error = client.tar_in(&id, &at("/tmp"), chunks(500)).await.unwrap_err();
    assert_eq!(error.problem().unwrap().code, Code::Unsupported);
    for path in ["relative", "", "/with\0null", &format!("/{}", "x".repeat(5000))] {
        let error = client.entry(&id, &at(path)).await.unwrap_err();
        assert_eq!(error.problem().unwrap().code, Code::BadRequest, "{path}");
    }
    let error = client.read(&id, &at("/missing")).await.map(drop).unwrap_err();
    assert_eq!(error.problem().unwrap().code, Code::Path);
}
