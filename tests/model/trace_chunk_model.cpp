// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// trace/chunk.hpp in every interleaving within the bounds. A chunk is claimed, written, given up and claimed anew
// while a reader copies it. What must hold: a copy is of one claim, whole, or is thrown away; and no two writers hold
// the chunk at once. Then the mutants.

#include <thrum/detail/trace/chunk.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::mutation;
using model::require;
using thrum::trace_detail::raw_event;

struct one_event : model::traits {
  static constexpr std::uint32_t events_per_chunk = 1;
};

template <mutation Mistake>
struct mistaken : one_event {
  template <class T>
  using atomic = model::mutant_atomic<T, Mistake>;
};

template <class Traits>
struct chunk_scene {
  thrum::trace_detail::basic_chunk<Traits> chunk;
  model::cell<int> writers{0};  // plain memory: two writers at once are a race

  void write(std::uint64_t claim) {
    std::uint64_t lost = 0;
    if (chunk.claim(claim, claim + 1, lost)) {
      writers = writers + 1;
      const std::uint64_t value = claim + 1;
      chunk.put(0, {{value, value, value, value}});
      chunk.give_up();
    }
  }
  void read() {
    raw_event events[1];
    const auto seen = chunk.copy(events);
    if (seen.count != 0) {
      require(seen.owner == seen.stamp, "the events are said to be another M's");
      for (const std::uint64_t word : events[0].word) {
        require(word == seen.stamp, "a word is of another claim");
      }
    }
  }
};

/// One M claims the chunk twice; a reader copies it.
template <class Traits>
struct claimed_anew : chunk_scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->write(0);
      this->write(1);
    } else {
      this->read();
    }
  }
  void at_end() {}
};

/// Two Ms want it.
template <class Traits>
struct wanted_by_two : chunk_scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) { this->write(thread); }
  void at_end() { require(this->writers != 0, "no M got the chunk"); }
};

}  // namespace

TEST_CASE("model: a copy of a chunk of events is of one claim, or is thrown away") {
  for (const machine on : every_machine) {
    holds<claimed_anew<one_event>>({on, 3, 2});
    holds<wanted_by_two<one_event>>({on, 4, 2});
  }
}

TEST_CASE("model: each mutant of the chunk of events is found out") {
  constexpr model::options on_weak{machine::weak, 3, 2};
  constexpr model::options on_any{machine::sequential, 4, 0};
  CHECK(found_out<claimed_anew<mistaken<mutation::relaxed_store>>>(on_weak));
  CHECK(found_out<claimed_anew<mistaken<mutation::relaxed_load>>>(on_weak));
  CHECK(found_out<wanted_by_two<mistaken<mutation::relaxed_exchange>>>(on_weak));
  CHECK(found_out<wanted_by_two<mistaken<mutation::torn_exchange>>>(on_any));
}
