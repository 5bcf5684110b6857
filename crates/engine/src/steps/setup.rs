//! Tells how the dependencies of a project are installed, while that goes on: what was found, what it prints, how it ended.
//!
//! It is told as what an agent does is told, as a part of the task's transcript, so that `lamp run` shows it live and `lamp log` later. Where
//! nothing is installed nothing is told.

use std::pin::pin;

use contracts::outfit::{Outfit, OutfitError, Outfits as _, SetupNews, Wanted};
use domain::transcript::{AgentEvent, Ending, ToolCall, ToolKind, ToolStatus};
use tokio::sync::mpsc;

use super::Scene;
use crate::{
    Hands,
    transcript::{Recorder, Recording},
};

/// Lines of its output that are told. The last ones are told with the failure.
const LINES: usize = 400;
/// Bytes of the end that are told then.
const END: usize = 8 * 1024;

/// Asks for an outfit, and keeps what is told meanwhile.
pub(super) async fn told<H: Hands>(
    scene: &Scene<'_, H>,
    wanted: Wanted<'_>,
) -> Result<Outfit, OutfitError> {
    let (news, mut heard) = mpsc::channel(256);
    let wanted = Wanted { news: Some(&news), ..wanted };
    let mut fitting = pin!(scene.hands().outfits().outfit(&wanted));
    let first = tokio::select! {
        biased;
        first = heard.recv() => first,
        fitted = &mut fitting => match heard.try_recv() {
            Ok(first) => return tell_rest(scene, first, heard, fitted).await,
            Err(_) => return fitted,
        },
    };
    let (events, told) = mpsc::channel(1024);
    let recorder = Recorder::new(scene.engine, scene.lease, told);
    let mut recording = Recording::new(recorder, scene.unfinished);
    let mut teller = Teller::default();
    for event in first.into_iter().flat_map(|news| teller.tell(news)) {
        drop(events.send(event).await);
    }
    let fitted = tokio::select! {
        fitted = &mut fitting => fitted,
        () = pass_on(&mut teller, &mut heard, &events) => Err(busy("nobody tells any more")),
        reason = recording.watch(scene.engine) => return Err(busy(&reason)),
    };
    while let Ok(news) = heard.try_recv() {
        teller.tell(news).into_iter().for_each(|event| drop(events.try_send(event)));
    }
    let kept = recording.finish(scene.engine, ending(&fitted)).await;
    kept.map_err(|reason| busy(&reason))?;
    fitted
}

/// All of it was told before anybody could listen.
async fn tell_rest<H: Hands>(
    scene: &Scene<'_, H>,
    first: SetupNews,
    mut heard: mpsc::Receiver<SetupNews>,
    fitted: Result<Outfit, OutfitError>,
) -> Result<Outfit, OutfitError> {
    let (events, told) = mpsc::channel(1024);
    let recorder = Recorder::new(scene.engine, scene.lease, told);
    let recording = Recording::new(recorder, scene.unfinished);
    let mut teller = Teller::default();
    let mut next = Some(first);
    while let Some(news) = next {
        teller.tell(news).into_iter().for_each(|event| drop(events.try_send(event)));
        next = heard.try_recv().ok();
    }
    let kept = recording.finish(scene.engine, ending(&fitted)).await;
    kept.map_err(|reason| busy(&reason))?;
    fitted
}

async fn pass_on(
    teller: &mut Teller,
    heard: &mut mpsc::Receiver<SetupNews>,
    events: &mpsc::Sender<AgentEvent>,
) {
    while let Some(news) = heard.recv().await {
        for event in teller.tell(news) {
            // Whoever keeps them is gone only when the step is.
            drop(events.send(event).await);
        }
    }
}

fn ending(fitted: &Result<Outfit, OutfitError>) -> Ending {
    match fitted {
        Ok(_) => Ending::Answered,
        Err(error) => Ending::Stopped { reason: error.to_string() },
    }
}

fn busy(reason: &str) -> OutfitError {
    OutfitError::Busy { reason: reason.to_owned() }
}

/// News as events.
#[derive(Debug, Default)]
struct Teller {
    commands: Vec<String>,
    /// Not yet a whole line.
    begun: Vec<u8>,
    lines: usize,
    end: String,
}

impl Teller {
    fn tell(&mut self, news: SetupNews) -> Vec<AgentEvent> {
        match news {
            SetupNews::Found { commands, because } => {
                self.commands = commands;
                let (because, commands) = (because.join(", "), self.commands.join("; "));
                let text = format!("Set up by {because}: {commands}\n");
                vec![message(1, text), self.tool(ToolStatus::Running, None)]
            }
            SetupNews::Output(bytes) => self.output(&bytes),
            SetupNews::Ready { image } => {
                let text =
                    format!("Set up: image {}\n", image.chars().take(12).collect::<String>());
                vec![self.tool(ToolStatus::Done, None), message(3, text)]
            }
            SetupNews::Failed { reason } => {
                let result = format!("{}{reason}", self.end);
                vec![self.tool(ToolStatus::Failed, Some(result))]
            }
        }
    }

    fn tool(&self, status: ToolStatus, result: Option<String>) -> AgentEvent {
        AgentEvent::ToolCall(ToolCall {
            id: "setup".to_owned(),
            title: self.commands.join("; "),
            kind: ToolKind::Execute,
            status,
            input: None,
            result,
            paths: Vec::new(),
        })
    }

    /// Whole lines, up to a number of them.
    fn output(&mut self, bytes: &[u8]) -> Vec<AgentEvent> {
        self.begun.extend_from_slice(bytes);
        let Some(at) = self.begun.iter().rposition(|byte| *byte == b'\n') else {
            // A line without an end is a bar of progress.
            self.begun.truncate(END);
            return Vec::new();
        };
        let rest = self.begun.split_off(at + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        let text = String::from_utf8_lossy(&whole).into_owned();
        self.end.push_str(&text);
        if self.end.len() > 2 * END {
            let from = self.end.ceil_char_boundary(self.end.len() - END);
            self.end.drain(..from);
        }
        let before = self.lines;
        self.lines = before.saturating_add(text.lines().count());
        if before >= LINES {
            return Vec::new();
        }
        let mut told: String =
            text.lines().take(LINES - before).flat_map(|line| [line, "\n"]).collect();
        if self.lines >= LINES {
            told.push_str("[it says more]\n");
        }
        vec![message(2, told)]
    }
}

const fn message(number: u32, text: String) -> AgentEvent {
    AgentEvent::Message { number, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_told_in_whole_lines_and_its_end_with_the_failure() {
        let mut teller = Teller::default();
        let found = SetupNews::Found {
            commands: vec!["npm ci".to_owned()],
            because: vec!["package.json".to_owned()],
        };
        assert_eq!(teller.tell(found).len(), 2);
        assert_eq!(teller.tell(SetupNews::Output(b"add".to_vec())), []);
        let whole = teller.tell(SetupNews::Output(b"ed 3\nmo".to_vec()));
        assert_eq!(whole, [message(2, "added 3\n".to_owned())]);
        let many = "x\n".repeat(2 * LINES);
        let told = teller.tell(SetupNews::Output(many.into_bytes()));
        let [AgentEvent::Message { text, .. }] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(text.lines().count(), LINES);
        assert!(text.ends_with("[it says more]\n"));
        let failed = teller.tell(SetupNews::Failed { reason: "no".to_owned() });
        let [AgentEvent::ToolCall(call)] = failed.as_slice() else { panic!("{failed:?}") };
        assert_eq!(call.status, ToolStatus::Failed);
        assert!(call.result.as_ref().is_some_and(|it| it.ends_with("x\nno")));
    }
}
