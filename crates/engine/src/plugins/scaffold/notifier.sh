#!/bin/sh
# A notifier for Conductor, used by `notifications: { on_failure: { type: plugin, name: NAME } }`.
#
# It adds each message to a file, named by CONDUCTOR_PLUGIN_FILE. The protocol is in docs/plugins.md.
echo '{"type":"hello","protocol":1,"version":"0.1.0","capabilities":["notifier"]}'
while read -r line; do
  case "$line" in
    *'"type":"notify"'*)
      message=$(printf '%s\n' "$line" | sed 's/.*"message":"\([^"]*\)".*/\1/')
      if printf '%s\n' "$message" >> "${CONDUCTOR_PLUGIN_FILE:-notifications.txt}"; then
        echo '{"type":"done"}'
      else
        echo '{"type":"error","text":"the file cannot be written"}'
      fi ;;
  esac
done
