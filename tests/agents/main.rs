//! The real programs (Claude Code, Codex, `OpenCode`, Gemini CLI, pi, and the built-in agent), installed from their packages by our own
//! recipes, in real sandboxes, through the real gateway, against a scripted model.
//!
//! ```text
//!  lamp agent run ──▶ lamp up ──▶ sandbox: the program ──▶ gateway ──▶ the scripted model, in this process
//! ```
//!
//! One server for all of them, on data that is kept beside the build: an image that was built is found again. A machine that has no
//! registry cannot install them, and fails here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot begin fails, and says what it saw"
)]

mod fixture;
mod journey;
mod story;
mod tasks;
mod walls;

use fixture::Fixture;
use journey::Journey;

/// A program, and the model that it is told to ask: each has its own, so that what was used can be told apart.
const AGENTS: [(&str, &str); 6] = [
    ("claude-code", "claude-sonnet-4-5"),
    ("codex", "model-of-codex"),
    ("opencode", "model-of-opencode"),
    ("gemini", "model-of-gemini"),
    ("pi", "model-of-pi"),
    ("builtin", "model-of-builtin"),
];

#[test]
fn real_agents_work_ask_remember_stop_and_are_paid_for() {
    let mut fixture = Fixture::build();
    let journeys: Vec<Journey<'_>> = {
        let fixture = &fixture;
        // Two at a time: that is how many cores there are.
        let (one, two) = AGENTS.split_at(AGENTS.len() / 2);
        let play = |some: &[(&'static str, &'static str)]| {
            some.iter()
                .map(|(agent, model)| Journey::new(agent, model).begin(fixture))
                .collect::<Vec<_>>()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| play(two));
            let mut all = play(one);
            all.extend(other.join().unwrap());
            all
        })
    };
    // What runs in sandboxes outlives the server; what was remembered is on their disks.
    fixture.house.kill_and_restart();
    for journey in &journeys {
        journey.remembers_after_a_restart(&fixture);
        println!("{}: all of it", journey.agent);
    }
    let tasks = [
        ("claude-code", tasks::PYTHON, &["--model", "claude-sonnet-4-5"][..]),
        ("codex", tasks::JAVASCRIPT, &["--model", "model-of-codex"]),
        // OpenCode, by a file that says where the compiler is.
        ("rust-mender", tasks::RUST, &[]),
    ];
    for (agent, sample, words) in tasks {
        sample.is_mended_by(&fixture, agent, words);
        println!("{agent}: from a sentence to a merged change");
    }
}

#[test]
fn a_script_without_any_model_goes_from_a_sentence_to_a_merged_change() {
    let fixture = Fixture::small("task");
    tasks::PYTHON.is_mended_by(&fixture, "mender", &[]);
}
