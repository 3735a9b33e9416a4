// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/chat: who hears what, and who is dropped.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "clients.hpp"

#include <string>

namespace examples { namespace {

/// A client that has said its name.
struct chatter {
  chatter(const std::string& address, const std::string& name) : c(dial(address)) {
    CHECK(hear() == "* what is your name?");
    say(name + "\n");
  }
  void say(const std::string& text) { c.write(text); }
  std::string hear() { return read_line(c, rest); }

  thrum::net::conn c;
  std::string rest;
};

TEST_CASE("in the chat everybody hears what everybody says") {
  for (const char* const procs : {"1", "4"}) {
    server_process server(example_words("chat", on(procs, {"--listen", "127.0.0.1:0"})));
    REQUIRE_FALSE(server.address().empty());
    support::with_runtime([&] {
      chatter ada(server.address(), "ada");
      CHECK(ada.hear() == "* ada is here");
      chatter bob(server.address(), "bob\r");
      CHECK(ada.hear() == "* bob is here");
      CHECK(bob.hear() == "* bob is here");
      ada.say("hello\nhow are");
      CHECK(bob.hear() == "ada: hello");
      ada.say(" you?\n");
      CHECK(bob.hear() == "ada: how are you?");
      bob.say("fine\n");
      for (const char* const line : {"ada: hello", "ada: how are you?", "bob: fine"}) {
        CHECK(ada.hear() == line);
      }
      chatter second(server.address(), "ada");
      CHECK(second.hear() == "* somebody else is called so; connect again as another");
      CHECK(read_all(second.c).empty());
      chatter nobody(server.address(), "two words");
      CHECK(nobody.hear().starts_with("* a name has"));
      bob.c.close_write();
      CHECK(ada.hear() == "* bob has left");
      ada.say(std::string(5000, 'x'));  // no line is that long
      CHECK(read_all(ada.c).empty());
    });
    if (has("nc")) {
      // It hears itself, and its end of input ends it.
      const auto result = run_line("(echo eve; echo hi) | nc -N 127.0.0.1 " + port_of(server));
      CHECK(result.says("* eve is here"));
      CHECK(result.says("eve: hi"));
    }
  }
}

TEST_CASE("a client of the chat that does not read is dropped, and delays no other") {
  server_process server(example_words("chat", on("2", {"--listen", "127.0.0.1:0"})));
  REQUIRE_FALSE(server.address().empty());
  support::with_runtime([&] {
    chatter lazy(server.address(), "lazy");
    CHECK(lazy.hear() == "* lazy is here");
    chatter ada(server.address(), "ada");
    CHECK(ada.hear() == "* ada is here");
    // What the system buffers for the lazy one is a few megabytes; ada hears all of it in step.
    const std::string text(900, 'x');
    std::string block;
    constexpr int lines = 100;
    for (int i = 0; i != lines; ++i) {
      block += text + "\n";
    }
    bool dropped = false;
    int wrong = 0;
    for (int round = 0; round != 1000 && !dropped; ++round) {
      ada.say(block);
      for (int i = 0; i != lines;) {
        const std::string line = ada.hear();
        const bool is_news = line == "* lazy was too slow";
        dropped = dropped || is_news;
        wrong += is_news || line == "ada: " + text ? 0 : 1;
        i += is_news ? 0 : 1;
        if (wrong != 0) {
          break;
        }
      }
      if (wrong != 0) {
        break;
      }
    }
    CHECK(wrong == 0);
    CHECK(dropped);
    ada.say("still here\n");
    CHECK(ada.hear() == "ada: still here");
    CHECK(read_all(lazy.c).find("still here") == std::string::npos);
  });
}

}}  // namespace examples

#endif
