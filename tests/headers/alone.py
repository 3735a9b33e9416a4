#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Each public header by itself: it is the only include of a program that uses it, outside of any
runtime unless it brings one; in two translation units of that program; and the program is compiled,
linked and run. Then once more with THRUM_SEPARATE, together with the implementation. The second unit
is the object file of the first with its one function renamed, which is what compiling the same text
once more would give.

  CXX=g++ alone.py [--separate] [HEADER...]

--separate leaves out the form without THRUM_SEPARATE, which takes twice as long to compile.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE.parent.parent / "include"

READS = ("struct ends { std::size_t read(std::span<std::byte>) { return 0; } "
         "std::size_t read(std::span<std::byte>, std::error_code&) { return 0; } } from;")
WRITES = ("struct takes { std::size_t write(std::span<const std::byte> b) { return b.size(); } "
          "std::size_t write(std::span<const std::byte> b, std::error_code&) { return b.size(); } } to;")

# What is done with each. `ms` is a std::chrono::milliseconds of 1, where the header has <chrono>.
USES = {
    "attributes.hpp": 'thrum::attributes a; a.name = "x";',
    "memory_hooks.hpp": "thrum::memory_hooks().stack_guard == 0;",
    "errc.hpp": "std::error_code(thrum::errc::deadline_exceeded).message();",
    "blocking.hpp": "thrum::blocking([] { return 1; });",
    "carried_value.hpp": "static thread_local int v; const thrum::carried_value<int> mine([](int& x) noexcept { std::swap(x, v); }, 1);",
    "chan.hpp": "thrum::chan<int> c(1); c.send(1); c.recv(); int v; c.recv_for(v, ms); c.close();",
    "context.hpp": "auto c = thrum::context::background().with_timeout(ms); c.done().recv();",
    "coroutine.hpp": "thrum::runtime r; thrum::chan<int> c(1); c.send(1); "
    "thrum::co_spawn(r, [](thrum::chan<int> from) -> thrum::co_task<> { co_await thrum::async_recv(from); }(c)).join();",
    "waiter.hpp": "thrum::runtime r; thrum::chan<int> c(1); c.send(1); "
    "thrum::waiter w([c] { return thrum::async_recv(c); }, [c](auto& self) { self.result(); c.close(); }); w.start(r); "
    "while (c.recv()) { }",
    "debug/leaks.hpp": "thrum::run([] { static_cast<void>(thrum::debug::leak_profile()); });",
    "debug/profile.hpp": "thrum::debug::goroutine_profile();",
    "debug/stats.hpp": "thrum::stats_snapshot s; static_cast<void>(s);",
    "debug/serve.hpp": "thrum::runtime r; static_cast<void>(thrum::debug::serve(r, \"127.0.0.1:0\"));",
    "debug/tracy.hpp": "thrum::debug::start_tracy_fibers();",
    "labels.hpp": 'const thrum::label_scope labels({{"a", "b"}}); thrum::this_goroutine::label("a");',
    "trace.hpp": 'thrum::trace::mark("x"); thrum::trace::stop();',
    "errno.hpp": "errno = 0;",
    "fork_join.hpp": "thrum::fork_join([] { return 1; }, [] {});",
    "generator.hpp": "thrum::runtime r; thrum::generator<int> g(r, [](auto& yield) { yield(1); }); g.next();",
    "go.hpp": "thrum::runtime r; r.spawn([] { thrum::go([] {}); }).join();",
    "goroutine_local.hpp": "thrum::goroutine_local<int> v(1); *v = 2;",
    "group.hpp": "thrum::runtime r; r.block_on([] { thrum::task_group g(2); g.go([] {}); g.wait(); });",
    "io_uring.hpp": "static_cast<void>(0);",
    "io/buffered_reader.hpp": READS + " thrum::io::buffered_reader(from).read_line();",
    "io/buffered_writer.hpp": WRITES + " thrum::io::buffered_writer(to).put('x');",
    "io/copy.hpp": READS + " thrum::io::read_all(from, 10);",
    "io/descriptor.hpp": "thrum::io::descriptor d; static_cast<void>(d);",
    "io/file.hpp": 'std::error_code e; thrum::io::file::open("/dev/null", thrum::io::open_mode::read, e);',
    "io/limited.hpp": READS + " thrum::io::limited(from, 3).left();",
    "io/directory.hpp": 'std::error_code e; thrum::io::read_directory(".", e);',
    "io/file_watch.hpp": "std::error_code e; thrum::io::file_watch w(e);",
    "io/temporary.hpp": "std::error_code e; thrum::io::temporary_file::make({}, {}, e);",
    "io/whole_file.hpp": 'std::error_code e; thrum::io::read_file("none", e);',
    "io/exec.hpp": "std::error_code e; thrum::io::exec({}, {}, e);",
    "io/pseudo_terminal.hpp": "std::error_code e; thrum::io::pseudo_terminal t(e);",
    "io/memory_pipe.hpp": "thrum::io::memory_pipe p; p.first.close();",
    "io/on_ready.hpp": "thrum::select(thrum::io::on_writable(2), thrum::on_timeout(ms));",
    "io/pipe.hpp": "std::error_code e; thrum::io::pipe p(e); p.write(std::string_view(\"x\"), e);",
    "io/process.hpp": 'thrum::io::process::spawn({"true"}).wait();',
    "io/signal_set.hpp": "thrum::io::signal_set s({SIGUSR2});",
    "io/stream.hpp": "static_assert(!thrum::io::readable_stream<int>);",
    "io/tee.hpp": READS + WRITES + " char c; thrum::io::tee(from, to).read(std::span<char>(&c, 1));",
    "io/wait.hpp": "std::error_code e; "
    "thrum::io::wait_writable(1, std::chrono::steady_clock::now() + std::chrono::seconds(1), e);",
    "join_handle.hpp": "thrum::join_handle<int> h; static_cast<void>(h.joinable());",
    "net/conn.hpp": "thrum::net::conn c; std::error_code e; c.write(std::string_view(\"x\"), e);",
    "net/dial.hpp": 'std::error_code e; thrum::net::dial("127.0.0.1:1", ms, e);',
    "net/endpoint.hpp": 'thrum::net::endpoint("127.0.0.1:1").to_string();',
    "net/host_port.hpp": 'std::error_code e; thrum::net::split_host_port("a:1", e); thrum::net::port_number("1");',
    "net/listener.hpp": 'thrum::net::listener::listen(thrum::net::endpoint("127.0.0.1:0")).close();',
    "net/resolve.hpp": 'std::error_code e; thrum::net::resolve("localhost:1", e);',
    "net/server.hpp": 'thrum::net::server s(thrum::net::listener::listen(thrum::net::endpoint("127.0.0.1:0"))); '
    "s.request_stop();",
    "net/udp_socket.hpp": 'thrum::net::udp_socket::bind(thrum::net::endpoint("127.0.0.1:0")).close();',
    "options.hpp": "thrum::options::from_environment();",
    "panic.hpp": "thrum::goroutine_exit* e = nullptr; static_cast<void>(e);",
    "parallel.hpp": "thrum::parallel_for(0, 10, [](int) {});",
    "runtime.hpp": "thrum::run([] { return 0; });",
    "select.hpp": "thrum::chan<int> c(1); c.send(1); "
    "thrum::select(thrum::on_recv(c, [](int&&, bool) {}), thrum::on_timeout(ms));",
    "stop_condition.hpp": "static_assert(!thrum::stop_condition<int>);",
    "sync/atomic_wait.hpp": "std::atomic<int> a{1}; thrum::atomic_wait(&a, 2); thrum::atomic_notify_one(&a);",
    "sync/barrier.hpp": "thrum::barrier<> b(1); b.arrive_and_wait();",
    "sync/condition_variable.hpp": "thrum::mutex m; thrum::condition_variable c; "
    "std::unique_lock<thrum::mutex> l(m); c.wait_for(l, ms, [] { return false; }); c.notify_all();",
    "sync/condition_variable_any.hpp": "std::mutex m; thrum::condition_variable_any c; "
    "std::unique_lock<std::mutex> l(m); c.wait_for(l, ms, [] { return false; }); c.notify_all();",
    "sync/latch.hpp": "thrum::latch l(1); l.arrive_and_wait();",
    "sync/mutex.hpp": "thrum::mutex m; m.lock(); m.unlock(); if (m.try_lock_for(ms)) m.unlock();",
    "sync/once.hpp": "static thrum::once_flag f; thrum::call_once(f, [] {});",
    "sync/once_value.hpp": "thrum::once_value v([] { return 1; }); v.get();",
    "sync/recursive_mutex.hpp": "thrum::recursive_mutex m; m.lock(); m.lock(); m.unlock(); m.unlock();",
    "sync/semaphore.hpp": "thrum::counting_semaphore<> s(1); s.acquire(); "
    "static_cast<void>(s.try_acquire_for(ms)); s.release();",
    "sync/shared_mutex.hpp": "thrum::shared_mutex m; m.lock_shared(); m.unlock_shared(); m.lock(); m.unlock();",
    "sync/singleflight.hpp": "thrum::singleflight<int, int> f; f.do_(1, [] { return 2; });",
    "sync/wait_group.hpp": "thrum::wait_group g; g.add(1); g.done(); g.wait();",
    "sync/pool.hpp": "thrum::pool<int> p; *p.get() = 1;",
    "sync/weighted_semaphore.hpp": "thrum::weighted_semaphore s(3); s.acquire(2); s.release(2);",
    "testing/bubble.hpp": "thrum::testing::bubble([] {});",
    "testing/fake_net.hpp": "thrum::testing::fake_net_options how; how.link.loss = 0.5;",
    "this_goroutine.hpp": "thrum::this_goroutine::yield(); thrum::this_goroutine::sleep_for(ms);",
    "on_host.hpp": "thrum::on_host_t tag = thrum::on_host; static_cast<void>(tag);",
    "thread_lock.hpp": "thrum::thread_lock l;",
    "time.hpp": "thrum::sleep_for(ms); thrum::after(ms).recv();",
    "time/rate_limiter.hpp": "thrum::rate_limiter l(1000, 10); static_cast<void>(l.allow());",
    "until.hpp": "const thrum::until end = ms; static_cast<void>(end);",
    "version.hpp": "static_assert(THRUM_VERSION_MAJOR >= 0);",
}


def program(header):
    use = USES[header]
    ms = "  [[maybe_unused]] constexpr std::chrono::milliseconds ms(1);\n" if "ms" in re.findall(r"\w+", use) else ""
    return f'#include <thrum/{header}>\nextern "C" void first_part() {{\n{ms}  {use}\n}}\n'


MAIN = """extern "C" void first_part();
extern "C" void second_part();
int main() {
  first_part();
  second_part();
}
"""


COMPILE = [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", f"-I{INCLUDE}"]


def compile_to(target, source, *options):
    """What the compiler says against it, or nothing."""
    said = subprocess.run([*COMPILE, *options, "-c", str(source), "-o", str(target)],
                          capture_output=True, text=True)
    return said.stderr if said.returncode != 0 else ""


def link_and_run(program_name, objects):
    linked = subprocess.run([COMPILE[0], "-pthread", *map(str, objects), "-o", str(program_name), "-ldl"],
                            capture_output=True, text=True)
    if linked.returncode != 0:
        return linked.stderr
    run = subprocess.run([str(program_name)], capture_output=True, text=True, timeout=60)
    return "" if run.returncode == 0 else f"exit status {run.returncode}\n{run.stdout}{run.stderr}"


def check(header, folder, forms):
    """What is wrong with it, or nothing."""
    source = folder / (header.replace("/", "-") + ".cpp")
    source.write_text(program(header))
    for form, options, others in forms:
        first, second, whole = (source.with_suffix(f".{form}{end}") for end in (".1.o", ".2.o", ""))
        wrong = compile_to(first, source, *options)
        if not wrong:
            subprocess.run(["objcopy", "--redefine-sym", "first_part=second_part", first, second], check=True)
            wrong = link_and_run(whole, [folder / "main.o", first, second, *others])
        if wrong:
            return f"{form}: {wrong}"
    return ""


def main():
    public = [header for umbrella in ("thrum.hpp", "thrum/implementation.hpp")
              for header in re.findall(r"#include <thrum/(\S+)>", (INCLUDE / umbrella).read_text())]
    public = [header for header in public if not header.startswith("detail/")]
    public += ["coroutine.hpp", "debug/leaks.hpp", "debug/profile.hpp", "debug/serve.hpp", "debug/tracy.hpp", "io_uring.hpp", "waiter.hpp"]  # in neither
    missing = sorted(set(public) ^ set(USES))
    for header in missing:
        print(f"FAIL  {header}: either thrum.hpp and implementation.hpp lack it or this file does")
    failed = len(missing)
    arguments = [each for each in sys.argv[1:] if each != "--separate"]
    headers = arguments or [header for header in public if header in USES]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(folder)
        (folder / "main.cpp").write_text(MAIN)
        wrong = compile_to(folder / "main.o", folder / "main.cpp") or compile_to(
            folder / "implementation.o", INCLUDE.parent / "cmake/implementation.cpp", "-DTHRUM_SEPARATE=1")
        if wrong:
            sys.exit(f"FAIL  the implementation\n{wrong[:2000]}")
        forms = [("separate", ["-DTHRUM_SEPARATE=1"], [folder / "implementation.o"])]
        if "--separate" not in sys.argv:
            forms.insert(0, ("whole", [], []))
        results = pool.map(lambda header: check(header, folder, forms), headers)
        for header, wrong in zip(headers, results):
            if wrong:
                failed += 1
                print(f"FAIL  {header}\n{wrong[:2000]}")
    print(f"{len(headers) + len(missing) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
