//! The model at a socket: what is played arrives so.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::model::serve;

/// How long a test may wait for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

struct Served {
    model: Model,
    at: std::net::SocketAddr,
    serving: tokio::task::JoinSet<std::io::Result<()>>,
}

impl Served {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (model, at) = (Model::new(), listener.local_addr().unwrap());
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(serve(listener, model.clone()));
        Self { model, at, serving }
    }

    /// Sends a request, and gives the connection.
    async fn asked(&self, wire: Wire, how: How, script: &str) -> TcpStream {
        let asked = request(wire, how, &[Line::User(script)]);
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: k\r\ncontent-length: {}\r\n\r\n",
            asked.target,
            asked.body.len()
        );
        stream.write_all(&[head.as_bytes(), &asked.body].concat()).await.unwrap();
        stream
    }

    /// What comes until the connection ends.
    async fn heard(&self, wire: Wire, how: How, script: &str) -> String {
        let mut stream = self.asked(wire, how, script).await;
        let mut text = Vec::new();
        // A torn connection is an end, too.
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await.unwrap();
        String::from_utf8(text).unwrap()
    }
}

/// A body without the marks of its chunks, and whether its end was marked.
fn unchunked(text: &str) -> (String, bool) {
    let (_, mut rest) = text.split_once("\r\n\r\n").unwrap();
    let mut all = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return (all, true);
        }
        let Some(chunk) = after.get(..length) else { break };
        all += chunk;
        rest = after.get(length + 2..).unwrap_or_default();
    }
    (all, false)
}

#[tokio::test]
async fn streams_arrive_whole() {
    let served = Served::new().await;
    for wire in ALL {
        let text = served.heard(wire, How::Streamed, "play: say Hm. ;; play: write a b ;;").await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        let (stream, ended) = unchunked(&text);
        assert!(ended, "{text}");
        assert_eq!(reader::streamed(wire, &stream).call.unwrap().0, "write");
        let text = served.heard(wire, How::Whole, "play: text well ;;").await;
        let whole = text.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(reader::whole(wire, &serde_json::from_str(whole).unwrap()).text, "well");
    }
    assert_eq!(served.model.requests().len(), 10);
    assert!(served.model.requests().iter().all(|seen| seen.key.is_some()));
    assert!(!served.serving.is_empty());
}

#[tokio::test]
async fn a_cut_stream_brings_its_first_half_and_no_end() {
    let served = Served::new().await;
    for wire in ALL {
        let script = "play: cut ;; play: say Some words. ;; play: shell ls ;;";
        let text = served.heard(wire, How::Streamed, script).await;
        let (stream, ended) = unchunked(&text);
        assert!(!ended && stream.len() > 50, "{wire:?}: {text}");
        let text = served.heard(wire, How::Whole, script).await;
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        assert!(!body.is_empty() && body.len() < length.parse().unwrap(), "{text}");
    }
}

#[tokio::test]
async fn a_stalling_stream_brings_its_first_half_and_stays() {
    let served = Served::new().await;
    let mut stream = served
        .asked(Wire::Anthropic, How::Streamed, "play: stall ;; play: text Some words. ;;")
        .await;
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.contains("content_block_start") {
        let length =
            tokio::time::timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert!(length > 0, "{text}");
        text += &String::from_utf8_lossy(&bytes[..length]);
    }
    // Nothing more comes, and nobody hangs up.
    let more = tokio::time::timeout(Duration::from_millis(100), async {
        while stream.read(&mut bytes).await.unwrap() > 0 {}
    });
    assert!(more.await.is_err());
}

#[tokio::test]
async fn a_hanging_model_says_nothing_and_others_are_served() {
    let served = Served::new().await;
    let mut hanging =
        served.asked(Wire::Chat, How::Streamed, "play: hang ;; play: text x ;;").await;
    assert!(served.heard(Wire::Chat, How::Whole, "play: text x ;;").await.contains("200 OK"));
    let nothing = tokio::time::timeout(Duration::from_millis(100), hanging.read_u8());
    assert!(nothing.await.is_err());
}

#[tokio::test]
async fn a_slow_answer_takes_its_time() {
    let served = Served::new().await;
    let begin = std::time::Instant::now();
    let script = "play: wait 0.1 ;; play: slow 0.02 ;; play: text one two three ;;";
    assert!(served.heard(Wire::Chat, How::Streamed, script).await.contains("[DONE]"));
    assert!(begin.elapsed() >= Duration::from_millis(200), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_flood_runs_for_as_long_as_somebody_reads() {
    let served = Served::new().await;
    let text = served.heard(Wire::Gemini, How::Whole, "play: giant 3 ;; play: text after ;;").await;
    assert!(text.len() > 3 << 20 && text.contains("after"));
    for how in [How::Streamed, How::Whole] {
        let mut stream =
            served.asked(Wire::Responses, how, "play: endless ;; play: text x ;;").await;
        let mut some = vec![0; 5 << 20];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut some)).await.unwrap().unwrap();
    }
}
