//! Which script is played, and where in it a conversation is.

use super::*;
use crate::model::Script;

const SCRIPT: &str = "play: shell one ;; play: shell two ;; play: text end ;;";

/// What the model does: the command that it runs, or what it says.
fn does(model: &Model, wire: Wire, lines: &[Line<'_>]) -> String {
    let heard = played(model, wire, How::Streamed, lines);
    match heard.call {
        Some((_, arguments)) => format!("$ {}", arguments["command"].as_str().unwrap()),
        None => heard.text,
    }
}

#[test]
fn each_answer_is_a_step_and_results_of_tools_are_no_scripts() {
    let model = Model::new();
    for wire in ALL {
        let first = [Line::User(SCRIPT)];
        assert_eq!(does(&model, wire, &first), "$ one");
        // Asked again, it says the same: nothing is remembered.
        assert_eq!(does(&model, wire, &first), "$ one");
        let second = [Line::User(SCRIPT), Line::Called];
        assert_eq!(does(&model, wire, &second), "$ two");
        let third = [Line::User(SCRIPT), Line::Called, Line::Called];
        assert_eq!(does(&model, wire, &third), "end");
        let more = [Line::User(SCRIPT), Line::Called, Line::Called, Line::Called, Line::Called];
        assert_eq!(does(&model, wire, &more), "end");
    }
}

#[test]
fn a_resumed_conversation_begins_with_its_last_script() {
    let model = Model::new();
    for wire in ALL {
        let mut lines = vec![
            Line::User(SCRIPT),
            Line::Called,
            Line::Called,
            Line::Said("end"),
            Line::User("play: shell three ;;"),
        ];
        assert_eq!(does(&model, wire, &lines), "$ three");
        lines.push(Line::Called);
        assert_eq!(does(&model, wire, &lines), "Done.");
    }
}

#[test]
fn an_answer_of_the_user_goes_on_after_the_question() {
    let model = Model::new();
    let asking = "play: shell one ;; play: text Which? ;; play: shell two ;;";
    for wire in ALL {
        let mut lines = vec![Line::User(asking), Line::Called];
        assert_eq!(does(&model, wire, &lines), "Which?");
        let reminder = Line::User("<system-reminder>Be good.</system-reminder>");
        lines.extend([Line::Said("Which?"), reminder, Line::User("The blue one.")]);
        assert_eq!(does(&model, wire, &lines), "$ two");
        lines.push(Line::Called);
        assert_eq!(does(&model, wire, &lines), "Done.");
    }
}

#[test]
fn what_programs_add_by_themselves_changes_no_place() {
    let model = Model::new();
    model.otherwise(SCRIPT.parse().unwrap());
    for wire in ALL {
        let lines = [
            Line::User("# AGENTS.md instructions for /repo\n\nplay: text not this ;;"),
            Line::User("<environment_context>\n<cwd>/repo</cwd>"),
            Line::User("Do it."),
            Line::Called,
            Line::User("<system-reminder>\nplay: text nor this ;;"),
        ];
        assert_eq!(does(&model, wire, &lines), "$ two");
    }
}

#[test]
fn rules_come_first_then_directives_then_what_is_played_otherwise() {
    let model = Model::new();
    model.on("PHASE: plan", Script::new().text("a plan")).when(
        |asked| asked.tools == 2 && asked.text.ends_with("quickly"),
        Script::new().text("quick"),
    );
    let says = |text: &str| does(&model, Wire::Chat, &[Line::User(text)]);
    assert_eq!(says("PHASE: plan. The request: play: text no ;;"), "a plan");
    assert_eq!(says("Do it quickly"), "quick");
    assert_eq!(says("Do it. play: text yes ;;"), "yes");
    assert_eq!(says("Do it."), "There is nothing to play.");
    model.otherwise(Script::new().text("anything"));
    assert_eq!(does(&model, Wire::Chat, &[Line::User("Do it.")]), "anything");
    // The last text that has a script is the one.
    let lines = [Line::User("PHASE: plan"), Line::Said("a plan"), Line::User("play: text go ;;")];
    assert_eq!(does(&model, Wire::Chat, &lines), "go");
}

#[test]
fn a_named_script_stands_for_its_steps() {
    let model = Model::new();
    model.named("both", SCRIPT.parse().unwrap());
    model.named("round", "play: script round ;;".parse().unwrap());
    let prompt = "play: usage 1 2 ;; play: shell zero ;; play: say First. ;; play: script both ;;";
    let heard = played(&model, Wire::Chat, How::Whole, &[Line::User(prompt), Line::Called]);
    assert_eq!(
        (heard.text.as_str(), heard.call.unwrap().1),
        ("First.", json!({ "command": "one" }))
    );
    for (name, reason) in [("round", "stands for itself"), ("none", "nobody gave the model")] {
        let prompt = format!("play: script {name} ;;");
        let asked = request(Wire::Chat, How::Whole, &[Line::User(&prompt)]);
        let (status, text) = body(&model.answer(&asked));
        assert!(status == 400 && text.contains(reason), "{text}");
    }
}

#[test]
fn a_step_without_a_tool_for_it_is_left_out() {
    let model = Model::new();
    let lines = [Line::User("play: plan A | B ;; play: ask Which? ;; play: shell one ;;")];
    assert_eq!(does(&model, Wire::Gemini, &lines), "$ one");
    assert_eq!(model.requests()[0].step.as_deref(), Some("1/2"));
}

#[test]
fn a_rule_may_look_at_the_model() {
    let model = Model::new();
    let same = model.clone();
    model.when(move |_| same.requests().is_empty(), Script::new().text("first"));
    model.otherwise(Script::new().text("later"));
    let says = || does(&model, Wire::Chat, &[Line::User("Go.")]);
    assert_eq!([says(), says()], ["first", "later"]);
}
