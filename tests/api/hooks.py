"""What schemathesis cannot know by itself: how lines of JSON are read, and a task that this server can work on.

It also counts. A run in which nothing but refusals was heard proves little, so the calls that were answered with success are written down,
and those that were told to try again (503); `scripts/api` looks at their numbers.
"""

import atexit
import json
import os
import pathlib
import threading

import schemathesis
from hypothesis import strategies

PLACE = pathlib.Path(os.environ["API_PLACE"])

lock = threading.Lock()
played: dict[str, int] = {}
succeeded: set[str] = set()
busy: dict[str, int] = {}
wishes = 0


def name(case):
    return case.operation.definition.raw["operationId"]


@schemathesis.deserializer("application/x-ndjson")
def lines_of_json(context, response):
    """The document describes one line. The last is the one that says how it ended."""
    return json.loads(response.content.splitlines()[-1])


# Archives: nothing, a few blocks of zeros, which is an empty one, and bytes that are none.
schemathesis.openapi.media_type(
    "application/x-tar",
    strategies.one_of(strategies.just(b""), strategies.just(bytes(1024)), strategies.binary(max_size=2048)),
)


def written_plainly(value):
    """JSON Schema takes `5.0` for a whole number. We read numbers as they are written, and refuse it with a sentence."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [written_plainly(item) for item in value]
    if isinstance(value, dict):
        return {key: written_plainly(item) for key, item in value.items()}
    return value


@schemathesis.hook
def map_body(context, body):
    return written_plainly(body)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A tenth of the right wishes for a task name what is there: the agent and the repository of this server.

    Nobody packs a whole computer: all of the host's programs are gigabytes, and what the kernel makes up in `/proc` ends for nobody.
    """
    global wishes
    if name(case) == "files_tar_out" and (case.query or {}).get("path") == "/":
        case.query["path"] = "/etc"
    if name(case) != "tasks_begin" or not case.meta.generation.mode.is_positive:
        return
    with lock:
        wishes += 1
        if wishes % 10 != 0:
            return
    case.body["agent"] = "mender"
    case.body["repositories"] = [{"name": "sample", "url": str(PLACE / "sample")}]
    for key in ("variants", "model", "parallel"):
        case.body.pop(key, None)


@schemathesis.hook
def after_call(context, case, response):
    with lock:
        played[name(case)] = played.get(name(case), 0) + 1
        if 200 <= response.status_code < 300:
            succeeded.add(name(case))
        if response.status_code == 503:
            busy[name(case)] = busy.get(name(case), 0) + 1


@atexit.register
def tell():
    (PLACE / "played.json").write_text(json.dumps({"played": played, "succeeded": sorted(succeeded), "busy": busy}))
