//! Telling what changes in a directory, or to a file.

use std::{mem::MaybeUninit, path::Path};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use super::{Doing, Failure, emit, output};

pub(super) fn watch(path: &str) -> Result<(), Failure> {
    let mut output = output()?;
    let changes = inotify::init(CreateFlags::CLOEXEC).doing(|| "inotify".to_owned())?;
    let interest = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF;
    inotify::add_watch(&changes, path, interest).doing(|| path.to_owned())?;
    emit(&mut output, &"")?;
    let itself = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let itself = itself.unwrap_or_default();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(&changes, &mut buffer);
    loop {
        let change = reader.next().doing(|| path.to_owned())?;
        if change.events().contains(ReadFlags::IGNORED) {
            return Ok(());
        }
        let name = match change.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None if change.events().contains(ReadFlags::QUEUE_OVERFLOW) => String::new(),
            None => itself.clone(),
        };
        emit(&mut output, &name)?;
    }
}
