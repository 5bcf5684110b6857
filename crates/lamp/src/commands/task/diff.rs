//! `lamp diff`

use std::io::{self, Write};

use terminal::{
    colors::{Colors, Stream},
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::shown::Patch;

use super::{World, named::Named};
use crate::timeline::words;

/// Show the change that a task made, as a patch
///
/// Into a pipe it goes as git wrote it, so that `git apply` takes it.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

impl Diff {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let patch = client.task_diff(&task.id).await.explained()?;
        show(&patch, self.format.format(), world.colors, out)?;
        Ok(Exit::Done)
    }
}

/// A patch for a person, a pipe or a program.
pub(crate) fn show(
    patch: &Patch,
    format: Format,
    colors: Colors,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match (format, Stream::of(&io::stdout())) {
        (Format::Json, _) => writeln!(out, "{}", words::json_page(&Versioned::new(patch))?)?,
        (Format::People, Stream::Terminal) => write!(out, "{}", page(patch, colors))?,
        (Format::People, Stream::Elsewhere) => out.write_all(patch.text.as_bytes())?,
    }
    Ok(())
}

fn page(patch: &Patch, colors: Colors) -> String {
    if patch.text.trim().is_empty() {
        return "Nothing is changed.\n".to_owned();
    }
    let mut text = String::new();
    for line in words::clean(&patch.text).lines() {
        let painted = match line.chars().next() {
            Some('+') => colors.good(line).to_string(),
            Some('-') => colors.warning(line).to_string(),
            Some('@') => colors.weak(line).to_string(),
            Some('d') if line.starts_with("diff ") => colors.strong(line).to_string(),
            Some(_) | None => line.to_owned(),
        };
        text.push_str(&painted);
        text.push('\n');
    }
    if patch.cut {
        text.push_str("[there is more; the pull request's branch has all of it]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_cannot_speak_to_the_terminal() {
        let text = "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new \u{1b}]0;evil\u{7}\rhidden\n";
        let patch = Patch { text: text.to_owned(), cut: true };
        insta::assert_snapshot!(page(&patch, Colors::OFF));
        let none = Patch { text: String::new(), cut: false };
        assert_eq!(page(&none, Colors::OFF), "Nothing is changed.\n");
    }
}
