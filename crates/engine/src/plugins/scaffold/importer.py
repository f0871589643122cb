#!/usr/bin/env python3
"""An importer for Conductor, used by `conductor import plugin NAME`.

It makes a task of each line of TODO.txt. The protocol is in docs/plugins.md.
"""
import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def tasks():
    try:
        with open("TODO.txt") as todo:
            lines = [line.strip() for line in todo]
    except FileNotFoundError:
        say(type="note", text="there is no TODO.txt here")
        return
    for number, line in enumerate(lines, 1):
        if line:
            say(type="task", id="todo-%d" % number, title=line, body=line)


say(type="hello", protocol=1, version="0.1.0", capabilities=["importer"])
for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if request.get("type") == "import":
        tasks()
        say(type="done")
