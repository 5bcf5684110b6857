//! The scripted model that the built-in agent asks: it answers at once, so that none of the time is a model's.

use testkit::model::{
    Model, serve,
    stories::{Bug, Phase},
};
use tokio::{net::TcpListener, task::JoinSet};

const PLAN: &str = r#"```lamp-answer
{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "sum.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "add(2, 3) is 5", "commands": ["make test"], "hosts": [], "risks": []}}
```"#;

const REVIEW: &str = "Nothing is wrong.\n\n```lamp-answer\n{\"review\": {\"findings\": []}}\n```";

/// The model, for as long as this is.
#[derive(Debug)]
pub struct Teller {
    pub port: u16,
    /// Ends with this.
    _serving: JoinSet<std::io::Result<()>>,
}

impl Teller {
    pub async fn start() -> anyhow::Result<Self> {
        let model = Model::new();
        let bug = Bug {
            file: "sum.py".to_owned(),
            test: "make test".to_owned(),
            ..Bug::in_a_sum().answering(Phase::Plan, PLAN).answering(Phase::Review, REVIEW)
        };
        model.tells(
            &bug,
            &[
                (Phase::Research, "# Phase: research"),
                (Phase::Plan, "# Phase: plan"),
                (Phase::Implement, "# Phase: implement"),
                (Phase::Review, "# Phase: review"),
            ],
        );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, model));
        Ok(Self { port, _serving: serving })
    }
}
