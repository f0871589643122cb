#!/bin/sh
# Starts N workers as a job array of Slurm: contrib/workers/slurm.sh N [further arguments of sbatch]
#
# Run it where the runs are driven, on a file system that the nodes share, with CONDUCTOR_QUEUE and CONDUCTOR_GIT set (and
# CONDUCTOR_QUEUE_PASSWORD, where the queue has one). Each worker lets itself in with a token of its own, and ends when no run
# has called for 20 seconds; SLOTS and LABELS are theirs. Nothing secret is on a command line or in Slurm's
# records: it is in a folder of the state directory, which may be removed when the jobs are over.
set -eu

count=${1:-}
case $count in '' | *[!0-9]* | 0) echo "usage: $0 N [further arguments of sbatch]" >&2; exit 64 ;; esac
shift
: "${CONDUCTOR_QUEUE:?is the address of the queue}" "${CONDUCTOR_GIT:?is the address of the git remote}"

umask 077
folder=$(mktemp -d "${CONDUCTOR_HOME:-$HOME/.conductor}/slurm-XXXXXX")
printf '%s' "$CONDUCTOR_QUEUE" > "$folder/queue"
printf '%s' "$CONDUCTOR_GIT" > "$folder/git"
printf '%s' "${CONDUCTOR_QUEUE_PASSWORD:-}" > "$folder/password"
printf '%s' "${SLOTS:-1}" > "$folder/slots"
printf '%s' "${LABELS:-}" > "$folder/labels"
number=1
while [ "$number" -le "$count" ]; do
    conductor workers token "slurm-${folder##*-}-$number" > "$folder/token-$number"
    number=$((number + 1))
done

exec sbatch --parsable --array="1-$count" --job-name=conductor-worker --output="$folder/%a.log" \
    --signal=B:TERM@120 --export="PATH,HOME,FOLDER=$folder" "$@" \
    "$(dirname "$0")/worker.sbatch"
