//! Files, from outside, with the rights of a user inside.

use super::{
    super::{Kept, keep, succeed},
    stage::Stage,
};
use crate::sandbox::{EntryKind, FileAsk, Sandboxes, Transfer, User};

pub(super) async fn what_is_written_is_read(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let path = format!("{}/some file", stage.disk(id).await?);
    let content: Vec<u8> = (0..=255).cycle().take(500_000).collect();
    let write = FileAsk::Write { path: path.clone(), user: User::Agent, mode: 0o640 };
    let (done, _) = succeed("a file is written", stage.file(id, &write, &content).await)?;
    keep("and it is done", done == Transfer::Done)?;
    let read = FileAsk::Read { path: path.clone(), user: User::Agent };
    let (done, bytes) = succeed("a file is read", stage.file(id, &read, &[]).await)?;
    keep("its content is what was written", done == Transfer::Done && bytes == content)?;
    let (done, _) = succeed("a file is replaced", stage.file(id, &write, b"short").await)?;
    keep("at once and whole", done == Transfer::Done)?;
    let said = stage.must(id, &format!("cat '{path}'")).await?;
    keep("commands see the same file", said.out == b"short")?;
    stage.destroy(id).await
}

pub(super) async fn entries_are_told(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let directory = format!("{}/entries", stage.disk(id).await?);
    let script = format!(
        "mkdir {directory} && cd {directory} && mkdir sub && printf 12345 > five && chmod 604 five \
         && ln -s /nowhere link"
    );
    keep("files are made", stage.must(id, &script).await?.exited(0))?;
    let ask = FileAsk::Stat { path: format!("{directory}/five"), user: User::Agent };
    let (told, _) = succeed("a file is looked at", stage.file(id, &ask, &[]).await)?;
    let Transfer::Entries(entries) = told else {
        return keep("looking at a file gives an entry", false);
    };
    let right = entries.first().is_some_and(|entry| {
        entry.kind == EntryKind::File && entry.size == 5 && entry.mode & 0o777 == 0o604
    });
    keep("kind, size and mode are told", right && entries.len() == 1)?;
    let ask = FileAsk::List { path: directory, user: User::Agent };
    let (told, _) = succeed("a directory is listed", stage.file(id, &ask, &[]).await)?;
    let Transfer::Entries(entries) = told else {
        return keep("listing a directory gives entries", false);
    };
    let mut named: Vec<_> = entries.iter().map(|it| (it.name.as_str(), it.kind)).collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    let expected =
        [("five", EntryKind::File), ("link", EntryKind::Symlink), ("sub", EntryKind::Directory)];
    keep("a directory's entries are told by name", named == expected)?;
    stage.destroy(id).await
}

pub(super) async fn an_archive_comes_out_and_goes_in(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let disk = stage.disk(id).await?;
    let script = format!(
        "mkdir -p {disk}/from/sub {disk}/to && echo deep > {disk}/from/sub/file && \
         chmod 750 {disk}/from/sub/file && ln -s sub/file {disk}/from/link"
    );
    keep("files are made", stage.must(id, &script).await?.exited(0))?;
    let ask = FileAsk::TarOut { path: format!("{disk}/from"), user: User::Agent };
    let (done, archive) = succeed("a directory is packed", stage.file(id, &ask, &[]).await)?;
    keep("and it is done", done == Transfer::Done && !archive.is_empty())?;
    let ask = FileAsk::TarIn { path: format!("{disk}/to"), user: User::Agent };
    let (done, _) = succeed("an archive is unpacked", stage.file(id, &ask, &archive).await)?;
    keep("and it is done", done == Transfer::Done)?;
    let script = format!("cd {disk}/to && cat sub/file link && test -x sub/file && test -L link");
    let said = stage.must(id, &script).await?;
    keep("the copy is as the original was", said.exited(0) && said.out == b"deep\ndeep\n")?;
    let script = format!("echo closed > {disk}/from/sub/closed && chmod 0 {disk}/from/sub/closed");
    keep("one of them is closed", stage.must(id, &script).await?.exited(0))?;
    let ask = FileAsk::TarOut { path: format!("{disk}/from"), user: User::Agent };
    let (told, archive) = succeed("a closed file is an answer", stage.file(id, &ask, &[]).await)?;
    let named = matches!(&told, Transfer::Failed { reason, .. } if reason.contains("sub/closed"));
    keep("which names it, and is not half an archive", named && archive.is_empty())?;
    stage.destroy(id).await
}

pub(super) async fn a_failing_path_is_told(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let path = || "/no/such/place".to_owned();
    let user = User::Agent;
    let asks = [
        FileAsk::Stat { path: path(), user },
        FileAsk::List { path: path(), user },
        FileAsk::Read { path: path(), user },
        FileAsk::Write { path: path(), user, mode: 0o644 },
        FileAsk::TarOut { path: path(), user },
        FileAsk::TarIn { path: path(), user },
    ];
    for ask in asks {
        let (told, _) = succeed("a failing path is an answer", stage.file(id, &ask, b"").await)?;
        keep("and it says so", matches!(told, Transfer::Failed { .. }))?;
    }
    let ask = FileAsk::Write { path: "/usr/bin/mine".to_owned(), user, mode: 0o755 };
    let (told, _) = succeed("an unwritable path is an answer", stage.file(id, &ask, b"x").await)?;
    keep("the agent cannot change the system's files", matches!(told, Transfer::Failed { .. }))?;
    stage.destroy(id).await
}
