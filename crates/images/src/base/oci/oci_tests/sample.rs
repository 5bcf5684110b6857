//! A small image, written in every form, and a registry that serves it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "only tests use it")]

use std::{collections::BTreeMap, fs, io::Write, path::Path};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::base::{Digest, testing::Tar};

pub(super) struct Sample {
    pub(super) blobs: BTreeMap<Digest, Vec<u8>>,
    /// Unpacked, the lowest first.
    layers: Vec<Vec<u8>>,
    packed: Vec<(Digest, usize)>,
    diff_ids: Vec<Digest>,
    platform: (String, String),
}

pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

impl Sample {
    /// Three layers, packed in three ways.
    pub(super) fn honest() -> Self {
        Self::of(&[
            Tar::new().file("base", "1").file("old", "1").bytes(),
            Tar::new().file("middle", "2").file(".wh.old", "").bytes(),
            Tar::new().file("top", "3").bytes(),
        ])
    }

    pub(super) fn of(layers: &[Vec<u8>]) -> Self {
        let mut sample = Self {
            blobs: BTreeMap::new(),
            layers: layers.to_vec(),
            packed: Vec::new(),
            diff_ids: layers.iter().map(|layer| Digest::of(layer)).collect(),
            platform: ("linux".to_owned(), architecture().to_owned()),
        };
        for (layer, pack) in layers
            .iter()
            .zip([gzip as fn(&[u8]) -> Vec<u8>, zstd, <[u8]>::to_vec].into_iter().cycle())
        {
            let bytes = pack(layer);
            let size = bytes.len();
            let digest = sample.put(bytes);
            sample.packed.push((digest, size));
        }
        sample.documents();
        sample
    }

    fn put(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.blobs.insert(digest.clone(), bytes);
        digest
    }

    pub(super) fn lowest(&self) -> Digest {
        self.packed[0].0.clone()
    }

    /// The config names something else as the first layer; all digests of blobs are right.
    pub(super) fn lie_about_a_layer(&mut self) {
        self.diff_ids[0] = Digest::of(b"another layer");
        self.rewrite();
    }

    pub(super) fn be_for(&mut self, os: &str, architecture: &str) {
        self.platform = (os.to_owned(), architecture.to_owned());
        self.rewrite();
    }

    fn rewrite(&mut self) {
        let packed = self.packed.clone();
        self.blobs.retain(|digest, _| packed.iter().any(|(known, _)| known == digest));
        self.documents();
    }

    fn config(&self) -> Vec<u8> {
        let (os, architecture) = &self.platform;
        let config = json!({
            "os": os, "architecture": architecture,
            "config": {
                "Env": ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"], "WorkingDir": "/app", "User": "1000:1000",
                "Entrypoint": ["/entry"], "Cmd": ["serve"],
            },
            "rootfs": {"type": "layers", "diff_ids": self.diff_ids.iter().map(Digest::as_str).collect::<Vec<_>>()},
        });
        config.to_string().into_bytes()
    }

    fn manifest(&self) -> Vec<u8> {
        let kind = "application/vnd.oci.image.layer.v1.tar";
        let layers: Vec<Value> = self
            .packed
            .iter()
            .map(|(digest, size)| json!({"mediaType": kind, "digest": digest.as_str(), "size": size}))
            .collect();
        let config = self.config();
        let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": Digest::of(&config).as_str(), "size": config.len()});
        json!({"schemaVersion": 2, "config": config, "layers": layers}).to_string().into_bytes()
    }

    /// The index with one image for this machine, one for another, and a note.
    fn index(&self) -> Vec<u8> {
        let manifest = self.manifest();
        let (os, architecture) = &self.platform;
        let entry = |bytes: &[u8], os: &str, architecture: &str| {
            json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": Digest::of(bytes).as_str(), "size": bytes.len(),
                "platform": {"os": os, "architecture": architecture},
            })
        };
        let entries = [
            entry(b"nobody asks", "linux", "s390x"),
            entry(&manifest, os, architecture),
            entry(b"note", "unknown", "unknown"),
        ];
        json!({"schemaVersion": 2, "manifests": entries}).to_string().into_bytes()
    }

    fn documents(&mut self) {
        for bytes in [self.config(), self.manifest(), self.index()] {
            self.put(bytes);
        }
    }

    /// `index.json` of a layout: it names the index of platforms.
    fn entrance(&self) -> Vec<u8> {
        let index = self.index();
        let entry = json!({
            "mediaType": "application/vnd.oci.image.index.v1+json", "digest": Digest::of(&index).as_str(), "size": index.len(),
            "annotations": {"org.opencontainers.image.ref.name": "v1"},
        });
        json!({"schemaVersion": 2, "manifests": [entry]}).to_string().into_bytes()
    }

    pub(super) fn layout(&self, into: &Path) {
        fs::create_dir_all(into.join("blobs/sha256")).unwrap();
        fs::write(into.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        fs::write(into.join("index.json"), self.entrance()).unwrap();
        for (digest, bytes) in &self.blobs {
            fs::write(into.join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        }
    }

    /// As newer versions of `docker save` write it.
    pub(super) fn new_archive(&self) -> Vec<u8> {
        let file = |tar: Tar, name: &str, bytes: &[u8]| {
            tar.push(Tar::header(tar::EntryType::Regular, name.as_bytes()), bytes)
        };
        let mut archive = Tar::new().directory("blobs/").directory("blobs/sha256/");
        for (digest, bytes) in &self.blobs {
            archive = file(archive, &format!("blobs/sha256/{}", digest.hex()), bytes);
        }
        archive = file(archive, "index.json", &self.entrance());
        file(archive, "manifest.json", b"[]").bytes()
    }

    /// As older ones did: a directory per layer, and a link for a layer that was there before.
    pub(super) fn old_archive(&self) -> Vec<u8> {
        let file = |tar: Tar, name: &str, bytes: &[u8]| {
            tar.push(Tar::header(tar::EntryType::Regular, name.as_bytes()), bytes)
        };
        let config = self.config();
        let config_name = format!("{}.json", Digest::of(&config).hex());
        let mut archive = file(Tar::new(), &config_name, &config);
        let mut names = Vec::new();
        for (number, layer) in self.layers.iter().enumerate() {
            archive = file(
                archive.directory(&format!("{number}/")),
                &format!("{number}/real.tar"),
                layer,
            );
            archive =
                archive.symlink(&format!("{number}/layer.tar"), &format!("../{number}/real.tar"));
            names.push(format!("{number}/layer.tar"));
        }
        let manifest =
            json!([{"Config": config_name, "RepoTags": ["team/tool:v1"], "Layers": names}]);
        file(archive, "manifest.json", manifest.to_string().as_bytes()).bytes()
    }
}

/// A registry on the loopback, just enough of one.
pub(super) struct Server {
    address: String,
    serving: JoinHandle<()>,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "the test waits for it in `stop`")]
    pub(super) async fn start(sample: &Sample) -> Self {
        let mut answers: BTreeMap<String, (String, Vec<u8>)> = BTreeMap::new();
        let index = sample.index();
        let kind = |bytes: &[u8]| match serde_json::from_slice::<Value>(bytes) {
            Ok(value) if value.get("manifests").is_some() => {
                "application/vnd.oci.image.index.v1+json"
            }
            _ => "application/vnd.oci.image.manifest.v1+json",
        };
        answers.insert("/v2/team/tool/manifests/v1".to_owned(), (kind(&index).to_owned(), index));
        for (digest, bytes) in &sample.blobs {
            answers.insert(
                format!("/v2/team/tool/manifests/{digest}"),
                (kind(bytes).to_owned(), bytes.clone()),
            );
            answers.insert(
                format!("/v2/team/tool/blobs/{digest}"),
                ("application/octet-stream".to_owned(), bytes.clone()),
            );
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = serve(stream, &answers).await;
            }
        });
        Self { address, serving }
    }

    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    pub(super) async fn stop(self) {
        self.serving.abort();
        let _ = self.serving.await;
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: &BTreeMap<String, (String, Vec<u8>)>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..count]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match answers.get(path) {
        Some((kind, body)) => ("200 OK", kind.as_str(), body.clone()),
        None if path == "/v2/" => ("200 OK", "application/json", b"{}".to_vec()),
        None => (
            "404 Not Found",
            "application/json",
            br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown","detail":null}]}"#
                .to_vec(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}
