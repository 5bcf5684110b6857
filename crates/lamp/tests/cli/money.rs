//! Whose money is over is told, and a larger budget in the server's file lets the task go on (CO1).

use testkit::model::{Asked, Model, Script, serve};
use unsupported::supported;

use crate::fixture::{Fixture, filters};

/// The server's file, with these rows of budgets. One answer of the model costs about two cents.
fn file(port: u16, budgets: &str) -> String {
    format!(
        "version: 1\nsandboxes: {{ warm: 0 }}\nlimits: {{ budget: $20 }}\n{budgets}\
         models:\n  - {{ name: scripted, provider: openai, url: 'http://localhost:{port}/v1', addresses: [127.0.0.1], model: gpt-5-pro }}\n"
    )
}

const SMALL: &str = "budgets: [{ scope: person, period: day, limit: $0.01 }]\n";
const AGENTS: &str = "budgets: [{ scope: person, period: day, limit: $50 }, { scope: agent, period: month, limit: $0.01 }]\n";
const LARGE: &str = "budgets: [{ scope: person, period: day, limit: $50 }, { scope: agent, period: month, limit: $50 }]\n";

#[test]
fn a_budget_of_a_person_or_an_agent_stops_a_task_by_its_name_until_the_file_says_more() {
    let port = a_model_that_mends_the_sum();
    let fixture = supported!(Fixture::build_as(&file(port, SMALL)));
    let _filters = filters();
    let run =
        fixture.lamp(&["run", "make the sum right", "--agent", "builtin", "--model", "gpt-5-pro"]);
    assert_eq!(run.code(), Some(4), "{}", run.story());
    let task = fixture.json(&["get", "last"])["id"].as_str().unwrap().to_owned();
    let hit = fixture.json(&["get", &task])["failure"].clone();
    assert_eq!(
        (&hit["kind"], &hit["phase"]),
        (&"budget_hit".into(), &"research".into()),
        "{hit:#}"
    );
    told(&hit, "the budget of the person `local` is $0.01 per day");

    // More for the task itself does not help, and there is a limit to that too.
    insta::assert_snapshot!(fixture.story(&[&["resume", &task, "--budget", "21"]]));

    reload(&fixture, &file(port, AGENTS));
    fixture.fine(&["resume", &task]);
    let hit = stopped(&fixture, &task, "agent");
    told(&hit, "the budget of the agent `builtin` is $0.01 per month");
    assert_eq!(fixture.json(&["usage", &task])["total"]["money"]["micros"], 0, "nothing was asked");

    reload(&fixture, &file(port, LARGE));
    fixture.fine(&["resume", &task]);
    fixture.wait(&task, "awaiting approval");
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    let spent = fixture.json(&["usage", &task])["total"]["money"]["micros"].as_u64().unwrap();
    assert!(spent > 10_000, "{spent}");
}

fn told(failure: &serde_json::Value, words: &str) {
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains(words), "`{words}` in {message}");
}

/// Waits until it is paused because of another's budget.
fn stopped(fixture: &Fixture, task: &str, whose: &str) -> serde_json::Value {
    fixture.until(whose, || {
        let task = fixture.json(&["get", task]);
        let is_so = task["failure"]["message"].as_str().is_some_and(|it| it.contains(whose));
        (task["state"] == "paused" && is_so).then(|| task["failure"].clone())
    })
}

fn reload(fixture: &Fixture, file: &str) {
    fixture.server.world().write("lamp.yaml", file);
    fixture.fine(&["policy", "reload"]);
}

/// A model that is asked at this port.
fn a_model_that_mends_the_sum() -> u16 {
    let model = Model::new();
    let plan = "```lamp-answer\n{\"plan\": {\"summary\": \"Add\", \"files\": [{\"path\": \"calc.py\", \"why\": \"it subtracts\"}], \"tests\": [], \
        \"expected_behaviour\": \"2 and 3 is 5\", \"commands\": [], \"hosts\": [], \"risks\": []}}\n```";
    let review = "```lamp-answer\n{\"review\": {\"findings\": []}}\n```";
    for (phase, script) in [
        ("# Phase: research", Script::new().text("It subtracts.")),
        ("# Phase: plan", Script::new().text(plan)),
        (
            "# Phase: implement",
            Script::new().shell("sed -i 's/a - b/a + b/' calc.py").text("Done."),
        ),
        ("# Phase: review", Script::new().text(review)),
    ] {
        model.when(move |asked: &Asked<'_>| asked.text.contains(phase), script);
    }
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener, model).await.unwrap();
        });
    });
    told.recv().unwrap()
}
