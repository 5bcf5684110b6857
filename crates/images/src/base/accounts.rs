//! Who exists inside: `/etc/passwd` and `/etc/group`.
//!
//! An image's own users stay. If none of them is the agent's id, ours is added. The files come from a stranger's image;
//! only lines that read as they should are kept, and the agent's home is one that we can make.

use std::{io::Read, path::Path};

use super::{
    Owner,
    ground::{Ground, Inside, Standing},
};

/// The user that agents are inside.
pub(crate) const AGENT: u32 = 1_000;

/// The accounts of an image, with the agent among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounts {
    /// The content of `/etc/passwd`.
    pub passwd: String,
    /// The content of `/etc/group`.
    pub group: String,
    /// The agent's home.
    pub home: String,
    /// The agent's name.
    pub name: String,
}

const HOME: &str = "/home/lamp";
const LONGEST: u64 = 1 << 20;

impl Accounts {
    /// For a base without accounts of its own.
    pub fn ours() -> Self {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
        let group = "root:x:0:\nnogroup:x:65534:\n";
        Self::of(passwd, group)
    }

    /// With the agent added to an image's files.
    pub fn of(passwd: &str, group: &str) -> Self {
        let mut users = lines(passwd, 7);
        let mut groups = lines(group, 4);
        let agent = users.iter().position(|user| id(user) == Some(AGENT));
        let (home, name) = if let Some(agent) = agent.and_then(|agent| users.get_mut(agent)) {
            let told = agent.get(5).map(String::as_str).unwrap_or_default();
            let home = if is_usable(told) { told } else { HOME }.to_owned();
            if let Some(field) = agent.get_mut(5) {
                field.clone_from(&home);
            }
            (home, agent.first().cloned().unwrap_or_default())
        } else {
            let name = free_name(&users);
            let fields = [&name, "x", "1000", "1000", "Lamplighter", HOME, "/bin/sh"];
            // Before `nobody` and after `root`, as people are used to.
            users.insert(users.len().min(1), fields.map(str::to_owned).to_vec());
            (HOME.to_owned(), name)
        };
        if !groups.iter().any(|group| id(group) == Some(AGENT)) {
            let name = free_name(&groups);
            groups
                .insert(groups.len().min(1), [&name, "x", "1000", ""].map(str::to_owned).to_vec());
        }
        Self { passwd: written(&users), group: written(&groups), home, name }
    }

    /// Of the layers of an image, the uppermost first. A layer that cannot be read counts as one without accounts.
    pub fn of_layers(layers: &[impl AsRef<Path>], owner: Owner) -> Self {
        let find = |name: &str| find(layers, owner, name);
        match find("passwd") {
            Some(passwd) => Self::of(&passwd, &find("group").unwrap_or_default()),
            None => Self::ours(),
        }
    }
}

/// A file in `/etc`, as an overlay of these layers would show it.
fn find(layers: &[impl AsRef<Path>], owner: Owner, name: &str) -> Option<String> {
    let etc = Inside::parse(b"etc").ok()?;
    let path = etc.join(name.as_bytes()).ok()?;
    for layer in layers {
        let ground = Ground::open(layer.as_ref()).ok()?;
        match ground.standing(&etc).ok()? {
            Standing::Directory => {}
            Standing::Nothing => continue,
            Standing::Whiteout | Standing::File | Standing::Symlink | Standing::Other => {
                return None;
            }
        }
        match ground.standing(&path).ok()? {
            Standing::File => {
                let mut text = Vec::new();
                ground.read(&path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
            Standing::Nothing if ground.is_opaque(&etc, owner).ok()? => return None,
            Standing::Nothing => {}
            Standing::Whiteout | Standing::Directory | Standing::Symlink | Standing::Other => {
                return None;
            }
        }
    }
    None
}

/// The well-formed lines, split.
fn lines(text: &str, fields: usize) -> Vec<Vec<String>> {
    text.lines()
        .map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.len() == fields && id(line).is_some())
        .filter(|line| line.iter().all(|field| !field.chars().any(char::is_control)))
        .collect()
}

fn id(line: &[String]) -> Option<u32> {
    line.get(2)?.parse().ok()
}

fn free_name(lines: &[Vec<String>]) -> String {
    let is_taken =
        |name: &str| lines.iter().any(|line| line.first().is_some_and(|taken| taken == name));
    let mut name = "lamp".to_owned();
    while is_taken(&name) {
        name.push('_');
    }
    name
}

fn written(lines: &[Vec<String>]) -> String {
    lines.iter().map(|line| line.join(":") + "\n").collect()
}

/// Whether a home can be made there without covering something that is needed.
fn is_usable(home: &str) -> bool {
    const TAKEN: [&str; 15] = [
        "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin",
        "sys", "tmp", "usr", ".lamp",
    ];
    let Some(path) = home.strip_prefix('/') else { return false };
    let Ok(path) = Inside::parse(path.as_bytes()) else { return false };
    let mut names = path.as_bytes().split(|byte| *byte == b'/');
    let first = names.next().unwrap_or_default();
    let is_deep = names.next().is_some();
    is_deep && !TAKEN.iter().any(|taken| taken.as_bytes() == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::owner;

    #[test]
    fn an_images_own_user_is_the_agent() {
        let accounts = Accounts::of(
            "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\n",
            "root:x:0:\nnode:x:1000:\n",
        );
        assert_eq!((accounts.name.as_str(), accounts.home.as_str()), ("node", "/home/node"));
        assert!(!accounts.passwd.contains("lamp") && !accounts.group.contains("lamp"));
    }

    #[test]
    fn the_agent_is_added_where_nobody_has_its_id() {
        let accounts = Accounts::of(
            "root:x:0:0:root:/root:/bin/bash\nlamp:x:7:7::/x:/bin/sh\n",
            "lamp:x:7:\n",
        );
        assert_eq!((accounts.name.as_str(), accounts.home.as_str()), ("lamp_", "/home/lamp"));
        insta::assert_snapshot!(accounts.passwd + "--\n" + &accounts.group, @r"
        root:x:0:0:root:/root:/bin/bash
        lamp_:x:1000:1000:Lamplighter:/home/lamp:/bin/sh
        lamp:x:7:7::/x:/bin/sh
        --
        lamp:x:7:
        lamp_:x:1000:
        ");
    }

    #[test]
    fn a_home_that_would_cover_the_system_is_moved() {
        for home in ["/", "/etc", "/usr/x", "relative", "/home/../etc", "", "/proc/1", "/srv"] {
            let accounts = Accounts::of(&format!("x:x:1000:1000::{home}:/bin/sh\n"), "");
            assert_eq!(accounts.home, "/home/lamp", "{home}");
            assert!(accounts.passwd.contains(":/home/lamp:"));
        }
        assert_eq!(Accounts::of("x:x:1000:1000::/var/lib/x:/bin/sh\n", "").home, "/var/lib/x");
    }

    #[test]
    fn lines_that_do_not_read_are_dropped() {
        let accounts = Accounts::of(
            "root:x:0:0:root:/root:/bin/sh\ngarbage\na:b:c\nx:x:zero:0:::\n",
            "g:x:1000\n",
        );
        assert_eq!(accounts.passwd.lines().count(), 2);
        assert_eq!(accounts.group, "lamp:x:1000:\n");
    }

    #[test]
    fn the_uppermost_layer_that_tells_is_believed() {
        let (upper, lower) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let layers = [upper.path(), lower.path()];
        assert_eq!(Accounts::of_layers(&layers, owner()), Accounts::ours());
        std::fs::create_dir(lower.path().join("etc")).unwrap();
        std::fs::write(lower.path().join("etc/passwd"), "low:x:1000:1000::/home/low:/bin/sh\n")
            .unwrap();
        assert_eq!(Accounts::of_layers(&layers, owner()).name, "low");
        std::fs::create_dir(upper.path().join("etc")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", upper.path().join("etc/passwd")).unwrap();
        assert_eq!(Accounts::of_layers(&layers, owner()).name, "lamp");
    }
}
