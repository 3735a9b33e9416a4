// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The header behind macros that other libraries define. This file is compiled alone, and only uses
// the main things: what they do is tested elsewhere.

#include "support/catch.hpp"

// clang-format off

// Qt
#define signals public
#define slots
#define emit
#define foreach(variable,container) for (variable : container)
#define forever for(;;)
#define Q_OBJECT
#define SIGNAL(a) "2"#a
#define SLOT(a) "1"#a

// X11
#define None 0L
#define Status int
#define Bool int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Above 0
#define Below 1
#define Unsorted 0
#define KeyPress 2
#define KeyRelease 3
#define FocusIn 9
#define FocusOut 10
#define Expose 12
#define GrayScale 1
#define CursorShape 0
#define FontChange 255
#define Complex 0

// Windows
#define min(a,b) (((a)<(b))?(a):(b))
#define max(a,b) (((a)>(b))?(a):(b))
#define small char
#define near
#define far
#define interface struct
#define ERROR 0
#define IN
#define OUT
#define OPTIONAL
#define IGNORE 0
#define DELETE 0x00010000L
#define NO_ERROR 0L
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define STRICT 1
#define THIS void
#define PURE = 0
#define Yield()
#define CALLBACK
#define ABSOLUTE 1
#define RELATIVE 2
#define OPAQUE 2
#define TRANSPARENT 1
#define GetMessage GetMessageW
#define SendMessage SendMessageW
#define CreateFile CreateFileW
#define GetObject GetObjectW

// ncurses; the last five it takes back itself in C++, unless it is told not to
#define OK (0)
#define ERR (-1)
#define timeout(delay) wtimeout(stdscr, delay)
#define addch(ch) waddch(stdscr,ch)
#define getch() wgetch(stdscr)
#define insch(c) winsch(stdscr,c)
#define inch() winch(stdscr)
#define border(a,b,c,d,e,f,g,h) wborder(a)
#define scroll(win) wscrl(win,1)
#define standout() wstandout(stdscr)
#define echochar(c) wechochar(stdscr,c)
#define delch() wdelch(stdscr)
#define box(win,v,h) wborder(win)
#define clear() wclear(stdscr)
#define erase() werase(stdscr)
#define move(y,x) wmove(stdscr,y,x)
#define refresh() wrefresh(stdscr)

// Unreal
#define check(expr) { if (!(expr)) { __builtin_trap(); } }
#define verify(expr) { if (!(expr)) { __builtin_trap(); } }
#define ensure(expr) (!!(expr))
#define checkf(expr,format,...) { if (!(expr)) { __builtin_trap(); } }
#define unimplemented() __builtin_trap()
#define TEXT(x) L ## x
#define PI (3.1415926535897932f)
#define UPROPERTY(...)
#define UFUNCTION(...)
#define GENERATED_BODY(...)
#define FORCEINLINE inline

// programs' own loggers
#define debug(...) logger_of_the_program(0, __VA_ARGS__)
#define error(...) logger_of_the_program(1, __VA_ARGS__)
#define expect(condition) ((condition) ? 0 : logger_of_the_program(2, #condition))
#define fatal(...) logger_of_the_program(3, __VA_ARGS__)
#define log(...) logger_of_the_program(4, __VA_ARGS__)
#define panic(...) logger_of_the_program(5, __VA_ARGS__)
#define trace(...) logger_of_the_program(6, __VA_ARGS__)
#define warn(...) logger_of_the_program(7, __VA_ARGS__)

// the C library, and compilers in their GNU mode
#undef major
#define major(dev) gnu_dev_major(dev)
#undef minor
#define minor(dev) gnu_dev_minor(dev)
#undef unix
#define unix 1
#undef linux
#define linux 1

#include <thrum.hpp>

#if !defined(box) || !defined(clear) || !defined(erase) || !defined(move) || !defined(refresh) || \
    !defined(signals) || !defined(slots) || !defined(emit) || !defined(foreach) || \
    !defined(forever) || !defined(Q_OBJECT) || !defined(SIGNAL) || !defined(SLOT) || \
    !defined(None) || !defined(Status) || !defined(Bool) || !defined(True) || \
    !defined(False) || !defined(Success) || !defined(Always) || !defined(Above) || \
    !defined(Below) || !defined(Unsorted) || !defined(KeyPress) || !defined(KeyRelease) || \
    !defined(FocusIn) || !defined(FocusOut) || !defined(Expose) || !defined(GrayScale) || \
    !defined(CursorShape) || !defined(FontChange) || !defined(Complex) || !defined(min) || \
    !defined(max) || !defined(small) || !defined(near) || !defined(far) || \
    !defined(interface) || !defined(ERROR) || !defined(IN) || !defined(OUT) || \
    !defined(OPTIONAL) || !defined(IGNORE) || !defined(DELETE) || !defined(NO_ERROR) || \
    !defined(CONST) || !defined(VOID) || !defined(TRUE) || !defined(FALSE) || \
    !defined(STRICT) || !defined(THIS) || !defined(PURE) || !defined(Yield) || \
    !defined(CALLBACK) || !defined(ABSOLUTE) || !defined(RELATIVE) || !defined(OPAQUE) || \
    !defined(TRANSPARENT) || !defined(GetMessage) || !defined(SendMessage) || \
    !defined(CreateFile) || !defined(GetObject) || !defined(OK) || !defined(ERR) || \
    !defined(timeout) || !defined(addch) || !defined(getch) || !defined(insch) || \
    !defined(inch) || !defined(border) || !defined(scroll) || !defined(standout) || \
    !defined(echochar) || !defined(delch) || !defined(check) || !defined(verify) || \
    !defined(ensure) || !defined(checkf) || !defined(unimplemented) || !defined(TEXT) || \
    !defined(PI) || !defined(UPROPERTY) || !defined(UFUNCTION) || !defined(GENERATED_BODY) || \
    !defined(FORCEINLINE) || !defined(debug) || !defined(error) || !defined(expect) || \
    !defined(fatal) || !defined(log) || !defined(panic) || !defined(trace) || !defined(warn) || \
    !defined(major) || !defined(minor) || !defined(unix) || \
    !defined(linux)
#error "the header has taken a macro away"
#endif
// clang-format on

namespace {

/// What a program of theirs does. Everything behind the header is a name of thrum's or the user's.
int used_behind_macros() {
  using namespace std::chrono_literals;
  thrum::options options;
  options.procs = 2;
  return thrum::run(options, [] {
    auto numbers = thrum::make_chan<int>(1);
    int found = numbers.recv_for(found, 1ms) == thrum::recv_status::timeout ? 1 : 0;
    numbers.send(1);
    thrum::select(thrum::on_recv(numbers, [&](int&& n, bool) { found += n; }),
                  thrum::on_timeout(1h), thrum::otherwise());
    thrum::mutex mutex;
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&] {
        const std::lock_guard lock(mutex);
        found += thrum::spawn([] { return 1; }).join();
      });
    }
    group.wait();
    thrum::counting_semaphore<> permits(1);
    permits.acquire();
    thrum::task_group tasks;
    tasks.go([&] { found += thrum::blocking([] { return 1; }); });
    tasks.wait();
    const auto request = thrum::context::background().with_timeout(1ms);
    thrum::select(thrum::on_done(request, [&] { ++found; }));
    const auto where = thrum::net::endpoint::parse("127.0.0.1:80");
    return where && where->port() == 80 ? found : 0;
  });
}

}  // namespace

#undef signals
#undef box
#undef clear
#undef erase
#undef move
#undef refresh
#undef slots
#undef emit
#undef foreach
#undef forever
#undef Q_OBJECT
#undef SIGNAL
#undef SLOT
#undef None
#undef Status
#undef Bool
#undef True
#undef False
#undef Success
#undef Always
#undef Above
#undef Below
#undef Unsorted
#undef KeyPress
#undef KeyRelease
#undef FocusIn
#undef FocusOut
#undef Expose
#undef GrayScale
#undef CursorShape
#undef FontChange
#undef Complex
#undef min
#undef max
#undef small
#undef near
#undef far
#undef interface
#undef ERROR
#undef IN
#undef OUT
#undef OPTIONAL
#undef IGNORE
#undef DELETE
#undef NO_ERROR
#undef CONST
#undef VOID
#undef TRUE
#undef FALSE
#undef STRICT
#undef THIS
#undef PURE
#undef Yield
#undef CALLBACK
#undef ABSOLUTE
#undef RELATIVE
#undef OPAQUE
#undef TRANSPARENT
#undef GetMessage
#undef SendMessage
#undef CreateFile
#undef GetObject
#undef OK
#undef ERR
#undef timeout
#undef addch
#undef getch
#undef insch
#undef inch
#undef border
#undef scroll
#undef standout
#undef echochar
#undef delch
#undef check
#undef verify
#undef ensure
#undef checkf
#undef unimplemented
#undef TEXT
#undef PI
#undef UPROPERTY
#undef UFUNCTION
#undef GENERATED_BODY
#undef FORCEINLINE
#undef major
#undef minor
#undef unix
#undef linux

TEST_CASE("the header works behind the macros of Qt, X11, Windows, ncurses and Unreal") {
  CHECK(used_behind_macros() == 7);
}
