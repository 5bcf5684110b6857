//! Makes packs as nobody else would: by hand, object by object.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::fixture::{git_in, person};

/// A place to make objects in, which is never checked out.
pub(crate) struct Forgery {
    directory: tempfile::TempDir,
}

impl Forgery {
    pub(crate) fn new(from: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let from = from.display().to_string();
        git_in(directory.path(), &["clone", "--quiet", "--bare", &from, "."]);
        Self { directory }
    }

    /// An object of any kind, whatever git thinks of it.
    pub(crate) fn object(&self, kind: &str, content: &[u8]) -> String {
        let arguments = ["hash-object", "-w", "-t", kind, "--literally", "--stdin"];
        self.with_input(&arguments, content).trim().to_owned()
    }

    pub(crate) fn blob(&self, content: &[u8]) -> String {
        self.object("blob", content)
    }

    /// A tree with these entries, in this order.
    pub(crate) fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, object) in entries {
            content.extend(mode.as_bytes());
            content.push(b' ');
            content.extend(*name);
            content.push(0);
            content.extend(bytes(object));
        }
        self.object("tree", &content)
    }

    /// What a sandbox would say: a tree, and a pack with these objects.
    pub(crate) fn says(&self, tree: &str, objects: &[&str]) -> Vec<u8> {
        let mut said = format!("lamp-change 1 {tree}\n").into_bytes();
        said.extend(self.pack(objects));
        said
    }

    pub(crate) fn pack(&self, objects: &[&str]) -> Vec<u8> {
        self.raw(&["pack-objects", "--stdout", "--quiet"], (objects.join("\n") + "\n").as_bytes())
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(self.directory.path(), arguments)
    }

    fn with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        String::from_utf8(self.raw(arguments, input)).unwrap()
    }

    fn raw(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut command: Command = person(self.directory.path());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut sink, input) = (child.stdin.take().unwrap(), input.to_vec());
        let feeding = std::thread::spawn(move || sink.write_all(&input));
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap().unwrap();
        assert!(output.status.success());
        output.stdout
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u32> = hexadecimal.chars().map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

/// A pack of objects that are given as they stand in it: heading, then compressed bytes.
pub(crate) struct PackWriter {
    body: Vec<u8>,
    count: u32,
}

impl PackWriter {
    pub(crate) const fn new() -> Self {
        Self { body: Vec::new(), count: 0 }
    }

    /// A blob of `size` zeroes; gives where it stands.
    pub(crate) fn zeroes(&mut self, size: usize) -> usize {
        let at = self.body.len();
        self.heading(3, size);
        self.body.extend(deflated(&vec![0; size]));
        at
    }

    /// A difference to the object at `base`, that claims to make `size` bytes by copying the base again and again.
    pub(crate) fn bomb(&mut self, base: usize, base_size: usize, times: usize) {
        let size = base_size * times;
        let mut delta = Vec::new();
        for number in [base_size, size] {
            let mut left = number;
            while left >= 128 {
                delta.push((left & 127) as u8 | 128);
                left >>= 7;
            }
            delta.push(left as u8);
        }
        for _ in 0..times {
            // Copy from 0, with three bytes of length.
            delta.push(0b1111_0000);
            delta.extend(&(base_size as u32).to_le_bytes()[..3]);
        }
        let at = self.body.len();
        self.heading(6, delta.len());
        let mut offset = at - base;
        let mut digits = vec![(offset & 127) as u8];
        while offset >= 128 {
            offset = (offset >> 7) - 1;
            digits.push((offset & 127) as u8 | 128);
        }
        digits.reverse();
        self.body.extend(digits);
        self.body.extend(deflated(&delta));
    }

    fn heading(&mut self, kind: u8, size: usize) {
        self.count += 1;
        let mut byte = (kind << 4) | (size & 15) as u8;
        let mut left = size >> 4;
        while left > 0 {
            self.body.push(byte | 128);
            byte = (left & 127) as u8;
            left >>= 7;
        }
        self.body.push(byte);
    }

    /// With its checksum, which is a SHA-1.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend(self.count.to_be_bytes());
        pack.extend(self.body);
        let script = "sha1sum | cut -d' ' -f1";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&pack).unwrap();
        let output = child.wait_with_output().unwrap();
        pack.extend(bytes(String::from_utf8(output.stdout).unwrap().trim()));
        pack
    }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
