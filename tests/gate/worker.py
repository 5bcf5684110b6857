"""An agent that speaks ACP and asks a model: it mends the sums, tells of commands, and spends money, as the marks in its prompt say.

`TELL[[make test]]` is a command that it says it ran; `ASK[[3]]` is how often it asks its model. `UNUSABLE[[]]` is an answer that nobody can read, and
`WAIT[[]]` that it never ends. Once somebody says `keep to the plan` it does, and only mends the sums.
"""

import json
import os
import re
import sys
import threading
import urllib.request


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(news, **more):
    say({"method": "session/update", "params": {"sessionId": "one", "update": {"sessionUpdate": news, **more}}})


def model():
    body = {"model": "gpt-5-pro", "messages": [{"role": "user", "content": "hello"}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["LAMP_MODEL_KEY"]}
    request = urllib.request.Request(os.environ["LAMP_MODEL_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
    try:
        urllib.request.urlopen(request, timeout=50).read()
    except OSError as error:
        print(error, file=sys.stderr)


def turn(prompt):
    if "keep to the plan" in prompt:
        prompt = ""
    for number, command in enumerate(re.findall(r"TELL\[\[(.*?)\]\]", prompt)):
        update("tool_call", toolCallId=str(number), title=command, kind="execute", status="completed", rawInput={"command": command})
    with open("/workspace/sums/calc.py", "w") as file:
        file.write("def add(a, b):\n    return a + b\n")
    asked = re.search(r"ASK\[\[(\d+)\]\]", prompt)
    for _ in range(int(asked[1]) if asked else 1):
        model()
    if "WAIT[[" in prompt:
        update("agent_message_chunk", content={"type": "text", "text": f"I wait for {40 + 2} years."})
        threading.Event().wait()
    text = "```lamp-answer\n{\"plan\": 1}\n```" if "UNUSABLE[[" in prompt or "could not be" in prompt else "It adds now."
    update("agent_message_chunk", content={"type": "text", "text": text})


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        say({"id": number, "result": {"sessionId": "one"}})
    elif method == "session/prompt":
        turn(json.dumps(message["params"]))
        say({"id": number, "result": {"stopReason": "end_turn"}})
