//! The agent of most scenes: a program without a model, which does in each phase what the request says.
//!
//! A request is a sentence, and below it parts that begin with `#research`, `#plan`, `#implement` or `#review` and hold a shell script. A part
//! that is left out does what a good agent would: it mends the sum. What people and checks said since is in `$HEARD`, as JSON; what it answers
//! goes to `$LAMP_ANSWER`, if not what it usually does.

/// The program. It says what it heard, so that the transcript has it.
const PROGRAM: &str = r#"
import json, os, re, subprocess, sys
task = json.loads(sys.stdin.readline())
mode, answer, heard = os.environ["LAMP_MODE"], os.environ["LAMP_ANSWER"], os.path.expanduser("~/heard.json")
since = json.dumps({key: task[key] for key in ("guidance", "quotes", "feedback", "conditions")})
with open(heard, "w") as file:
    file.write(since)
usual = {
    "research": {"notes": "sum.py subtracts"},
    "plan": {"plan": {
        "summary": "Add instead of subtracting", "files": [{"path": "sum.py", "why": "it subtracts"}],
        "tests": ["2 and 3 is 5"], "expected_behaviour": "add(2, 3) is 5",
        "commands": ["make test"], "hosts": [], "risks": []}},
    "review": {"review": {"findings": []}},
}
parts = dict(re.findall(r"^#(research|plan|implement|review)\n(.*?)(?=^#|\Z)", task["request"], re.S | re.M))
script = parts.get(mode)
if script is None:
    script = "sed -i 's/a - b/a + b/' sum.py\n" if mode == "implement" else ""
if mode in usual:
    with open(answer, "w") as file:
        json.dump(usual[mode], file)
print(mode, "heard", since, flush=True)
sys.exit(subprocess.run(["sh", "-euc", script], env={**os.environ, "HEARD": heard}).returncode)
"#;

/// An agent's file: its name, and what it has besides the program.
pub(crate) fn file(name: &str, more: &str) -> String {
    let indented = |line: &str| format!("    {line}\n");
    let program: String = PROGRAM.trim().lines().map(indented).collect();
    format!(
        "lamp: {{ version: 1, name: {name} }}\nagent:\n  driver: command\n  command: |\n    \
         exec python3 -c \"$(cat <<'END'\n{program}    END\n    )\"\n{more}"
    )
}

/// All that scenes ask for, by name: what is beside `lamp.yaml`.
pub(crate) fn files() -> Vec<(&'static str, String)> {
    let usual = "sandbox: { repositories: [{ name: any }] }\n";
    let small = "sandbox: { repositories: [{ name: any }], compute: { memory: 256MiB } }\n";
    let small_disk = "sandbox: { repositories: [{ name: any }], compute: { disk: 256MiB } }\n";
    let greedy = "echo hungry; python3 -c 'x = bytearray(1 << 30); print(len(x))'";
    let greedy = format!("{small}checks: [{{ name: tests, run: \"{greedy}\" }}]\n");
    // The shortest that there is.
    let hasty = format!("{usual}plan: {{ timeout: 1m }}\n");
    // A check that measures what it runs, as many do.
    let measuring = "make test && printf 'SF:sum.py\\\\nDA:2,1\\\\nend_of_record\\\\n' > lcov.info";
    let measuring = format!("{usual}checks: [{{ name: tests, run: \"{measuring}\" }}]\n");
    let stranger = format!("{usual}checks: [{{ name: tests, run: no-such-program --all }}]\n");
    let setup = crate::leftovers::SETUP;
    let installing =
        format!("sandbox: {{ repositories: [{{ name: any }}], image: {{ setup: '{setup}' }} }}\n");
    vec![
        ("actor", file("actor", usual)),
        ("installing", file("installing", &installing)),
        ("small", file("small", small)),
        ("greedy", file("greedy", &greedy)),
        ("hasty", file("hasty", &hasty)),
        ("measuring", file("measuring", &measuring)),
        ("stranger", file("stranger", &stranger)),
        ("small-disk", file("small-disk", small_disk)),
    ]
}
