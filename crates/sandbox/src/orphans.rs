//! Finds a guest by the socket that it listens on: the one trace of a body that a crashed server left without a record,
//! on a host without control groups.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// Kills every process that has the socket bound at `path` open.
pub(crate) fn kill_listeners(path: &Path) {
    let Ok(sockets) = fs::read_to_string("/proc/net/unix") else { return };
    let Some(inode) = inode(&sockets, path) else { return };
    let wanted = format!("socket:[{inode}]");
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        // Those of other users cannot be looked at, and are none of ours.
        let Ok(open) = fs::read_dir(process.path().join("fd")) else { continue };
        let has_it = open
            .flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target.as_os_str() == &*wanted));
        if has_it && pid != rustix::process::getpid() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// `ffff8881: 00000002 00000000 00010000 0001 01 12345 /path`
fn inode<'a>(sockets: &'a str, path: &Path) -> Option<&'a str> {
    sockets.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(6);
        let inode = words.next()?;
        (words.next().map(Path::new) == Some(path)).then_some(inode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_path() {
        let sockets = "Num RefCount Protocol Flags Type St Inode Path\n\
                       0: 00000002 00000000 00010000 0001 01 17 /run/a.sock\n\
                       0: 00000002 00000000 00010000 0001 01 18\n\
                       0: 00000002 00000000 00010000 0001 01 19 /run/b.sock\n";
        assert_eq!(inode(sockets, Path::new("/run/b.sock")), Some("19"));
        assert_eq!(inode(sockets, Path::new("/run/c.sock")), None);
    }
}
