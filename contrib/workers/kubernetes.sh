#!/bin/sh
# Starts N workers as a Job of Kubernetes: contrib/workers/kubernetes.sh N IMAGE [further arguments of kubectl]
#
# Run it where the runs are driven, with CONDUCTOR_QUEUE and CONDUCTOR_GIT set (and CONDUCTOR_QUEUE_PASSWORD, where the queue
# has one). IMAGE is one with conductor and the agents (contrib/docker). Each pod lets itself in with a token of its own
# out of a Secret that goes with the Job, and ends when no run has called for 20 seconds; SLOTS and LABELS are theirs.
set -eu

count=${1:-} image=${2:-}
case $count in '' | *[!0-9]* | 0) image= ;; esac
[ -n "$image" ] || { echo "usage: $0 N IMAGE [further arguments of kubectl]" >&2; exit 64; }
shift 2
: "${CONDUCTOR_QUEUE:?is the address of the queue}" "${CONDUCTOR_GIT:?is the address of the git remote}"

umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=conductor-worker-$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
printf '%s' "$CONDUCTOR_QUEUE" > "$folder/queue"
printf '%s' "$CONDUCTOR_GIT" > "$folder/git"
printf '%s' "${CONDUCTOR_QUEUE_PASSWORD:-}" > "$folder/password"
number=0
while [ "$number" -lt "$count" ]; do
    conductor workers token "$name-$number" > "$folder/token-$number"
    number=$((number + 1))
done

# The pods wait until the Secret is there; it belongs to the Job, so that it goes with it.
replaced() {
    printf %s "$1" | sed 's/[&|\\]/\\&/g'
}
sed -e "s|__NAME__|$name|g" -e "s|__COUNT__|$count|g" -e "s|__IMAGE__|$(replaced "$image")|g" \
    -e "s|__SLOTS__|${SLOTS:-1}|g" -e "s|__LABELS__|$(replaced "${LABELS:-}")|g" \
    "$(dirname "$0")/kubernetes-job.yaml" > "$folder/job.yaml"
kubectl create --filename "$folder/job.yaml" "$@"
uid=$(kubectl get "job/$name" --output 'jsonpath={.metadata.uid}' "$@")
rm "$folder/job.yaml"
kubectl create secret generic "$name" --from-file "$folder" "$@"
kubectl patch "secret/$name" "$@" --patch \
    "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"$name\",\"uid\":\"$uid\"}]}}"
