//! Whether to use colour. Every message is understandable without it.

use std::fmt::Display;

use console::{Style, StyledObject};

use crate::environment::Environment;

/// When to use colour, as a person asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    Always,
    Never,
}

/// What a stream is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Terminal,
    Elsewhere,
}

impl Stream {
    pub fn of(stream: &impl std::io::IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Elsewhere }
    }
}

/// The colours of one stream: all of them, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colors {
    enabled: bool,
}

impl Colors {
    /// For what is read by a program, or by a test.
    pub const OFF: Self = Self { enabled: false };

    pub fn decide(choice: ColorChoice, environment: &Environment, stream: Stream) -> Self {
        let enabled = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stream == Stream::Terminal && environment.welcomes_color(),
        };
        Self { enabled }
    }

    pub fn enabled(self) -> bool {
        self.enabled
    }

    pub fn good<T: Display>(self, text: T) -> StyledObject<T> {
        self.style(Style::new().green(), text)
    }

    pub fn warning<T: Display>(self, text: T) -> StyledObject<T> {
        self.style(Style::new().yellow(), text)
    }

    pub fn bad<T: Display>(self, text: T) -> StyledObject<T> {
        self.style(Style::new().red().bold(), text)
    }

    pub fn strong<T: Display>(self, text: T) -> StyledObject<T> {
        self.style(Style::new().bold(), text)
    }

    pub fn weak<T: Display>(self, text: T) -> StyledObject<T> {
        self.style(Style::new().dim(), text)
    }

    fn style<T: Display>(self, style: Style, text: T) -> StyledObject<T> {
        style.force_styling(self.enabled).apply_to(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_that_did_not_say_no() {
        let plain = Environment::default();
        let no_color = Environment { no_color: Some("1".into()), ..Environment::default() };
        let empty = Environment { no_color: Some("".into()), ..Environment::default() };
        let dumb = Environment { term: Some("dumb".into()), ..Environment::default() };
        let table = [
            (ColorChoice::Auto, &plain, Stream::Terminal, true),
            (ColorChoice::Auto, &plain, Stream::Elsewhere, false),
            (ColorChoice::Auto, &no_color, Stream::Terminal, false),
            (ColorChoice::Auto, &empty, Stream::Terminal, true),
            (ColorChoice::Auto, &dumb, Stream::Terminal, false),
            (ColorChoice::Always, &no_color, Stream::Elsewhere, true),
            (ColorChoice::Never, &plain, Stream::Terminal, false),
        ];
        for (choice, environment, stream, expected) in table {
            let colors = Colors::decide(choice, environment, stream);
            assert_eq!(colors.enabled(), expected, "{choice:?} {environment:?} {stream:?}");
        }
    }
}
