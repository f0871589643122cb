#!/usr/bin/env python3
"""An agent for Conductor, used by `agent: NAME` in a task.

It writes what it was asked to do into a file; replace `work` by something better. The protocol is in docs/plugins.md.
"""
import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def work(task):
    file = task["id"] + ".txt"
    say(type="tool", name="edit", text=file)
    with open(file, "w") as out:
        out.write(task["words"] + "\n")
    return file + " is written"


say(type="hello", protocol=1, version="0.1.0", capabilities=["agent"])
for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if request.get("type") == "task":
        try:
            say(type="result", ok=True, text=work(request))
        except OSError as error:
            say(type="result", ok=False, text=str(error))
        break
