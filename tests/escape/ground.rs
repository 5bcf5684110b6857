//! Where the way out is tried: the real server in a toy internet, and sandboxes of it with the probe inside.
//!
//! An attempt is looked at from three sides: what the program inside is told, what arrives outside, and what is written down.
//! A denial counts only where its control arrives, sent in the same way to where it may go, or from the house, where nothing refuses it.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use tests::internet::{Arrival, House, Internet, Record, breathe};

use crate::{
    fixture::{PROBE, program},
    table::{Holds, Tally},
};

/// The doors of a sandbox.
pub(crate) const PROXY: &str = "127.0.0.1:3128";
pub(crate) const SOCKS: &str = "127.0.0.1:1080";
pub(crate) const RESOLVER: &str = "127.0.0.1:53";

/// What the tables need of the world, and a server in it.
pub(crate) fn on_the_internet(title: &str, play: impl FnOnce(&Internet)) {
    match Internet::build() {
        Ok(internet) => play(&internet),
        Err(why) => unsupported::whole(&format!("{title}: {why}")),
    }
}

/// One sandbox, and what was found there.
pub(crate) struct Ground<'a> {
    pub(crate) internet: &'a Internet,
    pub(crate) house: &'a House<'a>,
    sandbox: String,
    tally: Tally,
    /// What controls have shown already.
    controls: BTreeMap<Vec<String>, Result<(), String>>,
}

/// Something that must be denied.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    case: u16,
    name: String,
    user: &'static str,
    argv: Vec<String>,
    says: Vec<&'static str>,
    written: Written,
    may_arrive: fn(&Arrival) -> bool,
    control: Control,
}

/// What is written down of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Nothing,
    /// One refusal, with this code.
    Refusal(&'static str),
    /// One refusal, whatever its code.
    AnyRefusal,
    /// One, where somebody was there to refuse it.
    AtMostOne,
}

/// What shows that an attempt would have been seen.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    /// The same way to where it may go, from inside.
    Inside(Vec<String>),
    /// The same beside the server.
    House(Vec<String>),
}

impl Control {
    pub(crate) fn inside(argv: &[&str]) -> Self {
        Self::Inside(words(argv))
    }
}

/// An attempt of the probe, with the same probe in the house as its control.
pub(crate) fn probe(case: u16, line: &[&str]) -> Attempt {
    let name = line.join(" ");
    Attempt {
        case,
        name: name.chars().take(90).collect(),
        user: "agent",
        argv: probing(line),
        says: Vec::new(),
        written: Written::Nothing,
        may_arrive: |_| false,
        control: Control::House(words(line)),
    }
}

/// An attempt of any program, with a control inside.
pub(crate) fn attempt(case: u16, name: &str, argv: &[&str], control: &[&str]) -> Attempt {
    Attempt {
        case,
        name: name.to_owned(),
        user: "agent",
        argv: words(argv),
        says: Vec::new(),
        written: Written::Nothing,
        may_arrive: |_| false,
        control: Control::inside(control),
    }
}

impl Attempt {
    /// What the program is told: one of these.
    pub(crate) fn says(mut self, any: &[&'static str]) -> Self {
        self.says = any.to_vec();
        self
    }

    /// The gateway refuses it, and writes that down once, with this code.
    pub(crate) fn refused(mut self, code: &'static str) -> Self {
        self.written = Written::Refusal(code);
        self
    }

    /// The same, for one of several reasons.
    pub(crate) fn refused_any(mut self) -> Self {
        self.written = Written::AnyRefusal;
        self
    }

    /// The same, where there may be nobody who could refuse it.
    pub(crate) fn refused_at_most(mut self) -> Self {
        self.written = Written::AtMostOne;
        self
    }

    /// What may be seen outside although it is denied.
    pub(crate) fn though(mut self, may_arrive: fn(&Arrival) -> bool) -> Self {
        self.may_arrive = may_arrive;
        self
    }

    /// The same as root of the sandbox's own files.
    pub(crate) fn by_root(mut self) -> Self {
        self.user = "root";
        self.name.push_str(", as root");
        self
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub(crate) fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }
}

/// What was reported of other systems has no number in the list of abuse cases.
pub(crate) const REPORTED: u16 = 0;

fn numbered(case: u16) -> String {
    if case == REPORTED { "reported".to_owned() } else { case.to_string() }
}

/// Looking a name up that may be reached is no dial.
pub(crate) fn is_lookup(arrival: &Arrival) -> bool {
    match arrival {
        Arrival::Query { .. } => true,
        Arrival::Packet { protocol: 17, port, .. } => *port == Some(53),
        Arrival::Packet { .. }
        | Arrival::Hello { .. }
        | Arrival::Request(_)
        | Arrival::Bytes { .. } => false,
    }
}

pub(crate) fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|&word| word.to_owned()).collect()
}

pub(crate) fn texts(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}

/// Asks again and again, until there is an answer or it took too long.
pub(crate) fn until<T>(ask: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match ask() {
            None if Instant::now() < end => breathe(),
            answer => return answer,
        }
    }
}

/// The probe inside. A shell starts it, because gVisor's loader would refuse it.
pub(crate) fn probing(line: &[&str]) -> Vec<String> {
    words(&[&["sh", "-c", "exec \"$0\" \"$@\"", PROBE], line].concat())
}

/// curl, which tells the heads that it gets.
pub(crate) fn curl<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["curl", "-sS", "-i", "--max-time", "9"], rest].concat()
}

/// Bytes for a TLS connection to `host` through the proxy.
pub(crate) fn tls(host: &str, options: &str, bytes: &str) -> Vec<String> {
    let script = format!(
        "printf '%b' \"$0\" | timeout 9 openssl s_client -quiet -proxy {PROXY} -connect {host}:443 {options} 2>&1"
    );
    words(&["sh", "-c", &script, &in_octal(bytes)])
}

/// A shell's `printf` knows bytes by three digits of eight, after a zero.
fn in_octal(bytes: &str) -> String {
    let mut parts = bytes.split("\\x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        let byte = u8::from_str_radix(digits, 16).unwrap();
        let _ = write!(out, "\\0{byte:03o}{rest}");
    }
    out
}

impl<'a> Ground<'a> {
    /// A sandbox with the probe in it.
    pub(crate) fn new(
        internet: &'a Internet,
        house: &'a House<'a>,
        name: &str,
        with: &[&str],
    ) -> Self {
        house.sandbox(name, with);
        house.push(name, program(), PROBE);
        let said = house.run(name, &["chmod", "755", PROBE]);
        assert!(said.succeeded(), "{said}");
        Self {
            internet,
            house,
            sandbox: name.to_owned(),
            tally: Tally::default(),
            controls: BTreeMap::new(),
        }
    }

    pub(crate) fn sandbox(&self) -> &str {
        &self.sandbox
    }

    /// Makes an attempt that must be denied, and counts it.
    pub(crate) fn deny(&mut self, attempt: &Attempt) {
        let what = format!("{} {}: {}", numbered(attempt.case), self.sandbox, attempt.name);
        if let Err(why) = self.shown(&attempt.control) {
            match attempt.control {
                Control::House(_) => self.tally.unsupported(&what, &why),
                Control::Inside(_) => self.tally.failed(&what, &why),
            }
            return;
        }
        let marks = (self.internet.mark(), self.house.audit().len());
        let said = self.house.run_as(attempt.user, &self.sandbox, &texts(&attempt.argv));
        let mut wrong = Vec::new();
        let all = said.all();
        if !attempt.says.is_empty() && !attempt.says.iter().any(|word| all.contains(word)) {
            wrong.push(format!("the program was told something else than {:?}", attempt.says));
        }
        for arrival in self.internet.since(marks.0) {
            if !(attempt.may_arrive)(&arrival) {
                wrong.push(format!("ARRIVED: {arrival}"));
            }
        }
        let expected = match attempt.written {
            Written::Nothing | Written::AtMostOne => 0,
            Written::Refusal(_) | Written::AnyRefusal => 1,
        };
        let records = self.house.audited(marks.1, expected, Record::is_refusal);
        let refusals: Vec<_> = records.iter().filter(|record| record.is_refusal()).collect();
        let codes: Vec<&str> = refusals.iter().map(|record| record.code()).collect();
        let as_it_must = match attempt.written {
            Written::Nothing => codes.is_empty(),
            Written::Refusal(code) => codes == [code],
            Written::AnyRefusal => codes.len() == 1,
            Written::AtMostOne => codes.len() <= 1,
        };
        if !as_it_must {
            let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            wrong.push(format!("written down: {codes:?}, not {:?}: {told:?}", attempt.written));
        }
        let told: String = all.trim().chars().take(160).collect();
        if wrong.is_empty() {
            self.tally.passed(&what, &told.replace('\n', " / "));
        } else {
            self.tally.failed(&what, &format!("{}; it said: {all}", wrong.join("; ")));
        }
    }

    /// Whether a control arrives. Each is made once.
    fn shown(&mut self, control: &Control) -> Result<(), String> {
        let (Control::Inside(argv) | Control::House(argv)) = control;
        if let Some(shown) = self.controls.get(argv) {
            return shown.clone();
        }
        let mark = self.internet.mark();
        let said = match control {
            Control::Inside(_) => self.house.run(&self.sandbox, &texts(argv)).to_string(),
            Control::House(_) => {
                let ran = self.internet.in_house(program()).args(argv).output().unwrap();
                String::from_utf8_lossy(&ran.stdout).into_owned()
            }
        };
        let arrived = !self.internet.since(mark).is_empty();
        let shown =
            if arrived { Ok(()) } else { Err(format!("its control does not arrive: {said}")) };
        self.controls.insert(argv.clone(), shown.clone());
        shown
    }

    /// Something that must be so.
    pub(crate) fn check(&mut self, case: u16, what: &str, found: &str, holds: impl Into<Holds>) {
        let found: String = found.replace('\n', " / ").chars().take(400).collect();
        let what = format!("{} {}: {what}", numbered(case), self.sandbox);
        self.tally.check(&what, &found, holds.into());
    }

    pub(crate) fn unsupported(&mut self, case: u16, what: &str, why: &str) {
        let what = format!("{} {}: {what}", numbered(case), self.sandbox);
        self.tally.unsupported(&what, why);
    }

    /// What was counted, without anything more.
    pub(crate) fn counted(self) -> Tally {
        self.tally
    }

    /// What was counted. One more refusal is the last: nothing was written down late for those before it.
    pub(crate) fn done(mut self) -> Tally {
        let last = curl(&["https://last.evil.test/"]);
        let last = attempt(14, "the last one", &last, &curl(&["https://ok.test/"]));
        self.deny(&last.says(&["403"]).refused("not_allowed"));
        self.tally
    }
}
