#!/bin/sh
# An agent for Conductor, used by `agent: NAME` in a task.
#
# It writes what it was asked to do into a file; replace that by something better. The protocol is in docs/plugins.md.
echo '{"type":"hello","protocol":1,"version":"0.1.0","capabilities":["agent"]}'
while read -r line; do
  case "$line" in
    *'"type":"task"'*)
      id=$(printf '%s\n' "$line" | sed 's/.*"id":"\([A-Za-z0-9._-]*\)","words".*/\1/')
      echo '{"type":"tool","name":"edit","text":"'"$id"'.txt"}'
      if printf '%s\n' "$line" > "$id.txt"; then
        echo '{"type":"result","ok":true,"text":"'"$id"'.txt is written"}'
      else
        echo '{"type":"result","ok":false,"text":"'"$id"'.txt cannot be written"}'
      fi
      exit 0 ;;
  esac
done
