// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// request_with_deadline: a request passes its context on to the backend that it asks: how long it
// may take, on whose behalf it is, and that the caller has given up.

#include <thrum.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

using namespace std::chrono_literals;

namespace {

struct user {
  std::string name;
};

/// Answers after `work`, unless its caller gives up before.
void backend(thrum::context context, std::chrono::milliseconds work, thrum::chan<int> answer) {
  thrum::select(thrum::on_timeout(work, [&] { answer.send(42); }), thrum::on_done(context));
}

std::optional<int> ask(const thrum::context& context, std::chrono::milliseconds work) {
  const auto answer = thrum::make_chan<int>(1);  // has room, as the caller may be gone
  thrum::go(backend, context, work, answer);
  int result = 0;
  switch (thrum::select(thrum::on_recv(answer, [&](int value) { result = value; }),
                        thrum::on_done(context))) {
    case 0: return result;
    default: return std::nullopt;  // the caller has given up
  }
}

void request(const thrum::context& session, std::chrono::milliseconds limit,
             std::chrono::milliseconds work) {
  const thrum::context context = session.with_timeout(limit);
  const char* const name = context.value<user>()->name.c_str();
  if (const std::optional<int> result = ask(context, work)) {
    std::printf("%s: the answer is %d\n", name, *result);
  } else if (context.error() == std::errc::timed_out) {
    std::printf("%s: no answer in time\n", name);
  } else {
    std::printf("%s: the session is over\n", name);
  }
}

}  // namespace

int main() {
  return thrum::run([] {
    const auto session = thrum::context::background().with_cancel().with_value(user{"ada"});
    request(session, 1min, 0ms);
    request(session, 20ms, 1h);
    session.cancel();
    request(session, 1min, 1h);
  });
}
