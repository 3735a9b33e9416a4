// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is simulated: entities that fly about, jobs that think for a while, assets that are decoded. The
// same for whatever runs it.
#ifndef THRUM_EXAMPLES_GAME_WORLD_HPP
#define THRUM_EXAMPLES_GAME_WORLD_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct entity {
  float x, y, dx, dy;

  /// A step of so many seconds in a box of 1 by 1.
  void move(float seconds) {
    x += dx * seconds;
    y += dy * seconds;
    dx = x < 0 || x > 1 ? -dx : dx;
    dy = y < 0 || y > 1 ? -dy : dy;
  }
};

struct world {
  world(std::size_t entities, std::size_t jobs) : flying(entities), thoughts(jobs) {
    std::uint32_t state = 1;
    const auto next = [&state] {
      state = state * 1'664'525U + 1'013'904'223U;
      return static_cast<float>(state >> 8) / static_cast<float>(1U << 24);
    };
    for (entity& each : flying) {
      each = {next(), next(), next() - 0.5F, next() - 0.5F};
    }
  }

  /// Some microseconds of a creature's planning.
  void think(std::size_t job) {
    std::uint32_t state = thoughts[job] + static_cast<std::uint32_t>(job) + 1;
    for (int i = 0; i != 500; ++i) {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
    }
    thoughts[job] = state;
  }

  std::vector<entity> flying;
  std::vector<std::uint32_t> thoughts;
};

struct texture {
  std::uint32_t sum = 0;
};

/// Decodes a piece of a file.
inline texture decode(std::span<const std::byte> bytes) {
  texture made;
  for (const std::byte each : bytes) {
    made.sum = made.sum * 31 + static_cast<std::uint32_t>(each);
  }
  return made;
}

#endif
