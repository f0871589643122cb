#!/bin/sh
# Starts a worker on each of these hosts, over ssh: contrib/workers/ssh.sh HOST...
#
# Run it where the runs are driven, with CONDUCTOR_QUEUE and CONDUCTOR_GIT set (and CONDUCTOR_QUEUE_PASSWORD, where the
# queue has one). The hosts need conductor on the PATH of a login shell. A host that has a worker at work is left as it is.
# Workers end when no run has called for 20 seconds; SLOTS and LABELS are theirs.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 HOST..." >&2; exit 64; }
: "${CONDUCTOR_QUEUE:?is the address of the queue}" "${CONDUCTOR_GIT:?is the address of the git remote}"
slots=${SLOTS:-1} labels=${LABELS:-}

# A word that the other shell reads back as it is.
quoted() {
    printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

for host in "$@"; do
    name=$(printf %s "$host" | sed 's/^.*@//' | tr -c 'A-Za-z0-9._-' - | cut -c1-64)
    # A token is needed once. What is secret goes through the pipe, and is on no command line.
    token=
    if ! ssh "$host" "test -e \$HOME/.conductor/worker/$name/identity.json" < /dev/null; then
        token=$(conductor workers token "$name")
    fi
    {
        printf 'export CONDUCTOR_QUEUE=%s CONDUCTOR_GIT=%s\n' "$(quoted "$CONDUCTOR_QUEUE")" "$(quoted "$CONDUCTOR_GIT")"
        [ -z "${CONDUCTOR_QUEUE_PASSWORD:-}" ] || printf 'export CONDUCTOR_QUEUE_PASSWORD=%s\n' "$(quoted "$CONDUCTOR_QUEUE_PASSWORD")"
        [ -z "$token" ] || printf 'export CONDUCTOR_WORKER_TOKEN=%s\n' "$(quoted "$token")"
        printf 'mkdir -p "$HOME/.conductor"; cd "$HOME" || exit 1\n'
        if [ -n "$token" ]; then who=; else who="--name $name"; fi
        printf 'nohup setsid conductor worker %s --slots %s --labels %s --exit-when-idle' "$who" "$(quoted "$slots")" "$(quoted "$labels")"
        printf ' >> "$HOME/.conductor/worker-%s.log" 2>&1 < /dev/null &\n' "$name"
    } | ssh "$host" 'exec "${SHELL:-/bin/sh}" -l -s'
    echo "$host: worker $name"
done
