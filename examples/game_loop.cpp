// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// game_loop: a game's main loop, 60 frames a second with a fixed step. Each frame runs thousands of
// jobs and a loop over all entities on all processors; meanwhile files are loaded in the background,
// whose goroutines hand each asset to the window on the window's thread. What is left of a frame is
// for goroutines. At the end it says how long frames took, how regularly they came, and how long calls
// on the window's thread took.
//
//   game_loop [--seconds N] [--jobs N] [--entities N] [--procs N] [--file PATH] [--threads]
//
// --threads: the same on plain threads with one queue, for comparison. The exit status says whether a
// frame was over 16.7 ms: 1, else 0; 2: the arguments make no sense.

#include "game/frame_times.hpp"
#include "game/on_threads.hpp"
#include "game/on_thrum.hpp"
#include "game/window.hpp"
#include "game/world.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace {

using clock_of_frames = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds frame_time(1'000'000'000 / 60);
constexpr std::chrono::microseconds too_long(16'700);

struct settings {
  unsigned seconds = 10;
  unsigned jobs = 2'000;
  unsigned entities = 50'000;
  unsigned procs = 2;
  std::string file;
  bool on_plain_threads = false;
};

/// False: the arguments make no sense, and a message says why.
bool parse(int count, char** values, settings& to) {
  to.file = values[0];
  for (int i = 1; i < count; ++i) {
    const std::string_view word = values[i];
    if (word == "--threads") {
      to.on_plain_threads = true;
      continue;
    }
    const std::string_view value = i + 1 < count ? values[++i] : "";
    if (word == "--file" && !value.empty()) {
      to.file = value;
      continue;
    }
    unsigned* const number = word == "--seconds"    ? &to.seconds
                             : word == "--jobs"     ? &to.jobs
                             : word == "--entities" ? &to.entities
                             : word == "--procs"    ? &to.procs
                                                    : nullptr;
    const char* const end = value.data() + value.size();
    if (number == nullptr || value.empty() ||
        std::from_chars(value.data(), end, *number).ptr != end) {
      std::fprintf(stderr,
                   "game_loop: what is '%s'? usage: game_loop [--seconds N] [--jobs N] "
                   "[--entities N] [--procs N] [--file PATH] [--threads]\n",
                   values[i]);
      return false;
    }
  }
  return true;
}

/// Runs the game on whatever engine. Returns the exit status.
template <class Engine>
int play(const settings& wanted) {
  const std::size_t frames = std::size_t{wanted.seconds} * 60;
  frame_times work(frames), intervals(frames), calls(frames * 20);
  world simulated(wanted.entities, wanted.jobs);
  window shown;
  Engine engine(wanted.procs);

  engine.load_in_background(wanted.file, [&](std::span<const std::byte> bytes) {
    const texture made = decode(bytes);
    const auto asked = clock_of_frames::now();
    engine.call_on_main([&] {
      shown.upload(made);
      calls.add(clock_of_frames::now() - asked);
    });
  });

  auto due = clock_of_frames::now();
  auto before = due;
  std::size_t frame = 0;
  for (bool open = true; open && frame != frames; ++frame) {
    const auto begin = clock_of_frames::now();
    if (frame != 0) {
      const auto off = begin - before - frame_time;
      intervals.add(off < off.zero() ? -off : off);
    }
    before = begin;
    engine.begin_frame();
    engine.run_jobs(wanted.jobs, [&](std::size_t i) { simulated.think(i); });
    engine.for_all(std::span(simulated.flying), [](entity& each) {
      constexpr float step = 1.0F / 60;
      each.move(step);
    });
    open = shown.draw(simulated);
    work.add(clock_of_frames::now() - begin);
    due += frame_time;
    engine.rest_until(due);
  }
  engine.stop();

  std::printf("%zu frames of %u jobs and %u entities on %s, %zu assets\n", frame, wanted.jobs,
              wanted.entities, wanted.on_plain_threads ? "threads" : "goroutines", shown.uploads());
  work.print_line("work of a frame");
  work.print_histogram();
  intervals.print_line("off the beat");
  calls.print_line("calls on the main loop");
  const std::size_t late = work.above(too_long);
  std::printf("%zu frames over 16.7 ms\n", late);
  return late == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  settings wanted;
  if (!parse(argc, argv, wanted)) {
    return 2;
  }
  return wanted.on_plain_threads ? play<on_threads>(wanted) : play<on_thrum>(wanted);
}
