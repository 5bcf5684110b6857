//! What a model plays arrives as it was played, and a whole toy internet has one.

use testkit::model::{Model, Script, Usage};
use unsupported::supported;

use super::*;
use crate::internet::Internet;

fn head(length: Length) -> Beat {
    let headers = vec![("content-type", "text/plain".to_owned())];
    Beat::Head(Head { status: 200, headers, length })
}

async fn played(beats: Vec<Beat>) -> (String, Next) {
    let mut written = Vec::new();
    let next = play(&mut written, beats).await.unwrap();
    (String::from_utf8(written).unwrap(), next)
}

#[tokio::test]
async fn a_stream_is_sent_in_chunks_and_its_end_is_marked() {
    let again = Beat::Again { bytes: b"ab".to_vec(), times: 2 };
    let beats = vec![head(Length::Chunked), Beat::Bytes(b"x".to_vec()), Beat::Bytes(vec![]), again];
    let (text, next) = played(beats).await;
    let expected = "HTTP/1.1 200 Toy\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n\
                    1\r\nx\r\n2\r\nab\r\n2\r\nab\r\n0\r\n\r\n";
    assert_eq!((text.as_str(), next), (expected, Next::Request));
}

#[tokio::test]
async fn a_cut_stream_has_no_end() {
    let beats = vec![head(Length::Chunked), Beat::Bytes(b"x".to_vec()), Beat::Cut];
    let (text, next) = played(beats).await;
    assert!(text.ends_with("1\r\nx\r\n"), "{text}");
    assert_eq!(next, Next::Nothing);
}

#[tokio::test]
async fn a_whole_answer_has_its_length() {
    let (text, next) = played(vec![head(Length::Known(1)), Beat::Bytes(b"x".to_vec())]).await;
    assert!(text.ends_with("content-length: 1\r\n\r\nx"), "{text}");
    assert_eq!(next, Next::Request);
}

#[test]
fn a_host_of_the_toy_internet_is_a_model() {
    let internet = supported!(Internet::build());
    let model = Model::new();
    let usage = Usage { input: 11, cached: 0, output: 7 };
    model.on("Hello", Script::new().text("Hello yourself.").using(usage).also_without_tools());
    model.on("Break", "play: toolless ;; play: cut ;; play: text Never whole. ;;".parse().unwrap());
    internet.model("api.anthropic.com", &model);
    let asked = |text: &str| {
        let body = serde_json::json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": text }] });
        let mut curl = internet.in_house("curl");
        curl.args(["-sS", "-m", "20", "--cacert"]).arg(internet.authority());
        curl.args([
            "-H",
            "x-api-key: k",
            "-d",
            &body.to_string(),
            "https://api.anthropic.com/v1/messages",
        ]);
        curl.output().unwrap()
    };
    let whole = asked("Hello");
    let text = String::from_utf8_lossy(&whole.stdout);
    assert!(whole.status.success() && text.contains("message_stop"), "{whole:?}");
    let torn = asked("Break");
    let text = String::from_utf8_lossy(&torn.stdout);
    assert!(!torn.status.success() && text.contains("message_start"), "{torn:?}");
    assert!(!text.contains("message_stop"), "{text}");
    assert_eq!(model.requests().len(), 2);
    assert_eq!(model.used()["m"].output, usage.output + 1);
}
