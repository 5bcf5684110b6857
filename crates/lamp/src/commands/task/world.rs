//! What a command about tasks is given: the environment, and for whom it prints.

use std::io;

use terminal::{
    colors::{Colors, Stream},
    environment::Environment,
    format::Format,
};

use crate::timeline::{Audience, Company, Keyboard};

/// Columns of a terminal that does not say.
const COLUMNS: usize = 100;

#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'e> {
    pub(crate) environment: &'e Environment,
    pub(crate) colors: Colors,
}

impl<'e> World<'e> {
    pub(crate) const fn new(environment: &'e Environment, colors: Colors) -> Self {
        Self { environment, colors }
    }

    /// For whom the story of a task is told.
    pub(crate) fn audience(self, format: Format) -> Audience {
        let is_dumb = self.environment.term.as_ref().is_none_or(|term| term == "dumb");
        match (format, Stream::of(&io::stdout())) {
            (Format::Json, _) => Audience::Json,
            (Format::People, Stream::Terminal) if !is_dumb => {
                Audience::Terminal { columns: columns() }
            }
            (Format::People, Stream::Terminal | Stream::Elsewhere) => Audience::Lines,
        }
    }

    /// Whether somebody sits at a terminal, sees what is printed, and can type.
    pub(crate) fn has_person(format: Format) -> bool {
        let is_terminal = |stream| stream == Stream::Terminal;
        format == Format::People
            && is_terminal(Stream::of(&io::stdin()))
            && is_terminal(Stream::of(&io::stdout()))
    }

    pub(crate) fn company(format: Format) -> anyhow::Result<Company> {
        if Self::has_person(format) {
            return Ok(Company::Person(Keyboard::open()?));
        }
        Ok(Company::Nobody)
    }
}

/// Of the terminal that we print to, or of a page where there is none.
pub(crate) fn columns() -> usize {
    match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        Ok(_) | Err(_) => COLUMNS,
    }
}
