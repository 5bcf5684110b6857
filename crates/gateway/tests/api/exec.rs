//! Commands over a WebSocket.

use wire::{
    client::{ExecEvent, ExecHearing},
    error::Code,
    exec::{Ending, Finished, Size, StartExec},
    sandbox::CreateSandbox,
};

use crate::fixture::Fixture;

fn shell(script: &str) -> StartExec {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    StartExec { argv, ..StartExec::default() }
}

async fn all(mut hearing: ExecHearing) -> (Vec<u8>, Finished) {
    let mut said = Vec::new();
    loop {
        match hearing.next().await.unwrap() {
            ExecEvent::Out(bytes) | ExecEvent::Error(bytes) => said.extend_from_slice(&bytes),
            ExecEvent::Finished(finished) => return (said, finished),
        }
    }
}

async fn opened() -> (Fixture, String) {
    let fixture = Fixture::new().await;
    let made = fixture.client().create(&CreateSandbox::default()).await.unwrap();
    (fixture, made.id)
}

#[tokio::test]
async fn output_and_the_exit_code_come_back() {
    let (fixture, id) = opened().await;
    let (_talking, hearing) = fixture.client().exec(&id, &shell("echo hello")).await.unwrap();
    let (said, finished) = all(hearing).await;
    assert_eq!(said, b"hello\n");
    assert_eq!(finished.ending, Ending::Exited { code: 0 });
    // Without a name, the same command runs again.
    for code in [3, 4] {
        let start = shell(&format!("exit {code}"));
        let (_talking, hearing) = fixture.client().exec(&id, &start).await.unwrap();
        assert_eq!(all(hearing).await.1.ending, Ending::Exited { code });
    }
    // With one, it does not.
    for code in [5, 6] {
        let start = StartExec { name: Some("once".to_owned()), ..shell(&format!("exit {code}")) };
        let (_talking, hearing) = fixture.client().exec(&id, &start).await.unwrap();
        assert_eq!(all(hearing).await.1.ending, Ending::Exited { code: 5 });
    }
}

#[tokio::test]
async fn input_of_any_length_goes_in_and_its_end_is_the_end() {
    let (fixture, id) = opened().await;
    let (talking, hearing) = fixture.client().exec(&id, &shell("cat")).await.unwrap();
    let input: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    let sending = async {
        talking.resize(Size { columns: 80, rows: 24 }).await.unwrap();
        talking.input(&input).await.unwrap();
        talking.end_input().await.unwrap();
    };
    let ((), (said, finished)) = tokio::join!(sending, all(hearing));
    assert_eq!(finished.ending, Ending::Exited { code: 0 });
    assert!(said == input, "{} bytes came back", said.len());
}

#[tokio::test]
async fn a_signal_arrives_before_and_after_the_end_of_the_input() {
    let (fixture, id) = opened().await;
    let (talking, hearing) = fixture.client().exec(&id, &shell("cat")).await.unwrap();
    talking.signal(15).await.unwrap();
    assert_eq!(all(hearing).await.1.ending, Ending::Killed { signal: 15 });
}

#[tokio::test]
async fn nonsense_is_refused() {
    let (fixture, id) = opened().await;
    let nothing = StartExec::default();
    let wrong = StartExec { argv: vec!["a\0b".to_owned()], ..StartExec::default() };
    for start in [nothing, wrong] {
        let (_talking, mut hearing) = fixture.client().exec(&id, &start).await.unwrap();
        let error = hearing.next().await.unwrap_err();
        assert_eq!(error.problem().unwrap().code, Code::BadRequest);
    }
    let error = fixture.client().exec("nobody", &shell("true")).await.unwrap_err();
    assert_eq!(error.problem().unwrap().code, Code::NotFound);
}
