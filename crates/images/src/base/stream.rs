//! Bytes on their way into a layer: counted, hashed, and unpacked from gzip or zstd.
//!
//! The format is told by the first bytes, not by a name or a label that someone else wrote.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use sha2::{Digest as _, Sha256};

use super::Digest;

/// Hashes what is read through it.
pub(crate) struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Hashing<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// The digest of all, when the rest has been read too.
    pub(crate) fn finish(mut self) -> io::Result<Digest> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(Digest::from_hash(self.hash))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A frame to skip may come first: `zstd:chunked` does that.
const ZSTD_SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    pub(crate) fn of(start: &[u8]) -> Self {
        let skipped = |start: &[u8]| start.get(1..4) == Some(ZSTD_SKIPPED.as_slice());
        match start {
            _ if start.starts_with(&GZIP) => Self::Gzip,
            _ if start.starts_with(&ZSTD) => Self::Zstd,
            [0x50..=0x5f, ..] if skipped(start) => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

/// What was packed in `input`.
pub(crate) fn unpacked<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    Ok(match Packing::of(input.fill_buf()?) {
        Packing::Plain => Box::new(input),
        Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
        Packing::Zstd => Box::new(ZstdFrames {
            source: input,
            decoder: FrameDecoder::new(),
            place: Place::Between,
        }),
    })
}

/// All frames of a zstd stream, one after another. The decoder refuses windows above 100 MiB.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    Inside,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Goes to the next frame with content.
    fn enter(&mut self) -> io::Result<Place> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(Place::Inside),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(Place::Between)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.place == Place::Between {
                self.place = self.enter()?;
                if self.place == Place::Between {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.place = Place::Between;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        unpacked(bytes)?.read_to_end(&mut all)?;
        Ok(all)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    #[test]
    fn every_packing_is_told_by_its_first_bytes() {
        let text = b"some text, ".repeat(50_000);
        assert_eq!(read(&text).unwrap(), text);
        assert_eq!(read(&gzip(&text)).unwrap(), text);
        assert_eq!(read(&zstd(&text)).unwrap(), text);
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn all_members_and_frames_are_read_and_skippable_ones_skipped() {
        assert_eq!(read(&[gzip(b"one "), gzip(b"two")].concat()).unwrap(), b"one two");
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [skipped.clone(), zstd(b"one "), skipped.clone(), zstd(b"two"), skipped];
        assert_eq!(read(&frames.concat()).unwrap(), b"one two");
    }

    #[test]
    fn a_stream_that_is_cut_is_an_error() {
        for whole in [gzip(&vec![7; 100_000]), zstd(&vec![7; 100_000])] {
            assert!(read(&whole[..whole.len() - 6]).is_err());
        }
    }

    #[test]
    fn hashing_reads_to_the_end() {
        let mut hashing = Hashing::new(&b"abcdef"[..]);
        hashing.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(hashing.finish().unwrap(), Digest::of(b"abcdef"));
    }
}
