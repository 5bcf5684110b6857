//! Commands: what goes in, what comes out.

use std::collections::BTreeMap;

use super::{
    super::{Kept, keep, succeed},
    stage::{PATH, Stage, shell},
};
use crate::sandbox::{Exec, HOME, SandboxError, Sandboxes, TerminalSize};

pub(super) async fn exit_codes_and_output_are_told(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let said = stage.must(id, "echo hello").await?;
    keep("its exit code is told", said.exited(0))?;
    keep("its output arrives", said.out == b"hello\n")?;
    let said = stage.must(id, "exit 3").await?;
    keep("a failing exit code is told", said.exited(3))?;
    stage.destroy(id).await
}

pub(super) async fn a_repeated_name_gets_the_first_answer(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let name = stage.new_name();
    let first = stage.exec(id, &name, &shell("exit 3"), &[]).await;
    let first = succeed("a command runs", first)?;
    let again = stage.exec(id, &name, &shell("exit 3"), &[]).await;
    let again = succeed("a repeated name answers", again)?;
    keep(
        "a repeated name gets the first answer",
        again.finished.ending == first.finished.ending && again.exited(3),
    )?;
    stage.destroy(id).await
}

pub(super) async fn output_and_errors_stay_apart(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let said = stage.must(id, "echo out; echo error >&2; exit 1").await?;
    keep("what it says and what it complains about arrive apart", {
        said.out == b"out\n" && said.error == b"error\n"
    })?;
    // Every byte, and more of them than fit into any pipe.
    let script = "i=0; while test $i -lt 20000; do echo 0123456789; i=$((i+1)); done";
    let said = stage.must(id, script).await?;
    keep("long output arrives whole", said.out == b"0123456789\n".repeat(20_000))?;
    stage.destroy(id).await
}

pub(super) async fn input_arrives_and_ends(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let input: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let said = stage.exec(id, &stage.new_name(), &shell("cat"), &input).await;
    let said = succeed("a command reads its input", said)?;
    keep("it gets every byte, and then the end", said.out == input && said.exited(0))?;
    stage.destroy(id).await
}

pub(super) async fn the_environment_is_the_images_and_what_was_given(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let environment = BTreeMap::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("SAID".to_owned(), "two words and a $HOME".to_owned()),
    ]);
    let command = Exec { argv: vec!["env".to_owned()], environment, ..shell("") };
    let said = stage.exec(id, &stage.new_name(), &command, &[]).await;
    let said = succeed("a program is found by the given PATH", said)?;
    let text = said.text();
    let has = |line: &str| text.lines().any(|told| told == line);
    let given = has(&format!("PATH={PATH}")) && has("SAID=two words and a $HOME");
    keep("the environment has what was given, word for word", given)?;
    let known = ["PATH", "SAID", "HOME", "USER", "LANG", "GIT_OPTIONAL_LOCKS"];
    let name = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    let strangers = text.lines().filter(|line| !known.contains(&name(line).as_str())).count();
    keep("and of the host's own nothing", strangers == 0)?;
    let path = vec![format!("{HOME}/tools")];
    let command = Exec { path, ..command };
    let said = stage.exec(id, &stage.new_name(), &command, &[]).await;
    let said = succeed("a program is found behind the directories that come first", said)?;
    let first = format!("PATH={HOME}/tools:{PATH}");
    keep("and they come first", said.text().lines().any(|told| told == first))?;
    stage.destroy(id).await
}

pub(super) async fn it_runs_where_it_was_told_to(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let command = Exec { directory: "/tmp".to_owned(), ..shell("pwd") };
    let said = succeed("a command runs", stage.exec(id, &stage.new_name(), &command, &[]).await)?;
    keep("it runs in its directory", said.out == b"/tmp\n")?;
    stage.destroy(id).await
}

pub(super) async fn a_terminal_is_one(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let terminal = Some(TerminalSize { columns: 91, rows: 17 });
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size";
    let command = Exec { terminal, ..shell(script) };
    let said = succeed("a command runs", stage.exec(id, &stage.new_name(), &command, &[]).await)?;
    keep("a terminal has its size", said.text().trim() == "17 91" && said.exited(0))?;
    let said = stage.must(id, "test -t 0 || test -t 1 || test -t 2").await?;
    keep("without one, there are pipes", said.exited(1))?;
    stage.destroy(id).await
}

pub(super) async fn a_missing_program_is_named(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    for missing in ["no-such-program", "/no/such/program"] {
        let command = Exec { argv: vec![missing.to_owned()], ..shell("") };
        let answer = stage.exec(id, &stage.new_name(), &command, &[]).await;
        keep(
            "a program that is not there is named",
            matches!(answer, Err(SandboxError::ProgramMissing { program }) if program == missing),
        )?;
    }
    let said = stage.must(id, "echo still here").await?;
    keep("and the sandbox goes on", said.out == b"still here\n")?;
    stage.destroy(id).await
}

pub(super) async fn a_file_made_by_one_command_is_there_for_the_next(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let disk = stage.disk(id).await?;
    let said = stage.must(id, &format!("echo kept > {disk}/note && cat {disk}/note")).await?;
    keep("the disk can be written", said.out == b"kept\n")?;
    let said = stage.must(id, &format!("cat {disk}/note")).await?;
    keep("and the next command reads it", said.out == b"kept\n")?;
    let other = stage.open().await?;
    let said = stage.must(other, &format!("cat {disk}/note")).await?;
    keep("and another sandbox does not", !said.exited(0) && said.out.is_empty())?;
    stage.destroy(other).await?;
    stage.destroy(id).await
}
