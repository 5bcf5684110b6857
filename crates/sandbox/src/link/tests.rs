//! A guest that was taken over: it says what it likes, when it likes.
//!
//! Whatever it says, the link ends with a loss that says why or goes on being right; it holds no more than it gave credit for; and
//! the links of others do not notice.

use std::path::Path;

use guest::protocol::{
    Ask, CHUNK, ChannelId, ChannelState, Decoder, Ending, FRAME_LIMIT, INPUT_WINDOW, Job, Refusal,
    Stream, Tell, Usage, VERSION, encode,
};
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};
use tokio_util::task::TaskTracker;

use super::{Channel, Link, LinkError, News, inbox::WINDOW};

/// The job that the server has begun.
const ONE: ChannelId = ChannelId(0);

/// A number that the server has never given out.
const NOBODYS: ChannelId = ChannelId(7);

/// Our end of the stream, in the place of a guest.
struct Liar {
    stream: UnixStream,
    decoder: Decoder,
    tracker: TaskTracker,
}

impl Liar {
    async fn meet() -> (Self, Link) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let tracker = TaskTracker::new();
        let mut liar = Self { stream: ours, decoder: Decoder::default(), tracker: tracker.clone() };
        let greeted = async {
            assert_eq!(liar.hear().await, Ask::Hello { version: VERSION });
            liar.tell(&Tell::Hello { version: VERSION }).await;
        };
        let (link, ()) = tokio::join!(Link::greet(theirs, &tracker), greeted);
        (liar, link.unwrap())
    }

    /// What the server asks next.
    async fn hear(&mut self) -> Ask {
        loop {
            if let Some(ask) = self.decoder.next().unwrap() {
                return ask;
            }
            let mut buffer = [0; 4096];
            let read = self.stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "the server hung up");
            self.decoder.push(&buffer[..read]);
        }
    }

    async fn tell(&mut self, tell: &Tell) {
        self.say(&encode(tell).unwrap()).await;
    }

    /// A server that has heard enough does not listen any more.
    async fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Ends every task of the link, which a link that was lost has done by itself.
    async fn part(self, link: &Link) {
        link.close();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

fn job() -> Job {
    Job::Forward { port: 1 }
}

fn opened(channel: ChannelId) -> Tell {
    Tell::Opened { channel }
}

fn refused(channel: ChannelId) -> Tell {
    Tell::Refused { channel, refusal: Refusal::TooManyChannels }
}

fn output(channel: ChannelId, offset: u64, length: usize) -> Tell {
    Tell::Output { channel, stream: Stream::Out, offset, bytes: vec![7; length] }
}

fn takes_input(channel: ChannelId, upto: u64) -> Tell {
    Tell::InputCredit { channel, upto }
}

fn ended(channel: ChannelId, output: u64) -> Tell {
    let usage = Usage::default();
    Tell::Ended { channel, ending: Ending::Exited(0), usage, output, dropped: 0 }
}

fn known(kept_from: u64) -> Tell {
    let tag = "t".to_owned();
    let state =
        ChannelState { channel: ONE, tag, output: kept_from, kept_from, input: 0, ended: false };
    Tell::Channels(vec![state])
}

/// Whole chunks up to the credit, and one byte more.
fn beyond_credit() -> Vec<Tell> {
    let chunks = (0..WINDOW / CHUNK as u64).map(|n| output(ONE, n * CHUNK as u64, CHUNK));
    [opened(ONE)].into_iter().chain(chunks).chain([output(ONE, WINDOW, 1)]).collect()
}

/// What a liar tells about a job that the server has begun, and the word by which it is caught.
fn lies() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let long = CHUNK + 1;
    vec![
        ("hello again", vec![Tell::Hello { version: VERSION }], "hello twice"),
        ("opens what nobody asked for", vec![opened(NOBODYS)], "nobody opened"),
        ("refuses what nobody asked for", vec![refused(NOBODYS)], "nobody opened"),
        ("output of nobody's job", vec![output(NOBODYS, 0, 1)], "nobody opened"),
        ("input for nobody's job", vec![takes_input(NOBODYS, 1)], "nobody opened"),
        ("the end of nobody's job", vec![ended(NOBODYS, 0)], "nobody opened"),
        ("the last number there is", vec![opened(ChannelId(u32::MAX))], "nobody opened"),
        ("output before it is opened", vec![output(ONE, 0, 1)], "before it was opened"),
        ("input before it is opened", vec![takes_input(ONE, 1)], "before it was opened"),
        ("the end before it is opened", vec![ended(ONE, 0)], "before it was opened"),
        ("opens twice", vec![opened(ONE), opened(ONE)], "answered twice"),
        ("refuses what is open", vec![opened(ONE), refused(ONE)], "answered twice"),
        ("opens what it refused", vec![refused(ONE), opened(ONE)], "answered twice"),
        ("output of a refused job", vec![refused(ONE), output(ONE, 0, 1)], "after it was refused"),
        ("the end of a refused job", vec![refused(ONE), ended(ONE, 0)], "after it was refused"),
        ("output with a gap", vec![opened(ONE), output(ONE, 1, 1)], "where 0 was next"),
        ("the same again", vec![opened(ONE), output(ONE, 0, 1), output(ONE, 0, 1)], "1 was next"),
        ("nothing as output", vec![opened(ONE), output(ONE, 0, 0)], "output of 0 bytes"),
        ("a chunk too long", vec![opened(ONE), output(ONE, 0, long)], "output of 32769 bytes"),
        ("more than its credit", beyond_credit(), "more output than it had credit for"),
        ("takes all input there is", vec![opened(ONE), takes_input(ONE, u64::MAX)], "takes input"),
        ("takes a byte too much", vec![opened(ONE), takes_input(ONE, 65_537)], "takes input"),
        ("ends too early", vec![opened(ONE), output(ONE, 0, 2), ended(ONE, 1)], "of which 2 came"),
        ("ends too late", vec![opened(ONE), ended(ONE, 1)], "of which 0 came"),
        ("ends twice", vec![opened(ONE), ended(ONE, 0), ended(ONE, 0)], "after its end"),
        ("speaks after the end", vec![opened(ONE), ended(ONE, 0), output(ONE, 0, 1)], "its end"),
        ("listens after the end", vec![opened(ONE), ended(ONE, 0), takes_input(ONE, 1)], "its end"),
        ("a list that nobody asked for", vec![known(0)], "nobody asked for"),
        ("an answer that nobody asked for", vec![Tell::Pong { nonce: 0 }], "an answer to ping"),
        ("an answer from the future", vec![Tell::Pong { nonce: 1 }], "an answer to ping"),
    ]
}

/// Waits for what becomes of the job; a link that goes on would be waited for in vain.
async fn outcome(channel: &Channel) -> LinkError {
    loop {
        match channel.next().await {
            Ok(News::Output(..)) => {}
            Ok(News::Ended(_)) => return LinkError::Closed("it ended".to_owned()),
            Err(error) => return error,
        }
    }
}

#[tokio::test]
async fn a_guest_that_lies_is_hung_up_on_and_others_do_not_notice() {
    let (mut honest, other) = Liar::meet().await;
    for (what, tells, word) in lies() {
        let (mut liar, link) = Liar::meet().await;
        let channel = link.open("tag", job()).unwrap();
        for tell in &tells {
            liar.tell(tell).await;
        }
        link.over().await;
        let Some(LinkError::Broken(reason)) = link.lost() else {
            panic!("{what}: {:?}", link.lost())
        };
        assert!(reason.contains(word), "{what}: {reason}");
        assert!(link.held() as u64 <= WINDOW, "{what}: {} bytes are held", link.held());
        // Whoever waits is told, and nothing can be asked any more.
        let told = outcome(&channel).await;
        let had_ended = tells.iter().any(|tell| matches!(tell, Tell::Ended { .. }));
        assert!(had_ended || !matches!(told, LinkError::Closed(_)), "{what}: {told:?}");
        assert!(matches!(link.open("tag", job()), Err(LinkError::Broken(_))), "{what}");
        assert!(matches!(link.ping().await, Err(LinkError::Broken(_))), "{what}");
        liar.part(&link).await;

        let answers = async {
            let Ask::Ping { nonce } = honest.hear().await else { panic!("not a ping") };
            honest.tell(&Tell::Pong { nonce }).await;
        };
        let (pinged, ()) = tokio::join!(other.ping(), answers);
        assert_eq!(pinged, Ok(()), "{what}: the neighbour");
    }
    honest.part(&other).await;
}

#[tokio::test]
async fn bytes_that_are_no_frames_end_the_link() {
    let too_long = u32::try_from(FRAME_LIMIT + 1).unwrap().to_le_bytes().to_vec();
    let left_over = [&3_u32.to_le_bytes()[..], &[0, 1, 9]].concat();
    for (what, bytes, word) in [
        ("four GiB", vec![0xff; 4], "longer than"),
        ("a byte too much", too_long, "longer than"),
        ("no message", vec![1, 0, 0, 0, 0xee], "cannot be read"),
        ("an empty message", vec![0; 4], "cannot be read"),
        ("bytes left over", left_over, "cannot be read"),
    ] {
        let (mut liar, link) = Liar::meet().await;
        liar.say(&bytes).await;
        link.over().await;
        let Some(LinkError::Broken(reason)) = link.lost() else {
            panic!("{what}: {:?}", link.lost())
        };
        assert!(reason.contains(word), "{what}: {reason}");
        liar.part(&link).await;
    }
}

#[tokio::test]
async fn a_guest_that_hangs_up_in_the_middle_of_a_frame_is_gone() {
    let (mut liar, link) = Liar::meet().await;
    let channel = link.open("tag", job()).unwrap();
    let frame = encode(&opened(ONE)).unwrap();
    liar.say(&frame[..frame.len() - 1]).await;
    liar.stream.shutdown().await.unwrap();
    link.over().await;
    assert!(matches!(outcome(&channel).await, LinkError::Closed(_)));
    liar.part(&link).await;
}

#[tokio::test]
async fn a_frame_that_comes_byte_by_byte_is_a_frame() {
    let (mut slow, link) = Liar::meet().await;
    let channel = link.open("tag", job()).unwrap();
    for tell in [opened(ONE), output(ONE, 0, 3), ended(ONE, 3)] {
        for byte in encode(&tell).unwrap() {
            slow.say(&[byte]).await;
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(channel.next().await, Ok(News::Output(Stream::Out, vec![7; 3])));
    assert!(matches!(channel.next().await, Ok(News::Ended(_))));
    slow.part(&link).await;
}

#[tokio::test]
async fn a_guest_that_never_answers_is_not_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path().join("socket");
    let _listener = tokio::net::UnixListener::bind(&at).unwrap();
    let silent = Link::connect(&at, &TaskTracker::new()).await;
    assert!(matches!(silent, Err(LinkError::Closed(_))), "{silent:?}");
    let absent = Link::connect(Path::new("/nowhere"), &TaskTracker::new()).await;
    assert!(matches!(absent, Err(LinkError::Closed(_))), "{absent:?}");

    let (liar, link) = Liar::meet().await;
    assert!(matches!(link.ping().await, Err(LinkError::Closed(_))));
    assert!(matches!(link.channels().await, Err(LinkError::Closed(_))));
    assert_eq!(link.lost(), None, "it may only be slow");
    liar.part(&link).await;
}

#[tokio::test]
async fn a_guest_that_does_not_read_is_hung_up_on() {
    let (liar, link) = Liar::meet().await;
    // Far more than sockets hold.
    let tag = "t".repeat(100_000);
    let refused = (0..1_000).find_map(|_| link.open(&tag, job()).err());
    assert!(matches!(refused, Some(LinkError::Broken(_))), "{refused:?}");
    link.over().await;
    assert_eq!(link.held(), 0, "what could not be said is dropped");
    liar.part(&link).await;
}

#[tokio::test]
async fn a_job_of_an_earlier_connection_cannot_begin_at_the_end_of_all_numbers() {
    for kept_from in [u64::MAX, u64::MAX - 1, (1 << 60) + 1] {
        let (mut liar, link) = Liar::meet().await;
        let lies = async {
            assert_eq!(liar.hear().await, Ask::Channels);
            liar.tell(&known(kept_from)).await;
        };
        let (told, ()) = tokio::join!(link.channels(), lies);
        assert!(matches!(told, Err(LinkError::Broken(_))), "{told:?}");
        liar.part(&link).await;
    }
}

fn some_tell() -> impl Strategy<Value = Tell> {
    // Mostly what could be right, so that sequences get somewhere.
    let channel = prop_oneof![8 => 0..3_u32, 1 => any::<u32>()].prop_map(ChannelId);
    let number = prop_oneof![8 => 0..8_u64, 1 => any::<u64>()];
    (0..9_u8, channel, number, 0..4_usize).prop_map(|(kind, channel, number, length)| match kind {
        0 => opened(channel),
        1 => refused(channel),
        2..=4 => output(channel, number, length),
        5 => takes_input(channel, number),
        6 => ended(channel, number),
        7 => Tell::Pong { nonce: number },
        _ => known(number),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_frames_does_more_than_lose_the_link(
        tells in prop::collection::vec(some_tell(), 1..40),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut liar, link) = Liar::meet().await;
            let channels = [0; 3].map(|_| link.open("tag", job()).unwrap());
            for tell in &tells {
                liar.tell(tell).await;
            }
            liar.say(&noise).await;
            liar.stream.shutdown().await.unwrap();
            link.over().await;
            assert!(link.lost().is_some());
            assert!(link.held() as u64 <= 3 * WINDOW);
            for channel in &channels {
                // Each is told something, and nobody waits for ever.
                let _told = outcome(channel).await;
            }
            liar.part(&link).await;
        });
    }
}

/// Once, a guest that was quick to answer was taken for a liar, and its sandbox killed with a task's work in it.
#[tokio::test]
async fn a_guest_may_say_how_much_more_it_takes_as_soon_as_it_is_asked_to_go_on() {
    let (mut liar, link) = Liar::meet().await;
    let tag = "t".to_owned();
    let known =
        ChannelState { channel: ONE, tag, output: 0, kept_from: 0, input: 5_984, ended: false };
    let mut channel = link.attach(&known).unwrap();
    assert_eq!(liar.hear().await, Ask::Attach { channel: ONE, from: 0 });
    liar.tell(&opened(ONE)).await;
    liar.tell(&takes_input(ONE, 5_984 + INPUT_WINDOW as u64)).await;
    assert!(channel.room().await.unwrap() > 0);
    channel.input(vec![1]).unwrap();
    let sent = loop {
        if let Ask::Input { offset, .. } = liar.hear().await {
            break offset;
        }
    };
    assert_eq!(sent, 5_984, "it goes on where the earlier connection was");
    liar.part(&link).await;
}
