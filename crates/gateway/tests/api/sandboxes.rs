//! Made, listed, turned, forked, removed; and what is refused, by its code.

use wire::{
    client::{ClientError, Turn},
    error::Code,
    image::BuildImage,
    sandbox::{ComputeWish, CreateSandbox, ForkSandbox, Owner, Repository, State, Tier},
};

use crate::fixture::Fixture;

fn code<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> Code {
    answer.unwrap_err().problem().unwrap().code
}

fn named(name: &str) -> CreateSandbox {
    CreateSandbox { name: Some(name.to_owned()), ..CreateSandbox::default() }
}

#[tokio::test]
async fn a_sandbox_lives_and_goes() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let made = client.create(&named("fox")).await.unwrap();
    assert_eq!((made.state, &made.owner), (State::Open, &Owner::Person("ann".to_owned())));
    assert_eq!((made.image.as_str(), made.tier), ("host", Tier::Standard));
    assert_eq!(made.compute.memory_mib, 4096);
    assert_eq!(client.sandboxes().await.unwrap(), std::slice::from_ref(&made));
    for called in [made.id.as_str(), "fox"] {
        assert_eq!(client.sandbox(called).await.unwrap(), made);
    }
    for (turn, state) in [
        (Turn::Freeze, State::Frozen),
        (Turn::Thaw, State::Open),
        (Turn::Rest, State::Resting),
        (Turn::Open, State::Open),
    ] {
        assert_eq!(client.turn("fox", turn).await.unwrap().state, state, "{turn:?}");
    }
    let wish = ForkSandbox { name: Some("cub".to_owned()), ..ForkSandbox::default() };
    let fork = client.fork("fox", &wish).await.unwrap();
    assert_eq!((fork.name.as_deref(), fork.compute), (Some("cub"), made.compute));
    assert_eq!(client.stats("cub").await.unwrap().cpu_millis, 100);
    client.delete("cub").await.unwrap();
    client.delete(&made.id).await.unwrap();
    client.delete(&made.id).await.unwrap();
    assert_eq!(client.sandboxes().await.unwrap(), []);
}

#[tokio::test]
async fn a_call_with_an_id_can_be_repeated() {
    let fixture = Fixture::new().await;
    let id = domain_id(77);
    let wish = CreateSandbox { id: Some(id.clone()), ..named("fox") };
    let first = fixture.client().create(&wish).await.unwrap();
    assert_eq!(fixture.client().create(&wish).await.unwrap(), first);
    assert_eq!(first.id, id);
    fixture.client().delete(&id).await.unwrap();
    assert_eq!(code(fixture.client().create(&wish).await), Code::Gone);
}

fn domain_id(number: u128) -> String {
    domain::id::SandboxId::from_u128(number).to_string()
}

#[tokio::test]
async fn what_is_refused_says_why_and_what_to_do() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    client.create(&named("fox")).await.unwrap();
    let wishes = [
        (named("fox"), Code::NameTaken),
        (named("a/b"), Code::BadRequest),
        (CreateSandbox { id: Some("fox".to_owned()), ..named("x") }, Code::BadRequest),
        (CreateSandbox { image: Some("ubuntu".to_owned()), ..named("x") }, Code::Image),
        (CreateSandbox { tier: Tier::Untrusted, ..named("x") }, Code::TierMissing),
        (
            CreateSandbox {
                compute: ComputeWish { memory_mib: Some(0), ..ComputeWish::default() },
                ..named("x")
            },
            Code::Limit,
        ),
        (
            CreateSandbox {
                repositories: vec![Repository {
                    name: "ours".to_owned(),
                    url: "https://example.com/ours".to_owned(),
                    revision: None,
                }],
                ..named("x")
            },
            Code::Source,
        ),
    ];
    for (wish, expected) in wishes {
        let error = client.create(&wish).await.unwrap_err();
        let problem = error.problem().unwrap();
        assert_eq!(problem.code, expected, "{problem:?}");
        assert!(problem.message.len() > 10);
    }
    assert_eq!(code(client.sandbox("nobody").await), Code::NotFound);
    assert_eq!(code(client.sandbox("../images").await), Code::BadRequest);
    assert_eq!(code(client.delete("nobody").await), Code::NotFound);
    assert_eq!(code(client.image("00000000").await), Code::NotFound);
    assert_eq!(code(client.image("zz").await), Code::BadRequest);
    let wrong = BuildImage { base: "ubuntu".to_owned(), ..BuildImage::default() };
    assert_eq!(code(client.build(&wrong).await.map(drop)), Code::Image);
    assert_eq!(client.sandboxes().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_build_that_fails_says_so_in_its_last_line() {
    use futures::StreamExt as _;
    let fixture = Fixture::new().await;
    let wish = BuildImage { base: "host".to_owned(), ..BuildImage::default() };
    let news = fixture.client().build(&wish).await.unwrap();
    let news: Vec<_> = news.map(Result::unwrap).collect().await;
    let [wire::image::BuildNews::Failed { error }] = news.as_slice() else { panic!("{news:?}") };
    assert_eq!(error.code, Code::Unsupported);
}

#[tokio::test]
async fn the_server_says_what_it_can_do() {
    let fixture = Fixture::new().await;
    let told = fixture.client().capabilities().await.unwrap();
    assert_eq!(told.tiers, [Tier::Standard]);
    assert_eq!(told.missing.len(), 2);
    assert_eq!(fixture.client().health().await.unwrap().version, "1.2.3");
}
