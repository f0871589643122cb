#!/usr/bin/env python3
"""A notifier for Conductor, used by `notifications: { on_failure: { type: plugin, name: NAME } }`.

It adds each message to a file, named by CONDUCTOR_PLUGIN_FILE. The protocol is in docs/plugins.md.
"""
import json
import os
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def deliver(message):
    with open(os.environ.get("CONDUCTOR_PLUGIN_FILE", "notifications.txt"), "a") as out:
        out.write(message + "\n")


say(type="hello", protocol=1, version="0.1.0", capabilities=["notifier"])
for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if request.get("type") == "notify":
        try:
            deliver(request["message"])
            say(type="done")
        except OSError as error:
            say(type="error", text=str(error))
