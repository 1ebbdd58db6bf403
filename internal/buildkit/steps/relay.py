"""Carries one TCP connection over stdin and stdout. Runs in a container, standard library only.

usage: relay.py HOST PORT   (a "+" on stdout says that the connection is open; an error goes to stderr)
"""

import os
import socket
import sys
import threading


def send():
    while True:
        data = os.read(0, 65536)
        if not data:
            # The other side has closed the connection for good.
            os._exit(0)
        try:
            peer.sendall(data)
        except OSError:
            os._exit(0)


try:
    peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))
except OSError as error:
    sys.exit(str(error))
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
out = sys.stdout.buffer
out.write(b"+")
out.flush()
threading.Thread(target=send, daemon=True).start()
while True:
    try:
        data = peer.recv(65536)
    except OSError:
        data = b""
    if not data:
        os._exit(0)
    out.write(data)
    out.flush()
