//! What each kind of file names, and that no bytes break a reader.

use proptest::prelude::*;

use super::*;

fn names(path: &str, old: &str, new: &str) -> Vec<String> {
    let added = added(path.as_bytes(), Some(old.as_bytes()), new.as_bytes()).unwrap();
    added.into_iter().map(|it| format!("{} {} {}", it.name, it.version, it.registry)).collect()
}

#[test]
fn each_manifest_and_lock_file_tells_what_is_new_in_it() {
    let table: [(&str, &str, &str, &[&str]); 14] = [
        (
            "web/package.json",
            r#"{"dependencies":{"qs":"1"}}"#,
            r#"{"dependencies":{"qs":"2","left-pad":"^1.3.0"},"devDependencies":{"x":"*"}}"#,
            &["left-pad ^1.3.0 npm", "x * npm"],
        ),
        (
            "package-lock.json",
            r#"{"packages":{"":{},"node_modules/a":{"version":"1.0.0"}}}"#,
            r#"{"packages":{"":{},"node_modules/a":{"version":"1.0.1"},"node_modules/a/node_modules/@s/b":{"version":"2.0.0","resolved":"https://u:p@npm.example.com/b.tgz"}}}"#,
            &["@s/b 2.0.0 npm, npm.example.com"],
        ),
        (
            "yarn.lock",
            "# yarn lockfile v1\n\na@^1:\n  version \"1.0.0\"\n",
            "# yarn lockfile v1\n\na@^1:\n  version \"1.0.0\"\n\n\"@s/b@^2, @s/b@^2.1\":\n  version \"2.1.0\"\n  dependencies:\n    c \"1\"\n",
            &["@s/b 2.1.0 npm"],
        ),
        (
            "pnpm-lock.yaml",
            "packages:\n\n  a@1.0.0:\n    resolution: {}\n",
            "packages:\n\n  a@1.0.0:\n    resolution: {}\n\n  '@s/b@2.0.0(a@1.0.0)':\n    resolution: {}\n\nsnapshots:\n\n  z@1:\n",
            &["@s/b 2.0.0 npm"],
        ),
        (
            "Cargo.lock",
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n",
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\nsource = \"registry+https://crates.example.com/index\"\n",
            &["b 0.1.0 crates, crates.example.com"],
        ),
        (
            "uv.lock",
            "",
            "[[package]]\nname = \"requests\"\nversion = \"2.32\"\n",
            &["requests 2.32 PyPI"],
        ),
        (
            "Cargo.toml",
            "[dependencies]\na = \"1\"\n",
            "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb = { version = \"2\", features = [] }\nc.workspace = true\n[target.'cfg(unix)'.dev-dependencies]\nd = \"4\"\n[dependencies.e]\nversion = \"5\"\n",
            &["b 2 crates", "c  crates", "d 4 crates", "e  crates"],
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\ndependencies = []\n",
            "[project]\nname = \"x\"\ndependencies = [\n  \"requests[socks] >= 2\",\n  \"Foo_Bar\",\n]\nversion = \"1\"\n[project.optional-dependencies]\ntest = [\"pytest\"]\n[tool.poetry.dependencies]\npython = \"^3\"\nrich = \"^13\"\n",
            &["foo-bar  PyPI", "pytest  PyPI", "requests [socks] >= 2 PyPI", "rich ^13 PyPI"],
        ),
        (
            "requirements-dev.txt",
            "a==1\n",
            "# all\na==2\n-r other.txt\nB.c==1.0 # why\n",
            &["b-c ==1.0 PyPI"],
        ),
        (
            "go.mod",
            "module x\nrequire example.com/a v1.0.0\n",
            "module x\nrequire example.com/a v1.0.0\nrequire (\n\texample.com/b v2.0.0 // indirect\n)\n",
            &["example.com/b v2.0.0 Go"],
        ),
        (
            "Gemfile.lock",
            "GEM\n  specs:\n    rake (13.0)\n",
            "GEM\n  specs:\n    rake (13.0)\n    rails (7.1)\n      rake (>= 12)\n",
            &["rails 7.1 RubyGems"],
        ),
        (
            "composer.json",
            r#"{"require":{"php":">=8"}}"#,
            r#"{"require":{"php":">=8","a/b":"^1"}}"#,
            &["a/b ^1 Packagist"],
        ),
        (
            "composer.lock",
            r#"{"packages":[]}"#,
            r#"{"packages":[{"name":"a/b","version":"1.0"}]}"#,
            &["a/b 1.0 Packagist"],
        ),
        (
            "pom.xml",
            "<project></project>",
            "<project><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1</version></dependency></project>",
            &["g:a 1 Maven"],
        ),
    ];
    for (path, old, new, expected) in table {
        assert_eq!(names(path, old, new), expected, "{path}");
        assert_eq!(names(path, new, new), [""; 0], "{path}");
    }
}

#[test]
fn it_is_told_in_one_sentence() {
    let new = br#"{"dependencies":{"left-pad":"1.3.0"}}"#;
    let told_of = |path: &str, new: &[u8]| told(path.as_bytes(), None, new);
    assert_eq!(
        told_of("package.json", new).unwrap(),
        "brings a package that was not there: left-pad 1.3.0 (npm)"
    );
    assert_eq!(told_of("src/main.rs", new), None);
    assert_eq!(told_of("package.json", b"{").unwrap(), "names packages, and could not be read");
    let many = (0..20).map(|number| format!("p{number:02}==1")).collect::<Vec<_>>().join("\n");
    let text = told_of("requirements.txt", many.as_bytes()).unwrap();
    assert!(text.starts_with("brings 20 packages") && text.ends_with("and 8 more"), "{text}");
}

#[test]
fn a_name_writes_nothing_but_itself() {
    let new = "{\"dependencies\":{\"a`\\n# b](x) \\u001b[2J|<script>\":\"1\"}}".as_bytes();
    let text = told(b"package.json", None, new).unwrap();
    assert!(!text.contains(['`', '\n', '\u{1b}', '<', '|']), "{text}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, text: String) {
        for path in [
            "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.lock", "Cargo.toml", "uv.lock",
            "pyproject.toml", "requirements.txt", "go.mod", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml",
        ] {
            let _ = added(path.as_bytes(), Some(&bytes), text.as_bytes());
            let _ = told(path.as_bytes(), Some(text.as_bytes()), &bytes);
        }
    }
}
