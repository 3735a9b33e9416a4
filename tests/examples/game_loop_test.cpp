// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example game_loop. Whether its frames are in time is a figure for a machine that does nothing
// else, and no assertion.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include "support/program.hpp"
#include "support/server_process.hpp"

#include <string>

namespace examples { namespace {

support::program_result play_game(const std::string& arguments) {
  return support::run_file(support::example_path("game_loop"), arguments, "SDL_VIDEODRIVER=dummy");
}

/// All frames were played, assets came to the window on its own thread, and the figures are there.
void check_game(const std::string& arguments, const std::string& engine) {
  const auto play = [&](const std::string& seconds) {
    return play_game("--seconds " + seconds + " --jobs 50 --entities 1000 " + arguments);
  };
  auto result = play("1");
  std::string frames = "60";
  if (result.says(", 0 assets")) {  // a machine that does other things may need longer for one
    result = play("5");
    frames = "300";
  }
  INFO(result.text);
  CHECK((result.exit_code == 0 || result.exit_code == 1));
  CHECK(result.says(frames + " frames of 50 jobs and 1000 entities on " + engine));
  CHECK_FALSE(result.says(", 0 assets"));
  CHECK(result.says("work of a frame        p50"));
  CHECK(result.says("off the beat           p50"));
  CHECK(result.says("calls on the main loop p50"));
  CHECK(result.says(result.exit_code == 0 ? "\n0 frames over 16.7 ms" : " frames over 16.7 ms"));
}

TEST_CASE("the game loop plays its frames on goroutines, on one processor and on several") {
  check_game("--procs 1", "goroutines");
  check_game("--procs 4", "goroutines");
}

TEST_CASE("the game loop plays the same frames on plain threads") {
  check_game("--threads", "threads");
}

TEST_CASE("the game loop says which argument it does not understand") {
  for (const std::string wrong : {"--frames 7", "--jobs many", "--seconds"}) {
    const auto result = play_game(wrong);
    CHECK(result.exit_code == 2);
    CHECK(result.says("game_loop: what is '"));
  }
}

}}  // namespace examples

#endif
