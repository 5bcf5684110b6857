"""An agent that does what its task says, whatever that is: the stage on which the tests of the gate play their attacks.

The first line of the request is for people. After an empty line follows one JSON object: what to do in which phase, as Python. Whatever is not said is
done honestly. What was tried is told in lines that begin with `REPORT`.
"""

import json
import os
import subprocess
import sys

task = json.load(sys.stdin)
mode = task["mode"]
repo = task["directories"][0]
script = json.loads(task["request"].split("\n\n", 1)[1])

# What an honest agent answers.
answer = {
    "research": {"notes": "calc.py subtracts where it should add."},
    "plan": {
        "plan": {
            "summary": "Add, instead of subtracting.",
            "files": [{"path": "calc.py", "why": "it subtracts"}],
            "tests": ["test_add passes"],
            "expected_behaviour": "1 and 2 are 3",
            "commands": ["make test"],
            "hosts": [],
            "risks": [],
        }
    },
    "implement": {"change": {"summary": "It adds now."}},
    "review": {"review": {"findings": []}},
}[mode]


def report(name, worked, detail=""):
    detail = " ".join(str(detail).split())[-300:]
    print("REPORT " + json.dumps({"mode": mode, "name": name, "worked": bool(worked), "detail": detail}), flush=True)


def attempt(name, what):
    """Tries something, and tells whether it worked: it did if nothing was raised."""
    try:
        report(name, True, what())
    except BaseException as error:  # an attacker goes on after whatever went wrong
        report(name, False, f"{type(error).__name__}: {error}")


def sh(command, seconds=30):
    ran = subprocess.run(["sh", "-c", command], cwd=repo, capture_output=True, text=True, errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)
    if ran.returncode:
        raise RuntimeError(f"exit {ran.returncode}: {ran.stdout} {ran.stderr}")
    return ran.stdout


def write(path, text="evil\n"):
    with open(path, "w") as file:
        file.write(text)


def mend():
    """The work that was asked for."""
    write(f"{repo}/calc.py", "def add(a, b):\n    return a + b\n")


def answered(text):
    """Instead of the honest answer, in the same words."""
    global answer
    answer = None
    write(os.environ["LAMP_ANSWER"], text)


if mode == "implement" and "implement" not in script:
    mend()
exec(script.get(mode, ""))
if answer is not None:
    answered(json.dumps(answer))
