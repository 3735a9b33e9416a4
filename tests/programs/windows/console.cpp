// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs of Windows that look at their words, or that a console tells something: each has a console
// of its own, and is the only one in it.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int as_wanted = 7;

int tell_arguments() {
  for (int i = 2; i < __argc; ++i) {
    std::printf("%s\n", __argv[i]);
  }
  return 0;
}

/// As the system calls the handlers of the console: by a thread that begins in this function of it. There
/// are events for which nobody can ask, and wine knows no other than that of control and C.
bool send_by_thread(::DWORD event) {
  auto* const routine = reinterpret_cast<::LPTHREAD_START_ROUTINE>(reinterpret_cast<void*>(
      ::GetProcAddress(::GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine")));
  return routine != nullptr &&
         ::CreateThread(nullptr, 0, routine, reinterpret_cast<void*>(::ULONG_PTR{event}), 0,
                        nullptr) != nullptr;
}

bool send(::DWORD event) {
  return ::GenerateConsoleCtrlEvent(event, 0) != 0 || send_by_thread(event);
}

int hear_event(::DWORD event, int number) {
  return thrum::run([=] {
    thrum::io::signal_set set{SIGINT, SIGBREAK, SIGTERM};
    return send(event) && set.chan().recv() == number ? as_wanted : 1;
  });
}

int hear_control_c() { return hear_event(CTRL_C_EVENT, SIGINT); }
int hear_control_break() { return hear_event(CTRL_BREAK_EVENT, SIGBREAK); }

/// The system ends the process when the handler returns, so there is time for what is to be done before.
int hear_close() {
  return thrum::run([] {
    thrum::io::signal_set set{SIGTERM};
    if (!send_by_thread(CTRL_CLOSE_EVENT) || set.chan().recv() != SIGTERM) {
      return 1;
    }
    thrum::sleep_for(std::chrono::milliseconds(200));
    set.stop();  // the handler has not returned yet, nor will it
    { const thrum::io::signal_set another{SIGTERM, SIGBREAK}; }
    return as_wanted;
  });
}

/// Nobody listens for the close.
int be_closed() {
  return thrum::run([] {
    const thrum::io::signal_set set{SIGINT};
    return send_by_thread(CTRL_CLOSE_EVENT) && set.chan().recv() ? as_wanted : 1;
  });
}

/// A set that is gone hears nothing: the event ends the program.
int be_broken_off() {
  return thrum::run([] {
    { const thrum::io::signal_set set{SIGBREAK}; }
    send(CTRL_BREAK_EVENT);
    thrum::sleep_for(std::chrono::seconds(60));
    return as_wanted;
  });
}

constexpr programs::entry entries[] = {
    {"tell_arguments", tell_arguments},
    {"hear_control_c", hear_control_c},
    {"hear_control_break", hear_control_break},
    {"hear_close", hear_close},
    {"be_closed", be_closed},
    {"be_broken_off", be_broken_off},
};
const programs::group console(entries);

}  // namespace
