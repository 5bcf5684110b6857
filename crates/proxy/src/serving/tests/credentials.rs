//! Credentials go out once, where the grant says, and do not come back.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, secret};
use crate::ask::{Answer, Dial, Grant, Outcome, Place, RefusalCode, Scheme, Swap};

const HOST: &str = "api.ok.test";
const VALUE: &str = "sk-real-0123456789/+abcdef";
const PLACEHOLDER: &str = "lamp_key_00112233445566778899aabbccddeeff";

fn swap(places: Vec<Place>) -> Swap {
    Swap { placeholder: PLACEHOLDER.to_owned(), value: secret(VALUE), places }
}

/// A host that answers with what it was asked, as it is and in base64.
async fn echo(tasks: &TaskTracker) -> Host {
    Host::tls(tasks, HOST, |request| {
        let body = format!("{request}\n{}\n", STANDARD.encode(request));
        format!(
            "HTTP/1.1 200 OK\r\nX-Echo: {VALUE}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    })
    .await
}

async fn stage(host: &Host, change: impl Fn(&mut Grant) + Send + Sync + 'static) -> Stage {
    let grant = host.grant(HOST);
    Stage::new(inspecting(HOST, move |_| {
        let mut grant = grant.clone();
        change(&mut grant);
        Answer::Granted(grant)
    }))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn our_credential_replaces_the_programs_and_its_reflection_is_covered() {
    let tasks = TaskTracker::new();
    let host = echo(&tasks).await;
    let stage = stage(&host, |grant| {
        grant.strip = vec!["authorization".to_owned(), "x-api-key".to_owned()];
        grant.set = vec![("Authorization".to_owned(), secret(&format!("Bearer {VALUE}")))];
        grant.scrub = vec![secret(VALUE)];
    })
    .await;
    let curled = stage
        .curl(&[
            "-H",
            "Authorization: Bearer attacker",
            "-H",
            "X_Api_Key: attacker",
            "--compressed",
            "https://api.ok.test/",
        ])
        .await;
    let asked = host.asked().remove(0);
    assert!(asked.contains(&format!("Authorization: Bearer {VALUE}\r\n")), "{asked}");
    assert!(!asked.contains("attacker"), "{asked}");
    assert!(asked.contains("Accept-Encoding: identity\r\n") && !asked.contains("gzip"), "{asked}");
    assert!(curled.out.contains("Authorization: Bearer ***"), "{}", curled.out);
    for seen in [&curled.out, &curled.said] {
        assert!(!seen.contains(VALUE), "{seen}");
        assert!(!seen.contains(&STANDARD.encode(VALUE)[4..20]), "{seen}");
    }
    let line = curled.out.lines().last().unwrap();
    assert!(line.contains("****"), "the base64 of it is covered: {line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_is_swapped_in_its_places_and_nowhere_else() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("fine")).await;
    let stage = stage(&host, |grant| {
        grant.swaps = vec![swap(vec![
            Place::Header("x-token".to_owned()),
            Place::Basic,
            Place::Query("key".to_owned()),
        ])];
    })
    .await;
    let url = format!(
        "https://api.ok.test/{PLACEHOLDER}?key={PLACEHOLDER}&other={PLACEHOLDER}&key=x{PLACEHOLDER}"
    );
    let user = format!("user:{PLACEHOLDER}");
    let token = format!("X-Token: a {PLACEHOLDER} b");
    let elsewhere = format!("X-Other: {PLACEHOLDER}");
    stage.curl(&["-u", &user, "-H", &token, "-H", &elsewhere, "-d", PLACEHOLDER, &url]).await;
    let asked = host.asked().remove(0);
    let encoded = "sk-real-0123456789%2F%2Babcdef";
    assert!(
        asked.starts_with(&format!(
            "POST /{PLACEHOLDER}?key={encoded}&other={PLACEHOLDER}&key=x{PLACEHOLDER} HTTP/1.1\r\n"
        )),
        "{asked}"
    );
    assert!(asked.contains(&format!("X-Token: a {VALUE} b\r\n")), "{asked}");
    assert!(asked.contains(&format!("X-Other: {PLACEHOLDER}\r\n")), "{asked}");
    let basic = STANDARD.encode(format!("user:{VALUE}"));
    assert!(asked.contains(&format!("Authorization: Basic {basic}\r\n")), "{asked}");
    assert!(asked.ends_with(&format!("\r\n\r\n{PLACEHOLDER}")), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_in_is_not_looked_at_again() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("fine")).await;
    let second = "lamp_other_ffeeddccbbaa99887766554433221100";
    let stage = stage(&host, move |grant| {
        let places = vec![Place::Header("x-token".to_owned())];
        grant.swaps = vec![
            Swap { value: secret(second), ..swap(places.clone()) },
            Swap { placeholder: second.to_owned(), value: secret(VALUE), places },
        ];
    })
    .await;
    let token = format!("X-Token: {PLACEHOLDER}");
    stage.curl(&["-H", &token, "https://api.ok.test/"]).await;
    let asked = host.asked().remove(0);
    assert!(asked.contains(&format!("X-Token: {second}\r\n")), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_for_it_a_placeholder_goes_out_as_it_is() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| ok("fine")).await;
    let stage = stage(&host, |_grant| {}).await;
    let token = format!("X-Token: {PLACEHOLDER}");
    stage.curl(&["-H", &token, "http://api.ok.test/"]).await;
    assert!(host.asked()[0].contains(&token), "{:?}", host.asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_never_goes_to_a_public_host_without_tls() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| ok("fine")).await;
    let mut stage = stage(&host, |grant| {
        grant.dial = Dial::Public { host: HOST.to_owned(), port: 80 };
        grant.scheme = Scheme::Http;
        grant.set = vec![("X-Key".to_owned(), secret(VALUE))];
    })
    .await;
    let curled = stage.curl(&["http://api.ok.test/"]).await;
    assert!(curled.out.contains("a credential would be sent without TLS"), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Credential);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_answer_is_refused_when_it_would_have_to_be_searched() {
    let tasks = TaskTracker::new();
    let gzip = |_request: &str| {
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd".to_vec()
    };
    let host = Host::tls(&tasks, HOST, gzip).await;
    let mut scrubbing = stage(&host, |grant| grant.scrub = vec![secret(VALUE)]).await;
    let curled = scrubbing.curl(&["https://api.ok.test/"]).await;
    assert!(curled.said.contains("502 Bad Gateway"), "{}", curled.said);
    assert_eq!(scrubbing.refusal().await.code, RefusalCode::Upstream);
    let mut plain = stage(&host, |_grant| {}).await;
    assert_eq!(plain.curl(&["https://api.ok.test/"]).await.out, "abcd");
    assert_eq!(plain.report().await.outcome, Outcome::Done { status: Some(200) });
}
