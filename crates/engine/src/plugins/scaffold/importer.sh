#!/bin/sh
# An importer for Conductor, used by `conductor import plugin NAME`.
#
# It makes a task of each line of TODO.txt. The protocol is in docs/plugins.md.
quoted() { printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g'; }

echo '{"type":"hello","protocol":1,"version":"0.1.0","capabilities":["importer"]}'
while read -r line; do
  case "$line" in
    *'"type":"import"'*)
      number=0
      if [ -f TODO.txt ]; then
        while read -r todo; do
          number=$((number + 1))
          [ -n "$todo" ] || continue
          text=$(quoted "$todo")
          echo '{"type":"task","id":"todo-'"$number"'","title":"'"$text"'","body":"'"$text"'"}'
        done < TODO.txt
      else
        echo '{"type":"note","text":"there is no TODO.txt here"}'
      fi
      echo '{"type":"done"}' ;;
  esac
done
