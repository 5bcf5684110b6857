//! What was not as in its commit when a repository was handed over, as it is written: of images, and of sandboxes.

use contracts::sandbox::{Content, HandedOver, Leftover};
use serde::{Deserialize, Serialize};

/// Of one repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handed {
    touched: Vec<Line>,
    restored: Vec<String>,
    left_off: u64,
}

/// A path, what it is in the commit, and what it was. There are many: names would cost more than what they name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line(String, Option<(String, String)>, Option<(String, String)>);

impl From<&HandedOver> for Handed {
    fn from(handed: &HandedOver) -> Self {
        let content = |it: &Content| (it.mode.clone(), it.object.clone());
        let line = |it: &Leftover| {
            Line(it.path.clone(), it.before.as_ref().map(content), it.after.as_ref().map(content))
        };
        Self {
            touched: handed.touched.iter().map(line).collect(),
            restored: handed.restored.clone(),
            left_off: handed.left_off,
        }
    }
}

impl From<&Handed> for HandedOver {
    fn from(handed: &Handed) -> Self {
        let content = |(mode, object): &(String, String)| Content {
            mode: mode.clone(),
            object: object.clone(),
        };
        let leftover = |Line(path, before, after): &Line| Leftover {
            path: path.clone(),
            before: before.as_ref().map(content),
            after: after.as_ref().map(content),
        };
        Self {
            touched: handed.touched.iter().map(leftover).collect(),
            restored: handed.restored.clone(),
            left_off: handed.left_off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let content = |mode: &str| Content { mode: mode.to_owned(), object: "a".repeat(40) };
        let handed = HandedOver {
            touched: vec![
                Leftover {
                    path: "package-lock.json".to_owned(),
                    before: None,
                    after: Some(content("100644")),
                },
                Leftover { path: "x".to_owned(), before: Some(content("100755")), after: None },
            ],
            restored: vec!["README.rst".to_owned()],
            left_off: 3,
        };
        let text = serde_json::to_string(&Handed::from(&handed)).unwrap();
        let read: Handed = serde_json::from_str(&text).unwrap();
        assert_eq!(HandedOver::from(&read), handed);
    }
}
