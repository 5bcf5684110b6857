//! The connection: hello, frames out, frames in.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    os::fd::{AsFd as _, BorrowedFd},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guest::protocol::{Ask, ChannelId, ChannelState, Decoder, Job, Tell, VERSION, encode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Notify,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LinkError,
    inbox::{Ended, Inbox},
};

/// A guest that has not said hello by then will not.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });

/// How much may wait for a guest that does not read.
const MOST_BACKLOG: usize = 4 << 20;

/// How often `Channels` is a normal answer; beyond it, the list cannot be right.
const MOST_CHANNELS: usize = guest::protocol::CHANNELS;

/// No channel has moved so many bytes. Numbers beyond are there to overflow others.
const MOST_BYTES: u64 = 1 << 60;

/// The connection to one guest. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    out: OwnedWriteHalf,
    state: Mutex<State>,
    /// Frames that did not fit into the socket at once.
    backlog_waits: Notify,
    news: Notify,
    over: CancellationToken,
}

#[derive(Debug)]
struct State {
    backlog: VecDeque<u8>,
    next: u32,
    channels: BTreeMap<ChannelId, Slot>,
    known: Option<Vec<ChannelState>>,
    /// How many lists were asked for and have not come.
    lists_due: u32,
    pings: u64,
    pongs: u64,
    lost: Option<LinkError>,
}

/// A channel that a job has, and who is told of what comes.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) id: ChannelId,
    pub(super) news: Arc<Notify>,
}

#[derive(Debug)]
struct Slot {
    inbox: Inbox,
    news: Arc<Notify>,
}

impl Link {
    /// Connects and says hello. The tasks of the connection belong to `tracker`, and end with it.
    pub(crate) async fn connect(control: &Path, tracker: &TaskTracker) -> Result<Self, LinkError> {
        let silent = |_| LinkError::Closed("no hello".to_owned());
        let greeting = async { Self::greet(UnixStream::connect(control).await?, tracker).await };
        tokio::time::timeout(PATIENCE, greeting).await.map_err(silent)?
    }

    pub(super) async fn greet(
        mut stream: UnixStream,
        tracker: &TaskTracker,
    ) -> Result<Self, LinkError> {
        stream.write_all(&encode(&Ask::Hello { version: VERSION })?).await?;
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; 4096];
        loop {
            let read = stream.read(&mut buffer).await?;
            if read == 0 {
                return Err(LinkError::Closed("it hung up".to_owned()));
            }
            decoder.push(buffer.get(..read).unwrap_or_default());
            match decoder.next::<Tell>()? {
                None => {}
                Some(Tell::Hello { version: VERSION }) => break,
                Some(other) => {
                    return Err(LinkError::Broken(format!("said {other:?} instead of hello")));
                }
            }
        }
        let (read, out) = stream.into_split();
        let state = State {
            backlog: VecDeque::new(),
            next: 0,
            channels: BTreeMap::new(),
            known: None,
            lists_due: 0,
            pings: 0,
            pongs: 0,
            lost: None,
        };
        let shared = Arc::new(Shared {
            out,
            state: Mutex::new(state),
            backlog_waits: Notify::new(),
            news: Notify::new(),
            over: CancellationToken::new(),
        });
        tracker.spawn(receive(Arc::clone(&shared), read, decoder));
        tracker.spawn(drain(Arc::clone(&shared)));
        Ok(Self { shared })
    }

    /// Begins a job on a channel of its own.
    pub(super) fn begin_new(&self, tag: &str, job: Job) -> Result<Begun, LinkError> {
        let mut state = self.shared.lock();
        let id = ChannelId(state.next);
        state.next = state.next.checked_add(1).ok_or_else(|| {
            LinkError::Closed("it was asked more often than numbers last".to_owned())
        })?;
        self.begin(state, id, Inbox::new(0), &Ask::Open { channel: id, tag: tag.to_owned(), job })
    }

    /// Goes on with the channel of a job that was begun over an earlier connection.
    pub(super) fn begin_again(&self, known: &ChannelState) -> Result<Begun, LinkError> {
        let (id, from) = (known.channel, known.kept_from);
        // Noted before the guest is asked: it says at once how much more it takes.
        let inbox = Inbox::resumed(from, known.input);
        self.begin(self.shared.lock(), id, inbox, &Ask::Attach { channel: id, from })
    }

    fn begin(
        &self,
        mut state: MutexGuard<'_, State>,
        id: ChannelId,
        inbox: Inbox,
        ask: &Ask,
    ) -> Result<Begun, LinkError> {
        let (taken, upto) = inbox.credit();
        let news = Arc::new(Notify::new());
        state.next = state.next.max(id.0.saturating_add(1));
        state.channels.insert(id, Slot { inbox, news: Arc::clone(&news) });
        let mut frames = encode(ask)?;
        frames.extend(encode(&Ask::Credit { channel: id, taken, upto })?);
        self.shared.write(&mut state, &frames)?;
        drop(state);
        Ok(Begun { id, news })
    }

    pub(crate) fn send(&self, ask: &Ask) -> Result<(), LinkError> {
        let frame = encode(ask)?;
        self.shared.write(&mut self.shared.lock(), &frame)
    }

    /// What the guest remembers, from this connection and those before.
    pub(crate) async fn channels(&self) -> Result<Vec<ChannelState>, LinkError> {
        {
            let mut state = self.shared.lock();
            state.known = None;
            state.lists_due = state.lists_due.saturating_add(1);
        }
        self.send(&Ask::Channels)?;
        let known = self.until(|state| state.known.take()).await?;
        // Numbers go on after the highest that is taken.
        let next = known.iter().map(|one| one.channel.0.saturating_add(1)).max().unwrap_or(0);
        let mut state = self.shared.lock();
        state.next = state.next.max(next);
        Ok(known)
    }

    /// Whether the guest still answers.
    pub(crate) async fn ping(&self) -> Result<(), LinkError> {
        let nonce = {
            let mut state = self.shared.lock();
            state.pings += 1;
            state.pings
        };
        self.send(&Ask::Ping { nonce })?;
        // Answers come in the order of the questions.
        self.until(|state| (state.pongs >= nonce).then_some(())).await
    }

    /// Hangs up. What runs inside goes on.
    pub(crate) fn close(&self) {
        self.shared.lose(LinkError::Closed("we hung up".to_owned()));
    }

    /// Returns when the guest has hung up, or was hung up on.
    pub(crate) async fn over(&self) {
        self.shared.over.cancelled().await;
    }

    pub(crate) fn lost(&self) -> Option<LinkError> {
        self.shared.lock().lost.clone()
    }

    /// How many bytes of a guest's are held here for whoever takes them.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let state = self.shared.lock();
        let known = state.known.as_ref().map_or(0, Vec::len);
        let inboxes = state.channels.values().map(|slot| slot.inbox.held());
        known + state.backlog.len() + inboxes.sum::<usize>()
    }

    /// The socket, to ask the kernel about it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.shared.out.as_ref().as_fd()
    }

    async fn until<T>(&self, found: impl Fn(&mut State) -> Option<T>) -> Result<T, LinkError> {
        let waiting = async {
            loop {
                // Made before looking, so that what is told meanwhile is not missed.
                let told = self.shared.news.notified();
                {
                    let mut state = self.shared.lock();
                    if let Some(found) = found(&mut state) {
                        return Ok(found);
                    }
                    if let Some(lost) = &state.lost {
                        return Err(lost.clone());
                    }
                }
                told.await;
            }
        };
        let silent = |_| LinkError::Closed("it is silent".to_owned());
        tokio::time::timeout(PATIENCE, waiting).await.map_err(silent)?
    }

    /// Looks at a channel's inbox; a lost connection is told once the inbox has nothing more to say.
    pub(super) fn look<T>(
        &self,
        id: ChannelId,
        look: impl FnOnce(&mut Inbox) -> Option<T>,
    ) -> Result<Option<T>, LinkError> {
        let mut state = self.shared.lock();
        let lost = state.lost.clone();
        let unknown = || LinkError::Closed("the channel was forgotten".to_owned());
        let slot = state.channels.get_mut(&id).ok_or_else(unknown)?;
        match (look(&mut slot.inbox), lost) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(lost)) => Err(lost),
            (None, None) => Ok(None),
        }
    }

    /// Stops listening to a channel. Frames that are on their way are dropped.
    pub(super) fn leave(&self, id: ChannelId) {
        self.shared.lock().channels.remove(&id);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes at once where the socket has room, so that a request does not wait for another task.
    fn write(&self, state: &mut State, frames: &[u8]) -> Result<(), LinkError> {
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        let mut rest = frames;
        if state.backlog.is_empty() {
            match self.out.try_write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !rest.is_empty() {
            if state.backlog.len() > MOST_BACKLOG {
                let broken = LinkError::Broken("it does not read what it asked for".to_owned());
                self.lose_with(state, broken.clone());
                return Err(broken);
            }
            state.backlog.extend(rest);
            self.backlog_waits.notify_one();
        }
        Ok(())
    }

    /// The beginning of what waits to be written.
    fn backlogged(&self) -> Option<Vec<u8>> {
        const MOST: usize = 64 * 1024;
        let state = self.lock();
        let (front, _) = state.backlog.as_slices();
        let front = front.get(..front.len().min(MOST)).unwrap_or_default();
        (!front.is_empty()).then(|| front.to_vec())
    }

    fn lose(&self, error: LinkError) {
        self.lose_with(&mut self.lock(), error);
    }

    fn lose_with(&self, state: &mut State, error: LinkError) {
        state.backlog = VecDeque::new();
        if state.lost.is_none() {
            state.lost = Some(error);
        }
        for slot in state.channels.values() {
            slot.news.notify_waiters();
        }
        self.news.notify_waiters();
        self.over.cancel();
    }

    fn take_in(&self, tell: Tell) -> Result<(), LinkError> {
        let mut state = self.lock();
        let told = match tell {
            Tell::Hello { .. } => Err("hello twice".to_owned()),
            Tell::Channels(known) => state.list(known).inspect(|()| self.news.notify_waiters()),
            Tell::Pong { nonce } => state.pong(nonce).inspect(|()| self.news.notify_waiters()),
            Tell::Opened { channel } => state.with(channel, |inbox| inbox.answer(Ok(()))),
            Tell::Refused { channel, refusal } => {
                state.with(channel, |inbox| inbox.answer(Err(refusal)))
            }
            Tell::Output { channel, stream, offset, bytes } => {
                state.with(channel, |inbox| inbox.output(stream, offset, bytes))
            }
            Tell::InputCredit { channel, upto } => {
                state.with(channel, |inbox| inbox.take_input(upto))
            }
            Tell::Ended { channel, ending, usage, output, dropped } => {
                state.with(channel, |inbox| inbox.end(Ended { ending, usage, dropped }, output))
            }
        };
        told.map_err(LinkError::Broken)
    }
}

impl State {
    fn list(&mut self, known: Vec<ChannelState>) -> Result<(), String> {
        let due = self.lists_due.checked_sub(1);
        self.lists_due = due.ok_or("a list of channels that nobody asked for")?;
        let highest = known.iter().map(|one| one.kept_from.max(one.input)).max().unwrap_or(0);
        if known.len() > MOST_CHANNELS || highest > MOST_BYTES {
            return Err(format!("a list of {} channels, at {highest}", known.len()));
        }
        self.known = Some(known);
        Ok(())
    }

    /// The backlog is dropped with the link, also in the middle of a write.
    fn sent(&mut self, written: usize) {
        let written = written.min(self.backlog.len());
        self.backlog.drain(..written);
    }

    fn pong(&mut self, nonce: u64) -> Result<(), String> {
        if nonce != self.pongs + 1 || nonce > self.pings {
            return Err(format!("an answer to ping {nonce}, of {} that were sent", self.pings));
        }
        self.pongs = nonce;
        Ok(())
    }

    fn with(
        &mut self,
        id: ChannelId,
        change: impl FnOnce(&mut Inbox) -> Result<(), String>,
    ) -> Result<(), String> {
        if id.0 >= self.next {
            return Err(format!("it spoke of channel {}, which nobody opened", id.0));
        }
        // A channel that was left may still have frames on their way.
        let Some(slot) = self.channels.get_mut(&id) else { return Ok(()) };
        change(&mut slot.inbox)?;
        slot.news.notify_waiters();
        Ok(())
    }
}

async fn receive(shared: Arc<Shared>, mut read: OwnedReadHalf, mut decoder: Decoder) {
    let mut buffer = vec![0; 64 * 1024];
    let ended = loop {
        match decoder.next() {
            Ok(Some(tell)) => {
                if let Err(broken) = shared.take_in(tell) {
                    break broken;
                }
                continue;
            }
            Ok(None) => {}
            Err(broken) => break broken.into(),
        }
        let read = tokio::select! {
            read = read.read(&mut buffer) => read,
            () = shared.over.cancelled() => return,
        };
        match read {
            Ok(0) => break LinkError::Closed("it hung up".to_owned()),
            Ok(count) => decoder.push(buffer.get(..count).unwrap_or_default()),
            Err(error) => break error.into(),
        }
    };
    shared.lose(ended);
}

/// Writes what did not fit at once, until the link is over.
async fn drain(shared: Arc<Shared>) {
    let writing = async {
        loop {
            shared.backlog_waits.notified().await;
            while let Some(chunk) = shared.backlogged() {
                shared.out.writable().await?;
                match shared.out.try_write(&chunk) {
                    Ok(written) => shared.lock().sent(written),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err::<(), io::Error>(error),
                }
            }
        }
    };
    tokio::select! {
        written = writing => {
            let gone = written.err().map_or_else(String::new, |error| error.to_string());
            shared.lose(LinkError::Closed(gone));
        }
        () = shared.over.cancelled() => {}
    }
}
