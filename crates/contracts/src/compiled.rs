//! Files that machines run and people cannot read: known by their names, and by how they begin.
//!
//! One list for both who ask: whoever takes a change out flags them, and whoever judges its checks says that they may have run one. A
//! compiled module beside a source can be loaded in its place, whatever the source says.

/// Directories whose every file counts.
const DIRECTORIES: &[(&str, &str)] = &[("__pycache__", "Python")];

const ENDINGS: &[(&str, &str)] = &[
    (".pyc", "Python"),
    (".pyo", "Python"),
    (".pyd", "Python"),
    (".pyz", "Python"),
    (".whl", "Python"),
    (".egg", "Python"),
    (".class", "Java"),
    (".jar", "Java"),
    (".war", "Java"),
    (".dex", "Android"),
    (".so", "a shared library"),
    (".dylib", "a shared library"),
    (".dll", "a shared library"),
    (".node", "Node"),
    (".o", "an object file"),
    (".obj", "an object file"),
    (".a", "a static library"),
    (".lib", "a static library"),
    (".rlib", "Rust"),
    (".rmeta", "Rust"),
    (".wasm", "WebAssembly"),
    (".exe", "a program"),
    (".beam", "Erlang"),
    (".luac", "Lua"),
    (".phar", "PHP"),
    (".jsc", "JavaScript"),
];

/// How programs and libraries begin, whatever they are called.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "a program"),
    (b"\0asm", "WebAssembly"),
    (b"\xca\xfe\xba\xbe", "Java, or a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"!<arch>\n", "a static library"),
];

/// What it is compiled for, if it is compiled. Case does not count, as it does not for some who load it.
pub fn compiled(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let path = path.to_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_in = |wanted: &str| directories.split('/').any(|directory| directory == wanted);
    let by_directory = DIRECTORIES.iter().find(|(directory, _)| is_in(directory));
    let by_ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    // Shared libraries have versions behind their ending.
    let by_version = name.contains(".so.").then_some("a shared library");
    let by_beginning = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    let named = by_directory.or(by_ending).map(|(_, what)| *what);
    named.or(by_version).or_else(|| by_beginning.map(|(_, what)| *what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_files_are_known_by_name_and_by_how_they_begin() {
        for path in [
            "__pycache__/test_calc.cpython-311.pyc",
            "a/__PYCACHE__/x",
            "calc.pyc",
            "lib/native.so",
            "lib/native.so.1",
            "Calc.class",
            "x.o",
            "x.a",
            "x.DLL",
            "tools/run.jar",
            "pkg/x.wasm",
        ] {
            assert!(compiled(path, b"").is_some(), "{path}");
        }
        assert_eq!(compiled("bin/test", b"\x7fELF\x02"), Some("a program"));
        for path in ["calc.py", "README", "a.md", "src/so.rs", "class", "notes.so-so.md"] {
            assert_eq!(compiled(path, b"text"), None, "{path}");
        }
    }
}
