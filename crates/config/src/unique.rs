//! Names that may be used once.

use std::collections::BTreeMap;

use crate::{
    problem::{Problems, quoted},
    yaml::Node,
};

/// Reports every item of `list` whose `key` an earlier item has too.
pub(crate) fn report_repeated(list: Option<&Node>, key: &str, problems: &mut Problems) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let named = list.into_iter().flat_map(Node::items).filter_map(|item| item.get(key));
    for node in named {
        let Some(name) = node.text() else { continue };
        if let Some(line) = seen.get(name) {
            let what = format!("the {key} {} is taken", quoted(name));
            problems.report(
                node.place,
                what,
                format!("it is already on line {line}; choose another"),
            );
            continue;
        }
        seen.insert(name, node.place.line);
    }
}
