//! Questions for names, and our answers.
//!
//! Nothing is forwarded. A name that may be reached gets an IPv4 address of our own making; everything else gets "no such name", or
//! "no such record". One question in class IN, without compression, with nothing around it but an EDNS record: anything else is a
//! format error, and what is not even a question gets no answer at all.

use std::net::Ipv4Addr;

use domain::policy::HostName;

use super::target;

/// The longest question that is read, over UDP or TCP.
pub const QUESTION_LIMIT: usize = 1232;

/// How long an address may be remembered inside, in seconds. It dies with its generation.
pub const TTL_SECONDS: u32 = 5;

const HEADER: usize = 12;
const CLASS_IN: u16 = 1;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name, if it can be a host's. Nothing else is ever known.
    pub host: Option<HostName>,
    pub kind: RecordKind,
    id: u16,
    recursion_desired: u16,
    /// The question as it was asked, with its capital letters, which some programs compare.
    written: Vec<u8>,
    extension: Extension,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// An IPv4 address: the only record that we have.
    A,
    Aaaa,
    Other(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Absent,
    Present,
}

/// Why a message is not answered as a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    #[error("the message is too short, or is itself an answer")]
    NoQuestion,
    #[error("the message is longer than {QUESTION_LIMIT} bytes")]
    TooLong { id: u16 },
    #[error("the message is not a plain question")]
    Operation { id: u16 },
    #[error("the question is malformed")]
    Malformed { id: u16 },
}

impl DnsError {
    /// What is sent back, if anything.
    pub fn answer(&self) -> Option<Vec<u8>> {
        let (id, code) = match self {
            Self::NoQuestion => return None,
            Self::TooLong { id } | Self::Malformed { id } => (*id, Code::FormatError),
            Self::Operation { id } => (*id, Code::NotImplemented),
        };
        Some(header(id, 0x8000, code, [0; 4]))
    }
}

#[derive(Debug, Clone, Copy)]
enum Code {
    NoError = 0,
    FormatError = 1,
    ServerFailure = 2,
    NoSuchName = 3,
    NotImplemented = 4,
}

/// Reads one message.
pub fn read(message: &[u8]) -> Result<Question, DnsError> {
    let [a, b, c, d, counts @ ..] = message else {
        return Err(DnsError::NoQuestion);
    };
    let id = u16::from_be_bytes([*a, *b]);
    let flags = u16::from_be_bytes([*c, *d]);
    if message.len() < HEADER || flags & 0x8000 != 0 {
        return Err(DnsError::NoQuestion);
    }
    if message.len() > QUESTION_LIMIT {
        return Err(DnsError::TooLong { id });
    }
    if flags & 0x7800 != 0 {
        return Err(DnsError::Operation { id });
    }
    // Truncated, authoritative, or with a code: a question has none of these.
    let (counts, body) = counts.split_at_checked(8).ok_or(DnsError::NoQuestion)?;
    let extension = match counts {
        [0, 1, 0, 0, 0, 0, 0, 0] if flags & 0x060f == 0 => Extension::Absent,
        [0, 1, 0, 0, 0, 0, 0, 1] if flags & 0x060f == 0 => Extension::Present,
        [..] => return Err(DnsError::Malformed { id }),
    };
    question(id, flags, extension, body).ok_or(DnsError::Malformed { id })
}

fn question(id: u16, flags: u16, extension: Extension, body: &[u8]) -> Option<Question> {
    let (name, name_length) = name(body)?;
    let (written, rest) = body.split_at_checked(name_length + 4)?;
    let [kind_high, kind_low, class_high, class_low] = written.get(name_length..)? else {
        return None;
    };
    if u16::from_be_bytes([*class_high, *class_low]) != CLASS_IN {
        return None;
    }
    match extension {
        Extension::Absent if rest.is_empty() => {}
        Extension::Present if is_edns(rest) => {}
        Extension::Absent | Extension::Present => return None,
    }
    let kind = match u16::from_be_bytes([*kind_high, *kind_low]) {
        1 => RecordKind::A,
        28 => RecordKind::Aaaa,
        other => RecordKind::Other(other),
    };
    Some(Question {
        host: target::host(&name).ok(),
        kind,
        id,
        recursion_desired: flags & 0x0100,
        written: written.to_vec(),
        extension,
    })
}

/// The name with dots, and how many bytes it has in the message.
fn name(body: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut name = Vec::new();
    let mut at = 0;
    loop {
        let length = usize::from(*body.get(at)?);
        // Compression, and the label kinds that never came to be, have the two upper bits.
        if length > 63 {
            return None;
        }
        at += 1;
        if at > 255 {
            return None;
        }
        if length == 0 {
            return Some((name, at));
        }
        let label = body.get(at..at + length)?;
        // A dot within a label would make two names of one; `_` is usual for services.
        if !label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return None;
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(label);
        at += length;
    }
}

/// One EDNS record, and nothing behind it.
fn is_edns(rest: &[u8]) -> bool {
    match rest {
        [0, 0, 41, _, _, _, _, _, _, high, low, options @ ..] => {
            options.len() == usize::from(u16::from_be_bytes([*high, *low]))
        }
        [..] => false,
    }
}

impl Question {
    /// The name has this address. To a question for another kind of record: there is none.
    pub fn address(&self, address: Ipv4Addr) -> Vec<u8> {
        match self.kind {
            RecordKind::A => self.answer(Code::NoError, Some(address)),
            RecordKind::Aaaa | RecordKind::Other(_) => self.no_record(),
        }
    }

    /// The name exists and has no such record.
    pub fn no_record(&self) -> Vec<u8> {
        self.answer(Code::NoError, None)
    }

    /// There is no such name.
    pub fn no_name(&self) -> Vec<u8> {
        self.answer(Code::NoSuchName, None)
    }

    /// We cannot say; ask later.
    pub fn failure(&self) -> Vec<u8> {
        self.answer(Code::ServerFailure, None)
    }

    fn answer(&self, code: Code, address: Option<Ipv4Addr>) -> Vec<u8> {
        let extensions = match self.extension {
            Extension::Absent => 0,
            Extension::Present => 1,
        };
        let counts = [1, u16::from(address.is_some()), 0, extensions];
        // An answer, with recursion available: what a stub resolver expects of its server.
        let mut out = header(self.id, 0x8080 | self.recursion_desired, code, counts);
        out.extend_from_slice(&self.written);
        if let Some(address) = address {
            // The name is the question's, which stands right behind the header.
            out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
            out.extend_from_slice(&TTL_SECONDS.to_be_bytes());
            out.extend_from_slice(&[0, 4]);
            out.extend_from_slice(&address.octets());
        }
        if self.extension == Extension::Present {
            out.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        }
        out
    }
}

fn header(id: u16, flags: u16, code: Code, counts: [u16; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&(flags | code as u16).to_be_bytes());
    for count in counts {
        out.extend_from_slice(&count.to_be_bytes());
    }
    out
}

/// A message over TCP: its length, then itself. Nothing yet while it is incomplete.
pub fn unframe(buffer: &[u8]) -> Option<(&[u8], usize)> {
    let [high, low, rest @ ..] = buffer else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    rest.get(..length).map(|message| (message, length + 2))
}

/// A message as it goes over TCP.
pub fn frame(message: &[u8]) -> Vec<u8> {
    // Our answers have at most a few hundred bytes.
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    let mut out = length.to_be_bytes().to_vec();
    out.extend_from_slice(message);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(name: &[u8], kind: u16) -> Vec<u8> {
        [&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], name, &kind.to_be_bytes(), &[0, 1]]
            .concat()
    }

    const NAME: &[u8] = b"\x03aPi\x04tEst\0";

    #[test]
    fn a_known_name_has_the_address_that_we_made() {
        let question = read(&asked(NAME, 1)).unwrap();
        assert_eq!(question.host.as_ref().map(HostName::as_str), Some("api.test"));
        let answer = question.address(Ipv4Addr::new(198, 18, 0, 7));
        let expected = [
            &[0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0][..],
            NAME,
            &[0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 18, 0, 7],
        ];
        assert_eq!(answer, expected.concat());
        assert_eq!(unframe(&frame(&answer)), Some((answer.as_slice(), answer.len() + 2)));
    }

    #[test]
    fn other_records_and_other_names_are_not_there() {
        // AAAA, TXT, NULL, SVCB, HTTPS, ANY, SRV.
        for kind in [28, 16, 10, 64, 65, 255, 33] {
            let answer = read(&asked(NAME, kind)).unwrap().address(Ipv4Addr::LOCALHOST);
            assert_eq!(&answer[2..8], &[0x81, 0x80, 0, 1, 0, 0], "{kind}");
        }
        let unknown = read(&asked(NAME, 1)).unwrap().no_name();
        assert_eq!(&unknown[2..8], &[0x81, 0x83, 0, 1, 0, 0]);
        for name in [&b"\x05_http\x04_tcp\x04test\0"[..], b"\0", b"\x011\x012\x013\x014\0"] {
            assert_eq!(read(&asked(name, 1)).unwrap().host, None);
        }
    }

    #[test]
    fn a_program_with_edns_is_answered_with_edns() {
        let mut message = asked(NAME, 1);
        message[11] = 1;
        message.extend_from_slice(&[0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 4, 0, 10, 0, 0]);
        let answer = read(&message).unwrap().no_record();
        assert_eq!(answer[11], 1);
        assert!(answer.ends_with(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]));
        message.push(0);
        assert_eq!(read(&message), Err(DnsError::Malformed { id: 0x1234 }));
    }

    #[test]
    fn what_is_not_one_plain_question_is_a_format_error() {
        let malformed = |message: Vec<u8>| {
            assert_eq!(
                read(&message),
                Err(DnsError::Malformed { id: 0x1234 }),
                "{}",
                message.escape_ascii()
            );
        };
        let changed = |at: usize, value: u8| {
            let mut message = asked(NAME, 1);
            message[at] = value;
            message
        };
        malformed(changed(5, 0));
        malformed(changed(5, 2));
        malformed(changed(7, 1));
        malformed(changed(9, 1));
        malformed(changed(11, 1));
        malformed(changed(2, 3));
        malformed([asked(NAME, 1), vec![0]].concat());
        // A pointer to itself, a NUL, a dot and a byte beyond ASCII in a label, no end, too long.
        malformed(asked(b"\xc0\x0c", 1));
        malformed(asked(b"\x03a\0b\x04test\0", 1));
        malformed(asked(b"\x03a.b\x04test\0", 1));
        malformed(asked(b"\x02\xc3\xa4\0", 1));
        malformed(asked(b"\x40", 1));
        malformed(asked(b"\x3fabc", 1));
        malformed(asked(
            &[&[b"\x3f".as_slice(), &[b'a'; 63]].concat().repeat(4)[..], b"\0"].concat(),
            1,
        ));
        let mut chaos = asked(NAME, 1);
        *chaos.last_mut().unwrap() = 3;
        malformed(chaos);
        assert_eq!(read(&[0; 11]), Err(DnsError::NoQuestion));
        assert_eq!(read(&changed(2, 0x81)), Err(DnsError::NoQuestion));
        let update = read(&changed(2, 0x28)).unwrap_err();
        assert_eq!(update.answer().unwrap()[..4], [0x12, 0x34, 0x80, 4]);
        assert_eq!(read(&[0; QUESTION_LIMIT + 1]), Err(DnsError::TooLong { id: 0 }));
    }

    proptest! {
        #[test]
        fn any_bytes_get_a_short_answer_or_none(
            start in prop_oneof![Just(asked(NAME, 1)), Just(vec![])],
            at in any::<usize>(),
            value in any::<u8>(),
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut message = [start, rest].concat();
            let length = message.len();
            if let Some(byte) = message.get_mut(at % length.max(1)) {
                *byte = value;
            }
            let answer = match read(&message) {
                Ok(question) => Some(question.address(Ipv4Addr::LOCALHOST)),
                Err(error) => error.answer(),
            };
            if let Some(answer) = answer {
                prop_assert!(answer.len() <= 512);
                prop_assert_eq!(&answer[..2], &message[..2]);
                prop_assert!(answer[2] & 0x80 != 0);
            }
        }
    }
}
