#!/bin/sh
# Runs a test binary on a kernel of its own that has control groups of version 2 with all controllers, for machines that have
# them not, or not for us. It needs no rights and no network: user-mode Linux (Debian: user-mode-linux) is a program.
# The disk is this machine's; /tmp and /run are its own. It is root in there; with `-u` it is an ordinary user with a control
# group that is its own to divide.
#
#   contrib/limits-on-v2.sh [-u] target/debug/deps/conductor_engine-… process::limits --test-threads=1
set -eu
command -v linux.uml >/dev/null || { echo "user-mode Linux (linux.uml) is not installed" >&2; exit 2; }
as=
[ "${1:-}" = -u ] && { as="setpriv --reuid 65534 --regid 65534 --clear-groups"; shift; }
[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
binary=$(realpath "$1")
shift
init=$(mktemp /var/tmp/limits-on-v2.XXXXXX)
trap 'rm -f "$init"' EXIT
cat >"$init" <<INIT
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 groups /sys/fs/cgroup
echo "+memory +pids +cpu" >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/own && chown -R 65534:65534 /sys/fs/cgroup/own
cp "$binary" /tmp/tests && chmod 755 /tmp/tests && cd /tmp
if [ -n "$as" ]; then
    sh -c 'echo \$\$ >/sys/fs/cgroup/own/cgroup.procs; exec $as /tmp/tests $*'
else
    /tmp/tests $*
fi
echo "the tests ended with \$?"
echo o >/proc/sysrq-trigger
sleep 5
INIT
chmod 755 "$init"
said=$(mktemp)
linux.uml mem=1500M rootfstype=hostfs rw init="$init" con=null con0=fd:0,fd:1 </dev/null | tee "$said"
grep -q "the tests ended with 0" "$said" && rm -f "$said"
