//! A model on the server's own host: it can be asked, and nothing else of that host can.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use testkit::model::Script;

use crate::fixture::Fixture;

/// Something else that listens on the host's loopback, and counts who comes.
fn neighbour() -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let visits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&visits);
    std::thread::spawn(move || {
        for _visit in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, visits)
}

#[test]
fn of_a_host_with_a_model_only_the_model_is_reached() {
    let fixture = Fixture::small("walls");
    fixture.model.otherwise(Script::new().text("Hello.").also_without_tools());
    let (other, visits) = neighbour();
    let model = fixture.port;
    let made = fixture.lamp(&[
        "sandbox",
        "create",
        "walls",
        "--tier",
        "verified",
        "--allow",
        "model:anthropic",
    ]);
    assert!(made.said.succeeded(), "{}", made.said);
    let code = |words: &str| {
        let all = format!("curl -s -o /dev/null -w '%{{http_code}}' --noproxy '' -m 20 {words}");
        fixture.house.shell("walls", &all).out
    };
    let ask = r#"-H 'content-type: application/json' -d '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'"#;
    let inside = "http://model.lamp.internal/anthropic";
    assert_eq!(code(&format!("{ask} {inside}/v1/messages")), "200");
    let refused = [
        format!("{inside}/v1/files"),
        format!("{inside}/../../admin"),
        format!("-x http://127.0.0.1:3128 http://localhost:{model}/"),
        format!("-x http://127.0.0.1:3128 http://127.0.0.1:{model}/v1/files"),
        format!("-x http://127.0.0.1:3128 http://localhost:{other}/"),
        format!("-x http://127.0.0.1:3128 http://127.0.0.1:{other}/"),
        format!("-x http://127.0.0.1:3128 http://[::1]:{other}/"),
    ];
    for words in &refused {
        assert_eq!(code(words), "403", "{words}");
    }
    // No door leads there: its own loopback is the sandbox's.
    let unreached = [
        format!("-x socks5h://127.0.0.1:1080 http://localhost:{other}/"),
        format!("-x http://127.0.0.1:3128 --proxytunnel http://localhost:{other}/"),
        format!("--noproxy '*' http://127.0.0.1:{other}/"),
    ];
    for words in &unreached {
        assert_eq!(code(words), "000", "{words}");
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}
