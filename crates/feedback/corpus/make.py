#!/usr/bin/env python3
"""Makes the corpus anew: runs real runners of tests on one small project in many states, and keeps what they said.

    make.py TOOLS [RUNNER...]

TOOLS is a directory in which Python's and node's runners are installed if they are not there; cargo, nextest and go have to be on the
machine. Each file `<runner>.txt` has all states; what each state means is in `../tests/corpus.rs`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ASK = HERE.parent / "src" / "ask"

# What is different from the green state: how a test ends, or that it is not there.
STATES = {
    "green": {},
    "red": {"adds": "fail"},
    "two": {"adds": "fail", "subtracts": "fail"},
    "deleted": {"subtracts": "absent"},
    "gone": {"adds": "absent"},
    "renamed": {"subtracts": "absent", "takes_away": "pass"},
    "skipped": {"adds": "skip"},
    "new": {"extra": "pass"},
    "new_red": {"extra": "fail"},
    "masked": {"adds": "fail", "extra": "fail"},
    "swapped": {"adds": "absent", "extra": "pass"},
    "crashed": {"subtracts": "crash"},
    "broken": {"broken": "yes"},
}
# In the order of the file. `keeps` and `extra` are in files of their own.
GREEN = {"adds": "pass", "subtracts": "pass", "takes_away": "absent", "later": "skip", "keeps": "pass", "extra": "absent"}


def endings(state):
    return {**GREEN, **STATES[state]}


def first_file(ends):
    return [(name, ends[name]) for name in ("adds", "subtracts", "takes_away", "later") if ends[name] != "absent"]


def pytest_tree(ends):
    body = {"pass": "assert 1 + 1 == 2", "fail": "assert 1 + 1 == 3", "crash": "os._exit(3)", "skip": "pass"}
    text = "import os\nimport pytest\n\n"
    for name, end in first_file(ends):
        mark = "@pytest.mark.skip(reason='not today')\n" if end == "skip" else ""
        text += f"\n{mark}def test_{name}():\n    {body[end]}\n"
    text += "\n@pytest.mark.parametrize('by', [2, 3])\ndef test_times(by):\n    assert 2 * by > by\n"
    if "broken" in ends:
        text += "\ndef test_never(:\n"
    files = {"tests/test_calc.py": text, "tests/test_keeps.py": "def test_keeps():\n    assert True\n"}
    if ends["extra"] != "absent":
        files["tests/test_zzz.py"] = f"def test_extra():\n    {body[ends['extra']]}\n"
    return files


def unittest_tree(ends):
    body = {"pass": "self.assertEqual(1 + 1, 2)", "fail": "self.assertEqual(1 + 1, 3)", "crash": "os._exit(3)", "skip": "self.skipTest('not today')"}
    text = "import os\nimport unittest\n\n\nclass TestCalc(unittest.TestCase):\n"
    for name, end in [*first_file(ends), ("times_2", "pass"), ("times_3", "pass")]:
        text += f"    def test_{name}(self):\n        {body[end]}\n\n"
    if "broken" in ends:
        text += "    def test_never(:\n"
    one = "import unittest\n\n\nclass TestMore(unittest.TestCase):\n    def test_{}(self):\n        {}\n"
    files = {"test_calc.py": text, "test_keeps.py": one.format("keeps", body["pass"])}
    if ends["extra"] != "absent":
        files["test_zzz.py"] = one.format("extra", body[ends["extra"]])
    return files


def javascript_tree(ends, head, body, name, skip="test.skip"):
    text = f"{head}\ndescribe('calc', () => {{\n"
    for title, end in [*first_file(ends), ("times 2", "pass"), ("times 3", "pass")]:
        text += f"  {skip if end == 'skip' else 'test'}('{title}', () => {{ {body[end]} }});\n"
    text += "});\n" + ("describe('never', () => {\n" if "broken" in ends else "")
    files = {name.format("calc"): text, name.format("keeps"): f"{head}\ntest('keeps', () => {{ {body['pass']} }});\n"}
    if ends["extra"] != "absent":
        files[name.format("zzz")] = f"{head}\ntest('extra', () => {{ {body[ends['extra']]} }});\n"
    return files


EXPECT = {"pass": "expect(1 + 1).toBe(2);", "fail": "expect(1 + 1).toBe(3);", "crash": "process.kill(process.pid, 'SIGKILL');", "skip": ""}
ASSERT = {"pass": "assert.equal(1 + 1, 2);", "fail": "assert.equal(1 + 1, 3);", "crash": "process.kill(process.pid, 'SIGKILL');", "skip": ""}


def vitest_tree(ends):
    return javascript_tree(ends, "import { describe, expect, test } from 'vitest';", EXPECT, "{}.test.mjs")


def jest_tree(ends):
    return {**javascript_tree(ends, "", EXPECT, "{}.test.js"), "package.json": "{}\n"}


def mocha_tree(ends):
    return javascript_tree(ends, "const assert = require('assert');\nconst test = it;", ASSERT, "test/{}.js", "it.skip")


def node_tree(ends):
    return javascript_tree(ends, "const assert = require('node:assert');\nconst { describe, test } = require('node:test');", ASSERT, "{}.test.js")


def tap_tree(ends, head, body, skip):
    text = f"{head}\n"
    for title, end in [*first_file(ends), ("times", "pass"), ("times", "pass")]:
        text += skip.format(title) if end == "skip" else f"test('{title}', (t) => {{ {body[end]} t.end(); }});\n"
    text += "test('never', (t) => {\n" if "broken" in ends else ""
    files = {"test/calc.js": text, "test/keeps.js": f"{head}\ntest('keeps', (t) => {{ {body['pass']} t.end(); }});\n"}
    if ends["extra"] != "absent":
        files["test/zzz.js"] = f"{head}\ntest('extra', (t) => {{ {body[ends['extra']]} t.end(); }});\n"
    return files


TAP = {"pass": "t.equal(1 + 1, 2);", "fail": "t.equal(1 + 1, 3);", "crash": "process.kill(process.pid, 'SIGKILL');"}


def tape_tree(ends):
    return tap_tree(ends, "const test = require('tape');", TAP, "test('{}', (t) => {{ t.skip('not today'); t.end(); }});\n")


def node_tap_tree(ends):
    return tap_tree(ends, "const { test } = require('tap');", TAP, "test('{}', {{ skip: 'not today' }}, (t) => {{ t.end(); }});\n")


def cargo_tree(ends):
    body = {"pass": "assert_eq!(1 + 1, 2);", "fail": "assert_eq!(1 + 1, 3);", "crash": "std::process::abort();", "skip": ""}
    text = "#[cfg(test)]\nmod tests {\n"
    for name, end in [*first_file(ends), ("times_2", "pass"), ("times_3", "pass")]:
        ignored = "    #[ignore]\n" if end == "skip" else ""
        text += f"    #[test]\n{ignored}    fn {name}() {{\n        {body[end]}\n    }}\n"
    text += "}\n" + ("fn never( {\n" if "broken" in ends else "")
    one = "#[test]\nfn {}() {{\n    {}\n}}\n"
    files = {
        "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n[lib]\ndoctest = false\n[workspace]\n',
        "src/lib.rs": text,
        "tests/keeps.rs": one.format("keeps", body["pass"]),
    }
    if ends["extra"] != "absent":
        files["tests/zzz.rs"] = one.format("extra", body[ends["extra"]])
    return files


def go_tree(ends):
    bodies = {"pass": "", "fail": 'if got := 1 + 1; got != 3 {\n\t\tt.Errorf("got %d, want 3", got)\n\t}', "crash": "os.Exit(3)", "skip": 't.Skip("not today")'}
    uses = '\t_ = os.Args\n'
    text = "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"
    for name, end in [*first_file(ends), ("times_2", "pass"), ("times_3", "pass")]:
        text += f"func Test_{name}(t *testing.T) {{\n{uses}\t{bodies[end]}\n}}\n\n"
    if "broken" in ends:
        text += "func Test_never( {\n"
    one = "package {}\n\nimport \"testing\"\n\nfunc Test_{}(t *testing.T) {{\n\t{}\n}}\n"
    files = {"go.mod": "module example.test/calc\n\ngo 1.19\n", "calc_test.go": text, "more/keeps_test.go": one.format("more", "keeps", "")}
    if ends["extra"] != "absent":
        files["zzz/extra_test.go"] = one.format("zzz", "extra", bodies[ends["extra"]])
    return files


# Runner: its tree, its command, whether it is asked as the platform asks, and a report that it writes by itself.
RUNNERS = {
    "pytest": (pytest_tree, "pytest", False, None),
    "pytest-quiet": (pytest_tree, "pytest -q", False, None),
    "pytest-verbose": (pytest_tree, "pytest -v", False, None),
    "pytest-first": (pytest_tree, "pytest -x", True, None),
    "pytest-xdist": (pytest_tree, "pytest -n 2", False, None),
    "pytest-junit": (pytest_tree, "pytest -q --junitxml=junit.xml", False, "junit.xml"),
    "pytest-asked": (pytest_tree, "pytest -q", True, None),
    "pytest-xdist-asked": (pytest_tree, "pytest -q -n 2", True, None),
    "unittest": (unittest_tree, "python3 -m unittest", False, None),
    "unittest-verbose": (unittest_tree, "python3 -m unittest -v", False, None),
    **{f"vitest-{v}": (vitest_tree, "vitest run", False, None) for v in (1, 2, 3, 4)},
    **{f"vitest-{v}-asked": (vitest_tree, "vitest run", True, None) for v in (1, 2, 3, 4)},
    "jest": (jest_tree, "jest", False, None),
    "jest-asked": (jest_tree, "jest", True, None),
    "mocha": (mocha_tree, "mocha", False, None),
    "mocha-asked": (mocha_tree, "mocha", True, None),
    "node": (node_tree, "node --test", False, None),
    "node-spec": (node_tree, "node --test --test-reporter=spec", False, None),
    "tape": (tape_tree, "tape 'test/*.js'", False, None),
    "tap-16": (node_tap_tree, "tap --no-coverage", False, None),
    "tap-18": (node_tap_tree, "tap --disable-coverage", False, None),
    "cargo": (cargo_tree, "cargo test", False, None),
    "cargo-verbose": (cargo_tree, "cargo test --verbose", True, None),
    "cargo-asked": (cargo_tree, "cargo test", True, None),
    "nextest-asked": (cargo_tree, "cargo nextest run", True, None),
    "go": (go_tree, "go test ./...", False, None),
    "go-json": (go_tree, "go test -json ./...", False, None),
    "go-asked": (go_tree, "go test ./...", True, None),
}


def install(tools):
    tools.mkdir(parents=True, exist_ok=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    if not (tools / "py").exists():
        subprocess.run(["python3", "-m", "venv", tools / "py"], **quiet)
        subprocess.run([tools / "py/bin/pip", "-q", "install", "pytest", "pytest-xdist"], **quiet)
    packages = {**{f"vitest{v}": [f"vitest@{v}"] for v in (1, 2, 3, 4)}, "js": ["jest", "mocha", "tape"], "tap16": ["tap@16"], "tap": ["tap@18"]}
    for name, wanted in packages.items():
        if not (tools / name / "node_modules").exists():
            (tools / name).mkdir(exist_ok=True)
            (tools / name / "package.json").write_text("{}\n")
            subprocess.run(["npm", "install", "--silent", *wanted], cwd=tools / name, **quiet)


def modules(runner):
    name = runner.removesuffix("-asked")
    if name.startswith("vitest-"):
        return name.replace("-", "")
    return {"tap-16": "tap16", "tap-18": "tap", "jest": "js", "mocha": "js", "tape": "js"}.get(name)


def run(runner, state, tools):
    tree, command, asks, report = RUNNERS[runner]
    work, asked = Path("/tmp/lamplighter-corpus/src"), Path("/tmp/lamplighter-corpus/asked")
    shutil.rmtree(work.parent, ignore_errors=True)
    for path, text in tree(endings(state)).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    path = os.environ["PATH"]
    if runner.startswith("pytest"):
        path = f"{tools}/py/bin:{path}"
    if modules(runner):
        (work / "node_modules").symlink_to(tools / modules(runner) / "node_modules")
        path = f"{work}/node_modules/.bin:{path}"
    environment = {k: v for k, v in os.environ.items() if k in ("HOME", "LANG", "RUSTUP_HOME", "CARGO_HOME")}
    environment |= {"PATH": path, "CI": "true", "CARGO_TARGET_DIR": str(tools / "target"), "GOCACHE": str(tools / "go"), "NO_COLOR": "1", "CARGO_INCREMENTAL": "0"}
    argv = ["/bin/sh", "-c", command]
    if asks:
        (asked / "bin").mkdir(parents=True)
        (asked / "out").mkdir()
        for name in ("preload.cjs", "mocha.cjs"):
            shutil.copy(ASK / name, asked / name)
        for name in ("cargo", "go"):
            shutil.copy(ASK / "shim.sh", asked / "bin" / name)
            (asked / "bin" / name).chmod(0o755)
        (asked / "began").write_text("")
        argv = ["/bin/sh", "-c", (ASK / "prelude.sh").read_text(), "sh", str(asked), command]
    try:
        done = subprocess.run(argv, cwd=work, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    except subprocess.TimeoutExpired as late:
        done = subprocess.CompletedProcess(argv, 124, late.stdout or b"", late.stderr or b"")
    written = ""
    if asks:
        script = (ASK / "collect.sh").read_text()
        collected = subprocess.run(["/bin/sh", "-c", script, "sh", str(asked)], cwd=work, env=environment, capture_output=True)
        written = collected.stdout.decode(errors="replace")
    elif report and (work / report).exists():
        written = (work / report).read_text()
    clean = lambda text: neutral(text, tools)
    parts = [("out", done.stdout.decode(errors="replace")), ("err", done.stderr.decode(errors="replace")), ("report", written)]
    said = f"%% {state} {done.returncode}\n"
    for name, text in parts:
        if text:
            said += f"%% {name}\n{clean(text).rstrip()}\n"
    return said


def neutral(text, tools):
    """No places of this machine, and no colours that are not needed."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = text.replace("/tmp/lamplighter-corpus/src", "/src").replace("/tmp/lamplighter-corpus/asked", "/asked")
    text = text.replace(str(tools.resolve()), "/tools").replace(str(tools), "/tools").replace(str(Path.home()), "/home/dev")
    text = re.sub(r'hostname="[^"]*"', 'hostname="host"', text)
    # Frames of runners, of which there are many.
    text = re.sub(r"(\n\s+at [^\n]*(node_modules|node:internal)[^\n]*)+", "", text)
    text = re.sub(r"(\\n\s+at [^\\\"]*(node_modules|node:internal)[^\\\"]*)+", "", text)
    text = re.sub(r"<properties>.*?</properties>", "", text, flags=re.S)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def main():
    tools = Path(sys.argv[1]).absolute()
    install(tools)
    for runner in sys.argv[2:] or RUNNERS:
        text = f"%% command {RUNNERS[runner][1]}\n" + "".join(run(runner, state, tools) for state in STATES)
        (HERE / f"{runner}.txt").write_text(text)
        print(runner, len(text), flush=True)


main()
