//! What was measured, a line per figure, as it comes.

use std::{
    fmt,
    io::{self, Write as _},
};

/// One measured number.
#[derive(Debug, Clone)]
pub struct Figure {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    /// The spread, a ratio, or what else helps to read the number.
    pub note: String,
    pub goal: Goal,
}

/// The number that we promise, if we promise one.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    None,
    AtLeast(f64),
    AtMost(f64),
}

#[derive(Debug, Default)]
pub struct Report {
    promised: usize,
    missed: Vec<String>,
}

impl Figure {
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, note: String::new(), goal: Goal::None }
    }

    #[must_use]
    pub fn note(mut self, note: impl fmt::Display) -> Self {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(&note.to_string());
        self
    }

    #[must_use]
    pub const fn goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }
}

impl Goal {
    /// Whether `value` keeps it; nothing where nothing is promised.
    fn kept(self, value: f64) -> Option<bool> {
        match self {
            Self::None => None,
            Self::AtLeast(least) => Some(value >= least),
            Self::AtMost(most) => Some(value <= most),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::AtLeast(least) => write!(f, "at least {}", Number(*least)),
            Self::AtMost(most) => write!(f, "at most {}", Number(*most)),
        }
    }
}

impl Report {
    pub fn say(&mut self, line: impl fmt::Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{line}")
    }

    pub fn section(&mut self, title: &str) -> io::Result<()> {
        self.say(format_args!("\n{title}"))
    }

    pub fn add(&mut self, figure: Figure) -> io::Result<()> {
        let verdict = match figure.goal.kept(figure.value) {
            None => String::new(),
            Some(true) => format!("PASS ({})", figure.goal),
            Some(false) => format!("MISS ({})", figure.goal),
        };
        let tail = [verdict, figure.note.clone()];
        let tail: Vec<String> = tail.into_iter().filter(|part| !part.is_empty()).collect();
        let Figure { what, value, unit, .. } = &figure;
        let value = Number(*value).to_string();
        let line = format!("  {what:<58} {value:>9} {unit:<9} {}", tail.join("  "));
        self.say(line.trim_end())?;
        match figure.goal.kept(figure.value) {
            None => {}
            Some(true) => self.promised += 1,
            Some(false) => {
                self.promised += 1;
                self.missed.push(figure.what);
            }
        }
        Ok(())
    }

    pub const fn promised(&self) -> usize {
        self.promised
    }

    pub fn missed(&self) -> &[String] {
        &self.missed
    }
}

/// `12,345`, `123`, `12.3` or `1.23`: three digits are enough to compare.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value.fract() == 0.0 && value < 1_000.0 {
            return write!(f, "{value:.0}");
        }
        match value {
            small if small < 10.0 => write!(f, "{small:.2}"),
            medium if medium < 100.0 => write!(f, "{medium:.1}"),
            large => f.write_str(&grouped(&format!("{large:.0}"))),
        }
    }
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_easily() {
        let shown =
            [0.123, 3.0, 12.34, 123.4, 1_234.5, 1_234_567.0].map(|it| Number(it).to_string());
        assert_eq!(shown, ["0.12", "3", "12.3", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn a_miss_is_remembered_by_name() {
        let mut report = Report::default();
        report.add(Figure::new("slow", 1.0, "/s").goal(Goal::AtLeast(2.0))).unwrap();
        report.add(Figure::new("quick", 1.0, "ms").goal(Goal::AtMost(2.0))).unwrap();
        assert_eq!((report.promised(), report.missed()), (2, &["slow".to_owned()][..]));
    }
}
