#!/usr/bin/env python3
"""A verifier for Conductor, used by `verify: ["plugin:NAME"]` in a task.

It finds every line with DO NOT LAND in it. The protocol is in docs/plugins.md.
"""
import json
import os
import sys

MARK = "DO NOT" + " LAND"


def say(**message):
    print(json.dumps(message), flush=True)


def look(folder):
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files:
            path = os.path.join(directory, name)
            try:
                with open(path, errors="replace") as text:
                    for number, line in enumerate(text, 1):
                        if MARK in line:
                            say(type="finding", level="error", file=os.path.relpath(path, folder), line=number,
                                column=line.index(MARK) + 1, code="mark", message="this is not to land")
            except OSError:
                continue


say(type="hello", protocol=1, version="0.1.0", capabilities=["verifier"])
for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if request.get("type") == "verify":
        look(request["directory"])
        say(type="done", ok=True)
