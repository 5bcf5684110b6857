//! What an image says about how it wants to be run.

use super::document::Settings;

/// The settings of an image, without those that could not be passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageConfig {
    /// Names and values, in the image's order.
    pub environment: Vec<(String, String)>,
    pub working_directory: Option<String>,
    /// As the image says it: a name or an id, with a group behind a colon. Agents are who they are all the same.
    pub user: Option<String>,
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
}

const MOST: usize = 1_000;
const LONGEST: usize = 64 << 10;

impl ImageConfig {
    pub(super) fn of(settings: Settings) -> Self {
        let usable = |text: &String| !text.contains('\0') && text.len() <= LONGEST;
        let some = |text: Option<String>| text.filter(|text| !text.is_empty() && usable(text));
        let list = |list: Option<Vec<String>>| -> Vec<String> {
            list.unwrap_or_default().into_iter().filter(usable).take(MOST).collect()
        };
        let pair = |text: String| {
            let (name, value) = text.split_once('=')?;
            (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        };
        Self {
            environment: list(settings.env).into_iter().filter_map(pair).collect(),
            working_directory: some(settings.working_dir).filter(|path| path.starts_with('/')),
            user: some(settings.user),
            entrypoint: list(settings.entrypoint),
            command: list(settings.cmd),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_passed_on_is_dropped() {
        let config = ImageConfig::of(Settings {
            env: Some(["A=1", "B=2=3", "=x", "C", "D=\0"].map(str::to_owned).to_vec()),
            working_dir: Some("relative".to_owned()),
            user: Some(String::new()),
            entrypoint: None,
            cmd: Some(vec!["sh".to_owned()]),
        });
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(config.environment, [pair("A", "1"), pair("B", "2=3")]);
        assert_eq!((config.working_directory, config.user), (None, None));
        assert_eq!((config.entrypoint, config.command), (vec![], vec!["sh".to_owned()]));
    }
}
