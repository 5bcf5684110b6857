//! Tests of five languages, and what can be done to them.

use super::{super::*, edit, told, version};

const RUST: &str = r##"
#[cfg(test)]
mod tests {
    use super::*;

    /// Says `#[ignore]` and fn ghost() in a comment.
    #[test]
    fn adds() {
        let text = "#[test] fn fake() {}";
        assert_eq!(add(1, 2), 3, "}} {{");
        assert!(text.len() > 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn waits<'a>() -> Result<(), Error> {
        assert!(wait('}').await?);
        Ok(())
    }

    fn helper() { assert!(true) }
}
"##;

#[test]
fn rust_tests_are_known_by_name() {
    assert_eq!(edit("src/a.rs", RUST, RUST), [""; 0]);
    assert_eq!(
        edit(
            "src/a.rs",
            RUST,
            &RUST.replace("    #[test]\n", "    #[test]\n    #[ignore = \"slow\"]\n")
        ),
        ["src/a.rs:9: test skipped: `adds` is skipped"]
    );
    assert_eq!(
        edit(
            "src/a.rs",
            RUST,
            &RUST.replace("    #[test]\n", "    #[test]\n    #[cfg_attr(ci, ignore)]\n")
        ),
        ["src/a.rs:9: test skipped: `adds` is skipped under a condition"]
    );
    assert_eq!(
        edit(
            "src/a.rs",
            RUST,
            &RUST.replace("    #[test]\n", "    #[test]\n    #[should_panic]\n")
        ),
        ["src/a.rs:9: failure expected: `adds` is expected to fail"]
    );
    assert_eq!(
        edit("src/a.rs", RUST, &RUST.replace("        assert!(text.len() > 1);\n", "")),
        ["src/a.rs:8: assertions removed: `adds` has 1 assertion, and had 2"]
    );
    assert_eq!(
        edit("src/a.rs", RUST, &RUST.replace("assert!(text.len() > 1)", "assert!(true)")),
        ["src/a.rs:11: assertion that cannot fail: `adds` asserts what is always true"]
    );
    assert_eq!(
        edit("src/a.rs", RUST, &RUST.replace("add(1, 2), 3", "3, 3")),
        ["src/a.rs:10: assertion that cannot fail: `adds` asserts what is always true"]
    );
    assert_eq!(
        edit("src/a.rs", RUST, &RUST.replace("    #[test]\n", "")),
        ["src/a.rs:8: test deleted: `adds` is gone"]
    );
    assert_eq!(
        edit("src/a.rs", &RUST.replace("    #[test]\n", "    #[ignore]\n    #[test]\n"), RUST),
        [""; 0]
    );
}

#[test]
fn a_test_that_moved_or_got_another_name_is_no_alarm() {
    let moved = [("src/a.rs", Some(RUST), Some("")), ("src/b.rs", None, Some(RUST))];
    assert_eq!(told(&moved), [""; 0]);
    let renamed_file =
        FileChange { old: Some(version("a_test.rs", RUST)), new: Some(version("b_test.rs", RUST)) };
    assert_eq!(in_files(&[renamed_file]), Found::default());
    assert_eq!(edit("src/a.rs", RUST, &RUST.replace("fn adds", "fn adds_two_numbers")), [""; 0]);
    let and_changed = RUST
        .replace("fn adds", "fn sums")
        .replace("assert!(text.len() > 1)", "assert!(text.len() > 2)");
    assert_eq!(edit("src/a.rs", RUST, &and_changed), [""; 0]);
    let and_weakened =
        RUST.replace("fn adds", "fn sums").replace("        assert!(text.len() > 1);\n", "");
    assert_eq!(
        edit("src/a.rs", RUST, &and_weakened),
        ["src/a.rs:8: assertions removed: `sums` has 1 assertion, and had 2"]
    );
}

#[test]
fn a_test_that_moved_and_lost_something_on_the_way_is_noticed() {
    let skipped = RUST.replace("    #[test]\n", "    #[test]\n    #[ignore]\n");
    let moved = [("src/a.rs", Some(RUST), None), ("src/b.rs", None, Some(skipped.as_str()))];
    assert_eq!(told(&moved), ["src/b.rs:9: test skipped: `adds` is skipped"]);
}

#[test]
fn tests_of_one_name_in_one_file_are_not_taken_for_each_other() {
    let test = |body: &str| format!("mod m {{\n#[test]\nfn works() {{\n{body}\n}}\n}}\n");
    let (first, second) = (test("assert!(a);\nassert!(b);"), test("assert!(c);"));
    let between = test("assert!(d);");
    let old = format!("{first}{second}");
    assert_eq!(edit("a.rs", &old, &format!("{between}{first}{second}")), [""; 0]);
    assert_eq!(edit("a.rs", &old, &format!("{second}{first}")), [""; 0]);
    assert_eq!(edit("a.rs", &old, &first), ["a.rs:10: test deleted: `works` is gone"]);
    let fewer = format!("{}{second}", test("assert!(a);"));
    assert_eq!(
        edit("a.rs", &old, &fewer),
        ["a.rs:3: assertions removed: `works` has 1 assertion, and had 2"]
    );
}

#[test]
fn a_deleted_file_is_told_once_with_the_tests_that_are_gone() {
    assert_eq!(
        told(&[("tests/a.rs", Some(RUST), None)]),
        ["tests/a.rs: test file deleted: 2 tests gone with it: `adds`, `waits`"]
    );
    assert_eq!(told(&[("src/no_tests.rs", Some("fn main() {}"), None)]), [""; 0]);
}

const PYTHON: &str = r#"
import pytest

def test_adds():
    """assert in words"""
    assert add(1, 2) == 3  # assert nothing
    with pytest.raises(ValueError):
        add("a", 1)

@pytest.mark.parametrize(
    "x", [1, 2],
)
async def test_many(
    x,
):
    assert x

class TestThing:
    def test_method(self):
        self.assertEqual(1, thing())
"#;

#[test]
fn python_tests_are_known_by_name() {
    assert_eq!(edit("tests/test_a.py", PYTHON, PYTHON), [""; 0]);
    for (mark, said) in [
        ("@pytest.mark.skip(reason=\"later\")", "test skipped: `test_adds` is skipped"),
        ("@unittest.skip", "test skipped: `test_adds` is skipped"),
        (
            "@pytest.mark.skipif(True, reason='x')",
            "test skipped: `test_adds` is skipped under a condition",
        ),
        ("@pytest.mark.xfail", "failure expected: `test_adds` is expected to fail"),
        ("@unittest.expectedFailure", "failure expected: `test_adds` is expected to fail"),
    ] {
        let new = PYTHON.replace("def test_adds", &format!("{mark}\ndef test_adds"));
        assert_eq!(
            edit("tests/test_a.py", PYTHON, &new),
            [format!("tests/test_a.py:5: {said}")],
            "{mark}"
        );
    }
    let inside = PYTHON.replace("    assert add", "    pytest.skip(\"later\")\n    assert add");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &inside),
        ["tests/test_a.py:4: test skipped: `test_adds` is skipped"]
    );
    let class = PYTHON.replace("class TestThing", "@pytest.mark.skip\nclass TestThing");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &class),
        ["tests/test_a.py:19: test skipped: all tests of `class TestThing`"]
    );
    let file = PYTHON.replace("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &file),
        ["tests/test_a.py:3: test skipped: all tests of `the file`"]
    );
    let gone = PYTHON.replace("def test_many", "def many");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &gone),
        ["tests/test_a.py:13: test deleted: `test_many` is gone"]
    );
    let fewer = PYTHON.replace("    with pytest.raises(ValueError):\n        add(\"a\", 1)\n", "");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &fewer),
        ["tests/test_a.py:4: assertions removed: `test_adds` has 1 assertion, and had 2"]
    );
    let empty = PYTHON.replace("assert x", "assert True");
    assert_eq!(
        edit("tests/test_a.py", PYTHON, &empty),
        ["tests/test_a.py:16: assertion that cannot fail: `test_many` asserts what is always true"]
    );
}

const JAVASCRIPT: &str = r#"
import { add } from './add';
describe('add', () => {
  // it('is a comment', () => {})
  it('adds', () => {
    const pattern = /it\("x", '/;
    expect(add(1, 2)).toBe(3);
    expect(`${add(1, 1)}`).toEqual('2');
  });
  test.each([[1, 2], [2, 3]])('increments %i', (a, b) => {
    expect(add(a, 1)).toBe(b);
  });
});
"#;

#[test]
fn javascript_tests_are_known_by_name() {
    let path = "src/add.test.ts";
    assert_eq!(edit(path, JAVASCRIPT, JAVASCRIPT), [""; 0]);
    for (from, to, said) in [
        ("it('adds'", "it.skip('adds'", "5: test skipped: `adds` is skipped"),
        ("it('adds'", "xit('adds'", "5: test skipped: `adds` is skipped"),
        ("it('adds'", "it.only('adds'", "5: other tests skipped: only `adds` is run"),
        ("it('adds'", "fit('adds'", "5: other tests skipped: only `adds` is run"),
        ("it('adds'", "it.failing('adds'", "5: failure expected: `adds` is expected to fail"),
        ("test.each", "test.skip.each", "10: test skipped: `increments %i` is skipped"),
        ("describe('add'", "describe.skip('add'", "3: test skipped: all tests of `describe add`"),
        ("describe('add'", "fdescribe('add'", "3: other tests skipped: only `describe add` is run"),
        (
            "    expect(add(1, 2)).toBe(3);\n",
            "",
            "5: assertions removed: `adds` has 1 assertion, and had 2",
        ),
        (
            "expect(add(1, 2)).toBe(3)",
            "expect(add(1, 2)).toBeTruthy()",
            "5: assertion loosened: `adds` asks only whether there is something",
        ),
        (
            "expect(add(1, 2)).toBe(3)",
            "expect(true).toBe(true)",
            "7: assertion that cannot fail: `adds` asserts what is always true",
        ),
    ] {
        assert_eq!(
            edit(path, JAVASCRIPT, &JAVASCRIPT.replace(from, to)),
            [format!("{path}:{said}")],
            "{to}"
        );
    }
    let todo = "describe('add', () => { it.todo('adds'); test.each([[1]])('increments %i', (a, b) => { expect(add(a, 1)).toBe(b); }); });";
    assert_eq!(
        edit(path, JAVASCRIPT, todo),
        [
            "src/add.test.ts:1: test skipped: `adds` is skipped",
            "src/add.test.ts:1: assertions removed: `adds` has 0 assertions, and had 2"
        ]
    );
    assert_eq!(
        edit("src/add.ts", "export const it = 1;", "it.only('x', () => {})"),
        [""; 0],
        "this is no file of tests"
    );
}

const GO: &str = "package m\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatalf(\"no: %d\", 3)\n\t}\n\trequire.Equal(t, 1, one())\n}\n\nfunc TestOther(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) { t.Error(\"x\") })\n}\n\nfunc help(t *testing.T) {}\n";

#[test]
fn go_tests_are_known_by_name() {
    assert_eq!(edit("a_test.go", GO, GO), [""; 0]);
    let skipped = GO.replace("\tif add", "\tt.Skip(\"later\")\n\tif add");
    assert_eq!(
        edit("a_test.go", GO, &skipped),
        ["a_test.go:3: test skipped: `TestAdd` is skipped"]
    );
    let short = GO.replace("\tif add", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tif add");
    assert_eq!(
        edit("a_test.go", GO, &short),
        ["a_test.go:3: test skipped: `TestAdd` is skipped under a condition"]
    );
    let fewer = GO.replace("\trequire.Equal(t, 1, one())\n", "");
    assert_eq!(
        edit("a_test.go", GO, &fewer),
        ["a_test.go:3: assertions removed: `TestAdd` has 1 assertion, and had 2"]
    );
    let gone = GO.replace("func TestOther(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) { t.Error(\"x\") })\n}\n", "");
    assert_eq!(edit("a_test.go", GO, &gone), ["a_test.go:10: test deleted: `TestOther` is gone"]);
    let ignored = format!("//go:build ignore\n\n{GO}");
    assert_eq!(
        edit("a_test.go", GO, &ignored),
        ["a_test.go:1: test skipped: all tests of `the file`"]
    );
}

const JAVA: &str = r"
class AddTest {
    @Test
    void adds() throws Exception {
        assertEquals(3, add(1, 2));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    public void many(int x) {
        assertTrue(x > 0);
    }

    private List<String> help(int a) { return null; }
}
";

#[test]
fn java_tests_are_known_by_name() {
    let path = "src/test/java/AddTest.java";
    assert_eq!(edit(path, JAVA, JAVA), [""; 0]);
    let disabled = JAVA.replace("    @Test\n", "    @Test\n    @Disabled(\"later\")\n");
    assert_eq!(edit(path, JAVA, &disabled), [format!("{path}:5: test skipped: `adds` is skipped")]);
    let class = JAVA.replace("class AddTest", "@Disabled\nclass AddTest");
    assert_eq!(
        edit(path, JAVA, &class),
        [format!("{path}:3: test skipped: all tests of `class AddTest`")]
    );
    let trivial = JAVA.replace("x > 0", "true");
    assert_eq!(
        edit(path, JAVA, &trivial),
        [format!("{path}:11: assertion that cannot fail: `many` asserts what is always true")]
    );
    let gone = JAVA.replace("    @Test\n", "");
    assert_eq!(edit(path, JAVA, &gone), [format!("{path}:4: test deleted: `adds` is gone")]);
}
