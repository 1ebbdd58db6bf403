"""Opens connections and runs commands in a container for the one who started it. Python >= 3.8, standard library only.

It is the accepting side of a yamux session (github.com/hashicorp/yamux, spec.md) over stdin and stdout. Each stream
begins with a line of JSON, and the answer is "+" or the reason why not:

  {"host": "127.0.0.1", "port": 8888}   then the stream is the TCP connection
  {"args": [...], "env": {...}, "cwd": "/"}   then stdin goes in as chunks (u32 length, data; length 0 is its end), and
      what is printed comes back as chunks (u8 1 or 2, u32 length, data), and last u8 0, u32 4, i32 exit status

A stream that the client closes takes its connection or command with it. The agent reads its stdin whatever they do: the
daemon has one way in for all processes of a container, which must never be blocked. It ends with stdin, with status 0:
any other would be the end of the container.
"""

import collections
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

DATA, WINDOW, PING = 0, 1, 2
SYN, ACK, FIN, RST = 1, 2, 4, 8
HEADER = struct.Struct(">BBHII")
INITIAL = 256 * 1024

writing = threading.Lock()
streams = {}


def send(kind, flags, number, length, data=b""):
    frame = memoryview(HEADER.pack(0, kind, flags, number, length) + data)
    with writing:
        while frame:
            frame = frame[os.write(1, frame):]


class Stream:
    def __init__(self, number):
        self.number = number
        self.changed = threading.Condition()
        self.waiting = collections.deque()
        # credit is what may be sent to the client; closed tells that the client takes no more.
        self.credit, self.closed = INITIAL, False
        self.rest = b""
        # end is what ends the work of the stream when the client closes it.
        self.end = None
        send(WINDOW, ACK, number, 0)
        threading.Thread(target=self.run, daemon=True).start()

    def take(self, flags, data, credit):
        with self.changed:
            if data:
                self.waiting.append(data)
            self.credit += credit
            if flags & (FIN | RST):
                self.closed = True
                if self.end:
                    self.end()
            self.changed.notify_all()

    def ending(self, end):
        """Has end called when the client closes the stream, or at once if it has."""
        with self.changed:
            self.end = end
            if self.closed:
                end()

    def next(self):
        """What the client sent, or b"" when it has closed the stream."""
        with self.changed:
            while not self.waiting and not self.closed:
                self.changed.wait()
            data = b"" if self.closed else self.waiting.popleft()
        # What is taken may be sent anew.
        if data:
            send(WINDOW, 0, self.number, len(data))
        return data

    def answer(self, data):
        """Sends to the client as it grants; false if it takes no more."""
        while data:
            with self.changed:
                while not self.credit and not self.closed:
                    self.changed.wait()
                if self.closed:
                    return False
                part = data[: self.credit]
                self.credit -= len(part)
            send(DATA, 0, self.number, len(part), part)
            data = data[len(part):]
        return True

    def read(self, size):
        """Exactly so many bytes from the client, or fewer when it has closed the stream."""
        while len(self.rest) < size:
            data = self.next()
            if not data:
                break
            self.rest += data
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def line(self):
        while b"\n" not in self.rest:
            data = self.next()
            if not data:
                return b""
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def run(self):
        try:
            asked = json.loads(self.line())
            if "args" in asked:
                command(self, **asked)
            else:
                connection(self, **asked)
        except Exception as error:
            self.answer((getattr(error, "strerror", None) or str(error) or type(error).__name__).encode())
        send(DATA, FIN, self.number, 0)
        while self.next():
            pass
        streams.pop(self.number, None)


def connection(stream, host, port):
    with socket.create_connection((host, port)) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def end():
            # It wakes those who wait for the peer.
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

        def forward():
            data, stream.rest = stream.rest, b""
            try:
                while data or not stream.closed:
                    if data:
                        peer.sendall(data)
                    data = stream.next()
                    if not data:
                        return
            except OSError:
                # The peer is gone, which the other direction tells.
                pass

        stream.ending(end)
        stream.answer(b"+")
        threading.Thread(target=forward, daemon=True).start()
        while True:
            try:
                data = peer.recv(65536)
            except OSError:
                data = b""
            if not data or not stream.answer(data):
                return


def command(stream, args, env, cwd):
    process = subprocess.Popen(
        args, env=env, cwd=cwd, start_new_session=True, bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )

    def end():
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass

    def feed():
        with process.stdin as pipe:
            while True:
                length = int.from_bytes(stream.read(4), "big")
                data = stream.read(length)
                if not data:
                    return
                try:
                    while data:
                        data = data[pipe.write(data):]
                except OSError:
                    # It has ended, or does not want it.
                    pass

    def tell(kind, pipe):
        while True:
            data = pipe.read(65536)
            if not data or not stream.answer(struct.pack(">BI", kind, len(data)) + data):
                return

    stream.ending(end)
    stream.answer(b"+")
    threading.Thread(target=feed, daemon=True).start()
    telling = [threading.Thread(target=tell, args=which, daemon=True) for which in ((1, process.stdout), (2, process.stderr))]
    for thread in telling:
        thread.start()
    for thread in telling:
        thread.join()
    code = process.wait()
    stream.end = None
    stream.answer(struct.pack(">BIi", 0, 4, code if code >= 0 else 128 - code))


while True:
    header = sys.stdin.buffer.read(HEADER.size)
    if len(header) < HEADER.size:
        os._exit(0)
    _, kind, flags, number, length = HEADER.unpack(header)
    if kind == PING:
        if flags & SYN:
            send(PING, ACK, 0, length)
        continue
    data = sys.stdin.buffer.read(length) if kind == DATA else b""
    if kind in (DATA, WINDOW):
        if flags & SYN:
            streams[number] = Stream(number)
        if number in streams:
            streams[number].take(flags, data, length if kind == WINDOW else 0)
