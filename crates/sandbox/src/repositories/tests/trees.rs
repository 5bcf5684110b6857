//! What is read of a repository to know its dependencies.

use std::fs;

use images::detect::Tree as _;

use super::Bench;
use crate::repositories::manifests;

#[tokio::test]
async fn manifests_are_read_as_they_are_and_hostile_names_are_only_names() {
    let bench = Bench::new();
    let source = bench.path("source");
    fs::create_dir(source.join("app")).unwrap();
    fs::create_dir(source.join("two\nlines")).unwrap();
    let files: [(&str, &[u8]); 6] = [
        ("package.json", b"{}"),
        ("app/go.mod", b"module app\n"),
        ("raw.txt", b"\xff\xfe\n"),
        ("two\nlines/a\ncontents HEAD:package.json\n.toml", b"mine"),
        ("--help.toml", b"no option"),
        ("app/main.go", b"package main\n"),
    ];
    for (path, content) in files {
        fs::write(source.join(path), content).unwrap();
    }
    fs::write(source.join("huge.lock"), vec![b'x'; (4 << 20) + 1]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("link.toml")).unwrap();
    let commit = bench.commit("manifests");
    let (mirrors, web) = (bench.mirrors(), "acme/web".parse().unwrap());
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();

    let read = manifests(&mirrors, &web, &commit).await.unwrap();
    for (path, content) in files.iter().take(5) {
        assert_eq!(read.read(path).as_deref(), Some(*content), "{path:?}");
    }
    for no_manifest in ["app/main.go", "huge.lock", "link.toml", "file"] {
        assert_eq!(read.read(no_manifest), None, "{no_manifest}");
    }
    let names: Vec<String> = read.list("app").into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["go.mod", "main.go"]);
}
