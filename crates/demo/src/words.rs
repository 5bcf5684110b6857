//! What the demo says before and after its story.

use std::io::{self, Write};

use terminal::colors::Colors;
use wire::task::shown::Task;

use super::{
    ground::Ground,
    mind::{Mind, Real},
    sample,
};

pub(crate) fn introduce(
    mind: &Mind,
    ground: &Ground,
    colors: Colors,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = "One task, from a sentence to a pull request that proves itself.";
    writeln!(out, "{}\n", colors.strong(title))?;
    match mind {
        Mind::Bundled(_) => writeln!(
            out,
            "No model is called: the answers are bundled. With ANTHROPIC_API_KEY or OPENAI_API_KEY set,\n`lamp demo --model NAME` uses a real one. All else is real, and the same for every task."
        )?,
        Mind::Real(Real { provider, model, .. }) => writeln!(
            out,
            "The model `{model}` of {} is called, with your key. It costs money, and it may do other things than are told here.",
            provider.name()
        )?,
    }
    let (root, sample) = (ground.root.display(), ground.sample());
    writeln!(out, "\n  server      its own, in {root}")?;
    writeln!(out, "  repository  {}: 3 commits, and a test that fails", sample.display())
}

/// How to look around in a server that stays.
pub(crate) fn invite(task: &Task, ground: &Ground, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nThe server stays. Look around from another shell:\n")?;
    writeln!(out, "  export LAMP_SERVER={}", ground.socket().display())?;
    writeln!(out, "  cd {}", ground.sample().display())?;
    let (name, task) = (sample::NAME, &task.short);
    for line in [
        "lamp list",
        &format!("lamp get {task}"),
        &format!("lamp log {task}"),
        &format!("lamp pr list --repo {name}"),
        &format!("lamp why lamps.py:14 --repo {name}"),
    ] {
        writeln!(out, "  {line}")?;
    }
    let after = if ground.goes() { "clears everything away" } else { "leaves its files" };
    writeln!(out, "\nCtrl-C ends it, and {after}.")
}
