//! From steps to directives: what is printed is read back as the same.

use std::fmt::{self, Display, Formatter};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Act, Fault, Mischief, Script, Step, Toolless, parse::MARK};

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.toolless {
            Toolless::Housekeeping => {}
            Toolless::Plays => write!(f, "{MARK} toolless ;; ")?,
        }
        for (at, step) in self.steps.iter().enumerate() {
            let between = if at == 0 { "" } else { " " };
            write!(f, "{between}{step}")?;
        }
        Ok(())
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = |f: &mut Formatter<'_>, text: &str| write!(f, "{MARK} {text} ;; ");
        if let Some(think) = &self.think {
            write!(f, "{MARK} {} ;; ", directive("think", think))?;
        }
        if let Some(say) = &self.say {
            write!(f, "{MARK} {} ;; ", directive("say", say))?;
        }
        if let Some(usage) = self.usage {
            plain(f, &format!("usage {} {} {}", usage.input, usage.output, usage.cached))?;
        }
        for fault in &self.faults {
            plain(f, &fault.to_string())?;
        }
        write!(f, "{MARK} {} ;;", self.act)
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let times = self.times.map_or_else(String::new, |times| format!(" {times}"));
        match &self.kind {
            Mischief::Error { status, after } => {
                write!(f, "error {status}{times}")?;
                after.map_or(Ok(()), |after| write!(f, " after {after}"))
            }
            Mischief::Wait(time) => write!(f, "wait {}", time.as_secs_f64()),
            Mischief::Slow(time) => write!(f, "slow {}", time.as_secs_f64()),
            Mischief::Hang => write!(f, "hang{times}"),
            Mischief::Stall => write!(f, "stall{times}"),
            Mischief::Cut => write!(f, "cut{times}"),
            Mischief::Garble => write!(f, "garble{times}"),
            Mischief::BadArguments => write!(f, "badargs{times}"),
            Mischief::Giant { mib } => write!(f, "giant {mib}"),
            Mischief::Endless => write!(f, "endless{times}"),
            Mischief::Length => write!(f, "length{times}"),
        }
    }
}

impl Display for Act {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let said = match self {
            Self::Write { path, text } => directive("write", &format!("{path} {text}")),
            Self::Edit { path, old, new } => directive("edit", &format!("{path} {old} => {new}")),
            Self::Read { path } => directive("read", path),
            Self::Shell { command } => directive("shell", command),
            Self::Plan { items } => directive("plan", &items.join(" | ")),
            Self::ExitPlan { plan } => directive("exitplan", plan),
            Self::Ask { question, choices } => {
                let all: Vec<&str> =
                    std::iter::once(question).chain(choices).map(String::as_str).collect();
                directive("ask", &all.join(" | "))
            }
            Self::Tool { name, arguments } => directive("tool", &format!("{name} {arguments}")),
            Self::Forever(act) => directive("forever", &act.to_string()),
            Self::Text(text) => directive("text", text),
            Self::Refuse(text) => directive("refuse", text),
            Self::Script(name) => directive("script", name),
        };
        f.write_str(&said)
    }
}

/// A verb and its argument, in base64 where typing it would change it.
fn directive(verb: &str, argument: &str) -> String {
    let changes = argument.contains(['\n', '\r', '\\'])
        || argument.contains(";;")
        || argument.contains(MARK)
        || argument.ends_with(';')
        || argument.trim() != argument;
    if changes {
        format!("{verb}64 {}", STANDARD.encode(argument))
    } else {
        format!("{verb} {argument}")
    }
}
