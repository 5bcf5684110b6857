//! As much of TOML and of INI as manifests need: which sections there are, and which keys they have. No value is believed.

/// The lines of a section, without comments.
pub(super) fn section<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let head = format!("[{name}]");
    let mut inside = false;
    text.lines().filter(move |line| {
        let line = line.trim();
        // A line of an array may begin with a bracket too, but holds more than a name then.
        if line.starts_with('[') && line.ends_with(']') && !line.contains(['"', '\'', ',', '=']) {
            inside = line == head;
            return false;
        }
        inside && !line.starts_with('#')
    })
}

/// Whether there is a section of this name, or one below it.
pub(super) fn has(text: &str, name: &str) -> bool {
    let (whole, part) = (format!("[{name}]"), format!("[{name}."));
    text.lines().map(str::trim).any(|line| line.starts_with(&whole) || line.starts_with(&part))
}

/// The keys of a section, as far as they are plain names.
pub(super) fn keys<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let key = |line: &'t str| {
        let key = line.split_once('=')?.0.trim().trim_matches('"');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (!key.is_empty() && key.chars().all(is_plain)).then_some(key)
    };
    section(text, name).filter_map(key).collect()
}
