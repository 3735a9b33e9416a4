#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# servers_under_load.sh FOLDER [WORD...]: the examples echo_server and http_server of that folder, started
# by these words (an emulator), under load from clients that are no programs of ours: a loop over epoll
# that checks every byte, wrk, curl, and connections that are reset in the middle. Linux; 20 seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$1
shift
ending=
[ -e "$folder/echo_server" ] || ending=.exe
out=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  server=
}
load=  # wrk, while it runs beside us
trap '[ -z "$load" ] || kill "$load" || true; stop; rm -rf "$out"' EXIT

fail() {
  echo "servers_under_load: $*" >&2
  cat "$out"/*.log >&2 || true
  exit 1
}

start() {  # start NAME WORD...: its address, into `address`
  local name=$1 program=$folder/$1$ending
  shift
  : >"$out/$name.log"  # before the loop reads it: the child that writes it may be late
  "${emulator[@]}" "$program" "$@" --listen 127.0.0.1:0 --procs 2 >"$out/$name.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    address=$(sed -n 's/^listening on \([0-9.:]*\).*/\1/p' "$out/$name.log")
    [ -z "$address" ] || return 0
    sleep 0.1
  done
  fail "$name does not listen"
}

emulator=(env)
[ $# = 0 ] || emulator=("$@")
c++ -std=c++20 -O1 bench/net/echo_load.cpp -o "$out/echo_load"

start echo_server
for size in 64 20000; do
  "$out/echo_load" --port "${address##*:}" --connections 50 --size $size --warmup 0.3 --seconds 1.5 \
    >"$out/load.log" || fail "echo of $size bytes"
  echo "echo, 50 connections, $size bytes: $(tail -n 1 "$out/load.log")"
done
kill -0 $server || fail "echo_server has ended"
stop

mkdir "$out/site"
head -c 700000 /dev/urandom >"$out/site/big.bin"
echo "a note" >"$out/site/note.txt"
# On a loaded machine an answer may take longer than the two seconds after which wrk calls it an error.
wrk=(wrk -t 1 -c 50 --timeout 100s)
start http_server "$out/site"
for target in /hello /note.txt /big.bin; do
  for time in 2s 20s; do
    "${wrk[@]}" -d $time "http://$address$target" >"$out/wrk.log" 2>&1 || fail "wrk $target"
    ! grep -qE 'Non-2xx|Socket errors' "$out/wrk.log" || fail "wrk $target"
    ! grep -qE '[1-9][0-9]* requests in' "$out/wrk.log" || break
    [ $time = 2s ] || fail "wrk $target: nothing was answered"
  done
  echo "http, 50 connections, $target:$(sed -nE 's/^ *([0-9]+ requests in .*)/ \1/p' "$out/wrk.log")"
done
python3 - "$address" <<'PYTHON' || fail "connections that are reset"
import socket, struct, sys
host, port = sys.argv[1].rsplit(":", 1)
for i in range(100):
    c = socket.create_connection((host, int(port)))
    c.sendall(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n" * 3)
    if i % 2 == 0:
        c.recv(1000)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
PYTHON
curl -sS "http://$address/big.bin" | cmp - "$out/site/big.bin" || fail "a file is another one"
[ "$(curl -sS --path-as-is -o /dev/null -w '%{http_code}' "http://$address/../load.log")" = 404 ] ||
  fail "a file outside of the folder"
kill -0 $server || fail "http_server has ended"

if [ "$ending" = "" ]; then
  # Told to end in the middle, it answers what was asked: an answer that does not come wrk calls an error of
  # reading. Its connections to the port where nobody listens any more it calls errors of writing.
  # That something was answered is told by a file that wrk makes then.
  stop
  cat >"$out/tell.lua" <<'LUA'
local told = false
function response()
  if not told then io.open(os.getenv("ANSWERED"), "w"):close() end
  told = true
end
LUA
  export ANSWERED=$out/answered
  for target in /hello /big.bin; do
    start http_server "$out/site"
    rm -f "$ANSWERED"
    "${wrk[@]}" -d 300s -s "$out/tell.lua" "http://$address$target" >"$out/wrk.log" 2>&1 &
    load=$!
    until [ -e "$ANSWERED" ]; do
      kill -0 "$load" 2>/dev/null || fail "wrk $target: nothing was answered"
      sleep 0.1
    done
    sleep 1
    kill -TERM "$server"
    wait "$server" || fail "http_server does not end well"
    server=
    sleep 0.5  # it reads what has come
    kill -INT "$load"  # it says what it has counted
    wait "$load" || fail "wrk $target"
    load=
    grep -qE '[1-9][0-9]* requests in' "$out/wrk.log" || fail "wrk $target"
    if grep -q 'Socket errors' "$out/wrk.log" && ! grep -qE 'read 0, write [0-9]+, timeout 0' "$out/wrk.log"; then
      fail "wrk $target, told to end"
    fi
    echo "http, told to end, $target:$(sed -nE 's/^ *([0-9]+ requests in .*)/ \1/p' "$out/wrk.log"), none lost"
  done
fi
echo "all answers were right"
