# Has the network namespace it is started in a name server and a web server on loopback, then runs a program there. What
# was asked for and who came is written down in a folder.
import fcntl, os, socket, struct, subprocess, sys, threading

folder, program = sys.argv[1], sys.argv[2:]
asked = open(f"{folder}/asked.txt", "a", buffering=1)
reached = open(f"{folder}/reached.txt", "a", buffering=1)

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 1))
with open(f"{folder}/resolv.conf", "w") as text:
    text.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
subprocess.run(["mount", "--bind", f"{folder}/resolv.conf", "/etc/resolv.conf"], check=True)

OLDER, NEWER, ALIAS = 1, 28, 5
PUBLIC = "93.184.216.34"
times = 0


def answers(name, kind):
    global times
    here, four = "127.0.0.1", kind == OLDER
    if name == "newer.example":
        return [(NEWER, socket.inet_pton(socket.AF_INET6, "::ffff:7f00:1"))] if kind == NEWER else []
    if name == "alias.example":
        alias = b"\x07private\x07example\x00"
        return [(ALIAS, alias)] + ([(OLDER, socket.inet_aton(here))] if four else [])
    if not four:
        return []
    if name == "changing.example":
        times += 1
        return [(OLDER, socket.inet_aton(PUBLIC if times % 2 else here))]
    known = {"private.example": [here], "both.example": [PUBLIC, here], "metadata.example": ["169.254.169.254"]}
    return [(OLDER, socket.inet_aton(one)) for one in known.get(name, [PUBLIC])]


def serve_names(server):
    while True:
        question, client = server.recvfrom(512)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
            at += 1 + question[at]
        kind = struct.unpack(">H", question[at + 1 : at + 3])[0]
        name = ".".join(labels).lower()
        asked.write(name + "\n")
        found = answers(name, kind)
        reply = question[:2] + b"\x85\x80" + struct.pack(">HHHH", 1, len(found), 0, 0) + question[12 : at + 5]
        owner = b"\xc0\x0c"
        for kind, data in found:
            reply += owner + struct.pack(">HHIH", kind, 1, 0, len(data)) + data
            owner = data if kind == ALIAS else owner
        server.sendto(reply, client)


def serve_pages(server):
    while True:
        client, address = server.accept()
        reached.write(f"{address}\n")
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\nreached-the-sink")
        client.close()


names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
pages = socket.create_server(("", 80))
threading.Thread(target=serve_names, args=[names], daemon=True).start()
threading.Thread(target=serve_pages, args=[pages], daemon=True).start()
sys.exit(subprocess.run(program).returncode)
