//! What is recorded of every program. The model's part stands in the request, as `testkit::model::script` reads it.

use agents::answer;
use contracts::agent::{Answer, Mode};

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) mode: Mode,
    /// One run each, in one home. The last is kept.
    pub(crate) turns: &'static [Turn],
    /// What a person says while a tool is used.
    pub(crate) words: Option<Interruption>,
}

/// What a person says in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interruption {
    /// The tool that has begun by then has this in its title or its input.
    pub(crate) cue: &'static str,
    pub(crate) words: &'static str,
}

/// What the model does in a run.
#[derive(Debug)]
pub(crate) enum Turn {
    Plays(&'static str),
    /// It ends with a question in a block.
    Asks,
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "change",
        mode: Mode::Implement,
        turns: &[Turn::Plays(
            "play: think It has to be written first. ;; play: say I write it. ;; play: write hello.txt hello ;; \
             play: read hello.txt ;; play: edit hello.txt hello => goodbye ;; play: shell cat hello.txt ;; \
             play: shell echo it breaks; exit 3 ;; play: text Done. ;;",
        )],
        words: None,
    },
    Scenario { name: "question", mode: Mode::Implement, turns: &[Turn::Asks], words: None },
    Scenario {
        name: "reading",
        mode: Mode::Research,
        turns: &[Turn::Plays("play: write hello.txt hello ;; play: text It stays as it is. ;;")],
        words: None,
    },
    Scenario {
        name: "todo",
        mode: Mode::Implement,
        turns: &[Turn::Plays("play: plan Read it | Mend it ;; play: text Done. ;;")],
        words: None,
    },
    Scenario {
        name: "refused",
        mode: Mode::Implement,
        turns: &[Turn::Plays("play: error 401 ;; play: text It never comes to this. ;;")],
        words: None,
    },
    Scenario {
        name: "resume",
        mode: Mode::Implement,
        turns: &[
            Turn::Plays("play: text The first turn. ;;"),
            Turn::Plays("play: text The second turn. ;;"),
        ],
        words: None,
    },
    Scenario {
        name: "steer",
        mode: Mode::Implement,
        turns: &[Turn::Plays(
            "play: shell timeout 4 tail -f /dev/null ;; play: text Nobody said anything. ;;",
        )],
        words: Some(Interruption { cue: "timeout 4", words: "play: text It was steered. ;;" }),
    },
];

impl Turn {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Plays(script) => (*script).to_owned(),
            Self::Asks => {
                let question = Answer::Question {
                    text: "Which of the two?".to_owned(),
                    choices: vec!["the old one".to_owned(), "the new one".to_owned()],
                };
                let block = answer::block(&question).replace('\n', "\\n");
                format!("play: text I have to ask.\\n\\n{block} ;;")
            }
        }
    }
}
