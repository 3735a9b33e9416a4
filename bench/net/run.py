#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Servers side by side under the same load, in alternating runs: prints a table of medians.

  run.py echo --load build/bench/bench/net/echo_load \\
      --server epoll=build/bench/bench/net/epoll_echo --server go=build/go_echo --against go
  run.py http --server epoll=... --server go=... --server net/http=... --against go

  run.py tls --load build/bench/bench/net/tls_load \\
      --server thrum=build/bench/bench/net/thrum_tls_echo --server go=build/go_tls_echo --against go

  run.py mixed --load build/bench/bench/net/mixed_load --procs 2 \\
      --server thrum=build/bench/bench/net/thrum_mixed --server go=build/go_mixed --against go

Builds nothing. Servers are programs of this folder and of bench/go/net, or any that take --port and
--procs and print "listening on PORT" or "listening on HOST:PORT"; a server's path may be followed
by arguments of its own. For tls they take --cert and --key, too, and TLS 1.3 with AES-128-GCM is spoken
after a handshake before the warm-up. The load is echo_load for echo, tls_load for tls, mixed_load for mixed, where one
connection lets its goroutine compute and the others are measured; for http it is wrk (from the PATH), which asks for /hello.

With --procs 1 the server has CPU 0 and the client CPU 1; with more nobody is pinned. Each run
starts a server anew, warms it up, and measures. The server's CPU time is what the scheduler has
counted for its threads (/proc/PID/task/*/schedstat) between the first and the last measured
request, divided by the requests; utime and stime of the process, which know ended threads too but
count in ticks of 10 ms, must agree. wrk is warmed up by a run of its own, and its connections are
part of the measured one; it does not tell the 99.9th percentile.

Needs Linux and, to mean anything, two CPUs that nobody else uses: every run says what share of a
CPU went to other programs meanwhile. With --again N a run that lost more than 5 % to them is
repeated, up to N times, and the quietest one counts.
"""
import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SERVER_CPU, CLIENT_CPU = 0, 1
BODY = b"Hello, World!"
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Result:
    rate: float  # requests a second
    p50: float  # us
    p99: float  # us
    p999: float  # us; 0: the load does not tell
    cpu: float  # us of the server's CPU time a request
    others: float  # CPUs that neither the server nor the client used, and that were not idle


class Refused(Exception):
    """A server or a client did not do what this program relies on."""


def on_cpu(cpu):
    return None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})


def threads_time(pid):
    """Nanoseconds on a CPU by thread."""
    times = {}
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            times[thread.name] = int((thread / "schedstat").read_text().split()[0])
    return times


def process_time(pid):
    """Seconds of all threads, ended ones too."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def machine_time():
    """Seconds that all CPUs together were not idle."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) * TICK


class Meter:
    """CPU time from here on: of a process, and of all."""

    def __init__(self, pid):
        self.pid = pid
        self.threads, self.process = threads_time(pid), process_time(pid)
        self.machine, self.begin = machine_time(), time.monotonic()

    def seconds(self, label):
        now, process = threads_time(self.pid), process_time(self.pid) - self.process
        spent = sum(t - self.threads.get(name, 0) for name, t in now.items()) / 1e9
        if abs(process - spent) > 0.05 * process + 3 * TICK:
            print(f"{label}: threads say {spent:.3f} s, the process {process:.3f} s; "
                  "taking the larger", file=sys.stderr)
            return max(spent, process)
        return spent

    def others(self, ours):
        """CPUs in use beyond these seconds of ours."""
        return max(0.0, machine_time() - self.machine - ours) / (time.monotonic() - self.begin)


@contextlib.contextmanager
def server(command, procs, cpu):
    """A running server: yields its process id and port."""
    child = subprocess.Popen([*command, "--port", "0", "--procs", str(procs)],
                             stdout=subprocess.PIPE, text=True, preexec_fn=on_cpu(cpu))
    try:
        line = child.stdout.readline()
        match = re.fullmatch(r"listening on (?:\S+:)?(\d+)\n", line)
        if not match:
            raise Refused(f"{command[0]} said {line!r} instead of the port")
        yield child.pid, int(match.group(1))
        if child.poll() is not None:
            raise Refused(f"{command[0]} ended with {child.returncode}")
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()
        child.stdout.close()


def certificate(folder):
    """Arguments of a server: a certificate and its key, made anew."""
    files = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-subj", "/CN=localhost", "-days", "2", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return ["--cert", files[0], "--key", files[1]]


def echo_run(options, label, command, procs, connections):
    server_cpu, client_cpu = (SERVER_CPU, CLIENT_CPU) if procs == 1 else (None, None)
    with server(command, procs, server_cpu) as (pid, port):
        client = subprocess.Popen(
            [options.load, "--port", str(port), "--connections", str(connections),
             "--seconds", str(options.seconds), "--warmup", str(options.warmup)],
            stdout=subprocess.PIPE, text=True, preexec_fn=on_cpu(client_cpu))
        with client:
            if client.stdout.readline() != "measuring\n":
                raise Refused(f"{label}: the load failed")
            meter, client_meter = Meter(pid), Meter(client.pid)
            words = client.stdout.readline().split()
            cpu = meter.seconds(label)
            others = meter.others(cpu + client_meter.seconds(f"{label}, client"))
        if client.returncode != 0 or not words:
            raise Refused(f"{label}: the load failed")
        said = dict(zip(words[::2], map(float, words[1::2])))
        per_request = cpu / said["requests"] * 1e6
        return Result(said["rate"], said["p50_us"], said["p99_us"], said["p999_us"], per_request, others)


def check_answers(label, port):
    """Two requests for /hello at once, the second in pieces, must have two whole answers."""
    request = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 5) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.sendall(request + request[:-3])
        got = c.recv(4096)
        c.sendall(request[-3:-1])
        c.sendall(request[-1:])
        while got.count(BODY) < 2:
            piece = c.recv(4096)
            if not piece:
                break
            got += piece
    half = got[:len(got) // 2]
    if got != half + half or not half.startswith(b"HTTP/1.1 200 OK\r\n") or not half.endswith(BODY):
        raise Refused(f"{label} answers {got!r}")


SHAPES = {"rate": "{:,.0f}", "p50": "{:.0f}", "p99": "{:.0f}", "p999": "{:.0f}", "cpu": "{:.2f}"}  # of the columns
UNITS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}


def wrk_latency(text, percent):
    number, unit = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)\s*$", text, re.M).groups()
    return float(number) * UNITS[unit]


def ended_clients_time():
    """Seconds of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def http_run(options, label, command, procs, connections):
    server_cpu, client_cpu = (SERVER_CPU, CLIENT_CPU) if procs == 1 else (None, None)

    def wrk(port, seconds):
        return subprocess.run(
            [options.load, "-t1", f"-c{connections}", f"-d{seconds}s", "--latency",
             f"http://127.0.0.1:{port}/hello"],
            capture_output=True, text=True, check=True, preexec_fn=on_cpu(client_cpu)).stdout

    with server(command, procs, server_cpu) as (pid, port):
        check_answers(label, port)
        if options.warmup:
            wrk(port, options.warmup)
        meter, before = Meter(pid), ended_clients_time()
        text = wrk(port, options.seconds)
        cpu = meter.seconds(label)
        others = meter.others(cpu + ended_clients_time() - before)
        if bad := re.search(r"^\s*(Socket errors|Non-2xx).*", text, re.M):
            print(f"{label}: {bad.group().strip()}", file=sys.stderr)
        requests = int(re.search(r"(\d+) requests in", text).group(1))
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
        per_request = cpu / requests * 1e6
        return Result(rate, wrk_latency(text, 50), wrk_latency(text, 99), 0, per_request, others)


def quiet_run(options, run, label, *arguments):
    results = []
    for _ in range(options.again + 1):
        results.append(run(options, label, *arguments))
        if results[-1].others <= 0.05:
            break
    return min(results, key=lambda result: result.others)


def table(results, peers, against):
    """One row for each load and peer; (1.23x) is the ratio to the peer `against`."""
    lines = ["| procs | connections | server | requests/s | p50 us | p99 us | p99.9 us | CPU us/request |",
             "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for procs, connections in dict.fromkeys(key[:2] for key in results):
        medians = {peer: {field.name: statistics.median(getattr(r, field.name)
                                                        for r in results[procs, connections, peer])
                          for field in dataclasses.fields(Result)} for peer in peers}
        for peer in peers:
            cells = []
            for name, shape in SHAPES.items():
                if name == "p999" and not medians[peer][name]:
                    cells.append("-")
                    continue
                cell = shape.format(medians[peer][name])
                if peer != against and medians[against][name]:
                    cell += f" ({medians[peer][name] / medians[against][name]:.2f}x)"
                cells.append(cell)
            lines.append(f"| {procs} | {connections} | {peer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("kind", choices=["echo", "tls", "mixed", "http"])
    parser.add_argument("--server", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--against", metavar="NAME",
                        help="the peer of the ratios; default: the first")
    parser.add_argument("--load", help="path of echo_load, or of wrk")
    parser.add_argument("--connections", type=numbers, metavar="N,N",
                        help="default: 1,64,1000 for echo and http, 64 for tls, 1 for mixed")
    parser.add_argument("--procs", type=numbers, default=[1], metavar="N,N", help="default: 1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1, help="seconds")
    parser.add_argument("--again", type=int, default=0, metavar="N", help="see above; default: 0")
    options = parser.parse_args()

    peers = {}
    for text in options.server:
        name, _, command = text.partition("=")
        if not command:
            parser.error(f"--server wants NAME=COMMAND, not {text}")
        peers[name] = shlex.split(command)
    against = options.against or next(iter(peers))
    if against not in peers:
        parser.error(f"--against: no server is named {against}")
    if options.kind != "http" and not options.load:
        parser.error(f"{options.kind} wants --load, the path of {options.kind}_load")
    options.load = options.load or "wrk"
    if not options.connections:
        options.connections = {"echo": [1, 64, 1000], "tls": [64], "mixed": [1], "http": [1, 64, 1000]}[options.kind]
    run = http_run if options.kind == "http" else echo_run
    if options.kind == "tls":
        folder = tempfile.TemporaryDirectory()
        paper = certificate(folder.name)
        peers = {name: command + paper for name, command in peers.items()}

    results = {(procs, connections, peer): [] for procs in options.procs
               for connections in options.connections for peer in peers}
    order = list(peers)
    for procs in options.procs:
        for connections in options.connections:
            for number in range(options.rounds):
                for peer in order:
                    label = f"{options.kind}, procs {procs}, {connections} connections, {peer}"
                    result = quiet_run(options, run, label, peers[peer], procs, connections)
                    results[procs, connections, peer].append(result)
                    print(f"{label}, round {number + 1}: {result.rate:,.0f}/s, "
                          f"p50 {result.p50:.0f} us, p99 {result.p99:.0f} us, "
                          f"p99.9 {result.p999:.0f} us, CPU {result.cpu:.2f} us, others {result.others:.0%}", file=sys.stderr)
                # No server is always the first, or always after the same other.
                order = order[1:] + order[:1] if number % 2 else order[::-1]
    noise = max(result.others for runs in results.values() for result in runs)
    print(f"{options.kind}: medians of {options.rounds} runs of {options.seconds} s, "
          f"ratios to {against}; others took at most {noise:.0%} of a CPU\n")
    print(table(results, peers, against))


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        sys.exit(f"run.py: {refusal}")
