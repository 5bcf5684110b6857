//! The lines of git's protocol: four hexadecimal digits of length, and that many bytes.

/// The longest line, with its four digits.
pub const LINE_LIMIT: usize = 65_520;

/// Ends a list.
pub const FLUSH: &[u8] = b"0000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// `0000`
    Flush,
    /// `0001`
    Delimiter,
    /// `0002`
    ResponseEnd,
    Line(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    #[error("a packet line does not begin with four hexadecimal digits in small letters")]
    Digits,
    #[error("a packet line has the length 3, which means nothing")]
    Length,
    #[error("a packet line is longer than {LINE_LIMIT} bytes")]
    TooLong,
}

/// Reads the packet at the beginning of `buffer`, once all of it is there, and tells how many bytes it has.
pub fn read(buffer: &[u8]) -> Result<Option<(Packet<'_>, usize)>, PacketError> {
    let start = buffer.get(..4.min(buffer.len())).unwrap_or_default();
    if !start.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(PacketError::Digits);
    }
    if start.len() < 4 {
        return Ok(None);
    }
    let value = |digit: &u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
    let length = start.iter().fold(0, |sum: usize, digit| sum * 16 + usize::from(value(digit)));
    match length {
        0 => Ok(Some((Packet::Flush, 4))),
        1 => Ok(Some((Packet::Delimiter, 4))),
        2 => Ok(Some((Packet::ResponseEnd, 4))),
        3 => Err(PacketError::Length),
        _ if length > LINE_LIMIT => Err(PacketError::TooLong),
        _ => Ok(buffer.get(4..length).map(|line| (Packet::Line(line), length))),
    }
}

/// Writes one line.
pub fn write(line: &[u8], out: &mut Vec<u8>) -> Result<(), PacketError> {
    let length = line.len() + 4;
    if length > LINE_LIMIT {
        return Err(PacketError::TooLong);
    }
    out.extend_from_slice(format!("{length:04x}").as_bytes());
    out.extend_from_slice(line);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_as_git_writes_them() {
        assert_eq!(read(b"0009done\n0000"), Ok(Some((Packet::Line(b"done\n"), 9))));
        assert_eq!(read(b"0000"), Ok(Some((Packet::Flush, 4))));
        assert_eq!(read(b"0001"), Ok(Some((Packet::Delimiter, 4))));
        assert_eq!(read(b"0002"), Ok(Some((Packet::ResponseEnd, 4))));
        assert_eq!(read(b"0004"), Ok(Some((Packet::Line(b""), 4))));
        assert_eq!(read(b"0003"), Err(PacketError::Length));
        assert_eq!(read(b"fff1"), Err(PacketError::TooLong));
        for bytes in [&b"000A"[..], b"0x04", b"+004", b" 004", b"PACK", b"z"] {
            assert_eq!(read(bytes), Err(PacketError::Digits));
        }
        assert_eq!(write(&vec![0; LINE_LIMIT], &mut Vec::new()), Err(PacketError::TooLong));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_in_any_pieces(line in proptest::collection::vec(any::<u8>(), 0..300), rest: u8) {
            let mut written = Vec::new();
            write(&line, &mut written).unwrap();
            let length = written.len();
            written.push(rest);
            prop_assert_eq!(read(&written), Ok(Some((Packet::Line(&line), length))));
            for end in 0..length {
                prop_assert_eq!(read(&written[..end]), Ok(None));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let _ = read(&bytes);
        }
    }
}
