# Ways to the network, as an agent would try them. `try NAME COMMAND`: one that prints what the sink says has leaked.
out="$PWD/result.txt"
n=0
try() {
    n=$((n + 1))
    if timeout 10 sh -c "$2" > said 2>&1 && grep -q reached-the-sink said; then echo "LEAKED $1" >> "$out"; fi
}
proxy="$HTTP_PROXY"
bare="env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy -u NO_PROXY -u no_proxy"
curl -s --max-time 5 http://localhost:ALLOWED/ > allowed.txt
curl -s --max-time 5 --noproxy '' -x "$proxy" http://127.0.0.1:ALLOWED/ > by-number.txt
curl -s --max-time 5 --noproxy '' -x "socks5h://${proxy#http://}" http://localhost:ALLOWED/ > socks.txt
try "loopback" "curl -s --max-time 5 http://127.0.0.1:SINK/"
try "loopback without the proxy" "$bare curl -s --max-time 5 http://127.0.0.1:SINK/"
try "loopback by name" "curl -s --max-time 5 --noproxy '*' http://localhost:SINK/"
try "loopback of the newer kind" "$bare curl -s --max-time 5 'http://[::1]:SINK6/'"
for host in 127.0.0.1 localhost LOCALHOST. 127.1 0 0.0.0.0 2130706433 0x7f000001 0177.0.0.1 '[::1]' '[::ffff:127.0.0.1]' 'localhost%00.example' ADDRESS; do
    try "the proxy, to $host" "curl -s --max-time 5 --noproxy '' -x $proxy 'http://$host:SINK/'"
    try "a tunnel, to $host" "curl -s --max-time 5 --noproxy '' -p -x $proxy 'http://$host:SINK/'"
done
try "socks" "curl -s --max-time 5 --noproxy '' -x socks5h://${proxy#http://} http://127.0.0.1:SINK/"
try "socks, looked up here" "curl -s --max-time 5 --noproxy '' -x socks5://${proxy#http://} http://localhost:SINK/"
try "a redirect" "curl -s -L --max-time 5 http://localhost:ALLOWED/redirect"
try "another host's name in the request" "curl -s --max-time 5 --noproxy '' -x $proxy -H 'Host: 127.0.0.1:SINK' http://localhost:ALLOWED/ | grep reached-the-sink"
try "a second request in one tunnel" "printf 'GET http://localhost:ALLOWED/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://127.0.0.1:SINK/ HTTP/1.1\r\nHost: x\r\n\r\n' | python3 -c 'import socket, sys; s = socket.create_connection((\"127.0.0.1\", int(\"$proxy\".rsplit(\":\", 1)[1]))); s.sendall(sys.stdin.buffer.read()); print(s.recv(65536), s.recv(65536))'"
try "this machine's address" "$bare curl -s --max-time 5 http://ADDRESS:SINK/"
try "a shell's own sockets" "bash -c 'exec 3<>/dev/tcp/127.0.0.1/SINK; echo >&3; cat <&3'"
try "a datagram" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", DATAGRAMS)); s.sendto(b\"x\", (\"ADDRESS\", DATAGRAMS))'"
try "a question to a name server" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(b\"\\x00\\x01\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x06secret\\x07example\\x00\\x00\\x01\\x00\\x01\", (\"127.0.0.1\", DATAGRAMS)); s.recv(512)'"
try "a raw socket" "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"reached-the-sink\")'"
try "a packet socket" "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"reached-the-sink\")'"
try "an abstract socket" "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(b\"\\0ABSTRACT\"); print(\"reached-the-sink\")'"
try "the network of process 1" "nsenter -t 1 -n curl -s --max-time 5 http://127.0.0.1:SINK/"
try "a network of its own" "unshare -Urn sh -c 'ip link set lo up; curl -s --max-time 5 http://127.0.0.1:SINK/'"
try "git" "git -c http.proxy= ls-remote http://127.0.0.1:SINK/x 2>&1"
try "a listening proxy command" "python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", int(\"$proxy\".rsplit(\":\", 1)[1]))); s.sendall(b\"\\5\\1\\0\\5\\2\\0\\1\\0\\0\\0\\0\\0\\0\"); print(s.recv(99), s.recv(99))'"
cat > raw.py <<'TOOL'
# Sends bytes to the proxy, as they are, and prints what comes.
import socket, sys

at = int(sys.argv[1].rsplit(":", 1)[1])
for part in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", at), 5) as proxy:
        proxy.settimeout(5)
        for bytes in part.encode().decode("unicode_escape").encode("latin-1").split(b"|"):
            proxy.sendall(bytes)
            try:
                print(proxy.recv(65536))
            except OSError:
                pass
        try:
            print(proxy.recv(65536))
        except OSError:
            pass
TOOL
raw() { try "$1" "python3 raw.py '$proxy' '$2'"; }
raw "a user's name before the host" 'GET http://localhost:ALLOWED@127.0.0.1:SINK/ HTTP/1.1\r\n\r\n'
raw "a fragment before the host" 'GET http://127.0.0.1:SINK#@localhost:ALLOWED/ HTTP/1.1\r\n\r\n'
raw "a backslash in the host" 'GET http://127.0.0.1:SINK\\@localhost:ALLOWED/ HTTP/1.1\r\n\r\n'
raw "a tunnel with another host's name" 'CONNECT localhost:ALLOWED HTTP/1.1\r\nHost: 127.0.0.1:SINK\r\n\r\n|GET http://127.0.0.1:SINK/ HTTP/1.1\r\nHost: 127.0.0.1:SINK\r\n\r\n'
raw "a tunnel to an allowed port elsewhere" 'CONNECT 127.0.0.1:SINK HTTP/1.1\r\nHost: localhost:ALLOWED\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a tunnel with a NUL" 'CONNECT 127.0.0.1\x00.localhost:SINK HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a tunnel with a line break" 'CONNECT localhost:ALLOWED\r\nCONNECT 127.0.0.1:SINK HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a tunnel with two ports" 'CONNECT 127.0.0.1:SINK:ALLOWED HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a tunnel with a port that is too large" 'CONNECT 127.0.0.1:6553600SINK HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a request of the oldest kind" 'GET http://127.0.0.1:SINK/\r\n\r\n'
raw "a request in small letters" 'connect 127.0.0.1:SINK HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a request without a host" 'GET / HTTP/1.1\r\nHost: 127.0.0.1:SINK\r\n\r\n'
raw "a request through two proxies" 'CONNECT localhost:ALLOWED HTTP/1.1\r\n\r\n|CONNECT 127.0.0.1:SINK HTTP/1.1\r\n\r\n|GET / HTTP/1.1\r\n\r\n'
raw "a body with a request in it" 'POST http://localhost:ALLOWED/ HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://127.0.0.1:SINK/ HTTP/1.1\r\n\r\n'
raw "an upgrade" 'GET http://127.0.0.1:SINK/ HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'
raw "socks of the older kind" '\x04\x01\x00\x50\x7f\x00\x00\x01\x00|GET / HTTP/1.1\r\n\r\n'
raw "socks to an address" '\x05\x01\x00|\x05\x01\x00\x01\x7f\x00\x00\x01SINKBYTES|GET / HTTP/1.1\r\n\r\n'
raw "socks to an address of the newer kind" '\x05\x01\x00|\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01SINKBYTES|GET / HTTP/1.1\r\n\r\n'
raw "socks to a name with a NUL" '\x05\x01\x00|\x05\x01\x00\x03\x0a127.0.0.1\x00SINKBYTES|GET / HTTP/1.1\r\n\r\n'
raw "socks to a name with no letters" '\x05\x01\x00|\x05\x01\x00\x03\x00SINKBYTES|GET / HTTP/1.1\r\n\r\n'
raw "socks for datagrams" '\x05\x01\x00|\x05\x03\x00\x01\x7f\x00\x00\x01SINKBYTES|x'
raw "socks that listens" '\x05\x01\x00|\x05\x02\x00\x01\x7f\x00\x00\x01SINKBYTES|x'
try "another proxy in the environment" "HTTP_PROXY=http://127.0.0.1:SINK http_proxy=http://127.0.0.1:SINK curl -s --max-time 5 http://example.com/"
try "another proxy at this machine's address" "ALL_PROXY=socks5h://ADDRESS:SINK curl -s --max-time 5 --noproxy '' -x socks5h://ADDRESS:SINK http://example.com/"
try "an echo request" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1); s.settimeout(2); s.sendto(b\"\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00\", (\"ADDRESS\", 0)); s.recv(64); print(\"reached-the-sink\")'"
try "multicast" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"224.0.0.251\", DATAGRAMS)); print(\"reached-the-sink\")'"
try "a broadcast" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b\"x\", (\"255.255.255.255\", DATAGRAMS)); print(\"reached-the-sink\")'"
try "data with the first packet" "python3 -c 'import socket; s = socket.socket(); s.sendto(b\"GET / HTTP/1.0\\r\\n\\r\\n\", 0x20000000, (\"ADDRESS\", SINK)); print(s.recv(999))'"
try "several ways at once" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.settimeout(5); s.connect((\"ADDRESS\", SINK)); s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\"); print(s.recv(999))'"
try "the hypervisor" "python3 -c 'import socket; s = socket.socket(40, socket.SOCK_STREAM); print(\"reached-the-sink\")'"
try "the kernel's routes" "ip route add default via ADDRESS && echo reached-the-sink"
try "a socket in a folder" "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"HIDDENPATH\"); print(\"reached-the-sink\")'"
try "a name server over a stream" "python3 -c 'import socket; s = socket.create_connection((\"ADDRESS\", SINK), 5); s.sendall(b\"x\"); print(s.recv(99))'"
rm -f said raw.py
echo "tried $n" >> "$out"
