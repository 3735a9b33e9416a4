// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What becomes of the value that is offered: copied, moved, or left alone.

#include <thrum/detail/chan/sending.hpp>

#include "support/set_back_clock.hpp"
#include "support/test.hpp"

using support::set_back_clock;

namespace {

/// Counts its copies, and knows whether it was moved from. `Boxed`: its move may throw, as far as a
/// channel knows.
template <bool Boxed>
struct offered {
  static inline int copies = 0;
  std::string text;
  explicit offered(const char* of) : text(of) {}
  offered(const offered& other) : text(other.text) { ++copies; }
  offered(offered&& other) noexcept(!Boxed) : text(std::exchange(other.text, "moved from")) {}
  offered& operator=(const offered&) = delete;
  offered& operator=(offered&& other) noexcept(!Boxed) {
    text = std::exchange(other.text, "moved from");
    return *this;
  }
  ~offered() = default;
};

template <class T>
struct forms_of_sending {
  thrum::chan<T> to;
  template <class V>
  bool operator()(int form, V&& value, std::chrono::milliseconds time) const {
    switch (form) {
      case 0: return to.try_send(std::forward<V>(value));
      case 1: return to.send_for(std::forward<V>(value), time);
      case 2: return to.send_until(std::forward<V>(value), std::chrono::steady_clock::now() + time);
      default:
        return to.send_until(std::forward<V>(value), std::chrono::system_clock::now() + time);
    }
  }
  static constexpr int number = 4;
};

template <class T>
void check_copies_and_moves() {
  with_runtime([] {
    const thrum::chan<T> ring(1);
    const forms_of_sending<T> send{ring};
    for (int form = 0; form != send.number; ++form) {
      INFO("form " << form);
      T value("text");
      const T constant("text");
      T::copies = 0;
      REQUIRE(send(form, value, 1h));
      CHECK(value.text == "text");
      CHECK(T::copies == 1);
      CHECK(ring.recv()->text == "text");
      REQUIRE(send(form, constant, 1h));
      CHECK(constant.text == "text");
      CHECK(T::copies == 2);

      // Full: nothing happens to what is offered.
      CHECK_FALSE(send(form, value, 1ms));
      CHECK_FALSE(send(form, std::move(value), 1ms));
      CHECK(value.text == "text");
      CHECK(ring.recv()->text == "text");

      T::copies = 0;
      REQUIRE(send(form, std::move(value), 1h));
      CHECK(value.text == "moved from");
      CHECK(T::copies == 0);
      CHECK(ring.recv()->text == "text");
    }
  });
}

}  // namespace

TEST_CASE("an lvalue is copied and an rvalue moved, in each form of sending, only if it is sent") {
  check_copies_and_moves<offered<false>>();
}

TEST_CASE("an element whose move may throw is copied and moved in the same way") {
  check_copies_and_moves<offered<true>>();
}

IN_RUNTIME("try_send copies nothing while there is no room") {
  using value_type = offered<false>;
  const value_type value("text");
  value_type::copies = 0;
  const thrum::chan<value_type> unbuffered(0);
  CHECK_FALSE(unbuffered.try_send(value));
  CHECK_FALSE(thrum::chan<value_type>().try_send(value));
  const thrum::chan<value_type> full(1);
  full.send(value_type("text"));
  CHECK_FALSE(full.try_send(value));
  CHECK(value_type::copies == 0);
  full.close();
  CHECK(is_usage_error("chan::send", [&] { static_cast<void>(full.try_send(value)); }));
}

IN_RUNTIME("a copy that throws leaves the channel and the value as they were") {
  struct throws_on_copy {
    std::string text;
    explicit throws_on_copy(const char* of) : text(of) {}
    throws_on_copy(const throws_on_copy& /*other*/) { throw std::runtime_error("copied"); }
    throws_on_copy(throws_on_copy&&) noexcept = default;
    throws_on_copy& operator=(const throws_on_copy&) = delete;
    throws_on_copy& operator=(throws_on_copy&&) = delete;
    ~throws_on_copy() = default;
  };
  const thrum::chan<throws_on_copy> c(1);
  throws_on_copy value("text");
  CHECK_THROWS_AS(static_cast<void>(c.try_send(value)), std::runtime_error);
  CHECK_THROWS_AS(c.send_for(value, 1h), std::runtime_error);
  CHECK(c.size() == 0);
  CHECK(value.text == "text");
  CHECK(c.try_send(std::move(value)));
  CHECK(c.recv()->text == "text");
}

IN_RUNTIME("an lvalue that cannot be copied is moved from only if it is sent, in each form") {
  const thrum::chan<std::unique_ptr<int>> ring(1);
  const forms_of_sending<std::unique_ptr<int>> send{ring};
  for (int form = 0; form != send.number; ++form) {
    auto value = std::make_unique<int>(form);
    ring.send(nullptr);
    CHECK_FALSE(send(form, value, 1ms));
    REQUIRE(value != nullptr);
    ring.recv();
    CHECK(send(form, value, 1h));
    CHECK(value == nullptr);
    CHECK(**ring.recv() == form);
  }
}

IN_RUNTIME("what converts to an element is sent as one") {
  const thrum::chan<std::string> c(3);
  CHECK(c.try_send("a"));
  CHECK(c.send_for("b", 1h));
  CHECK(c.try_send({'c', 'd'}));
  CHECK(*c.recv() == "a");
  CHECK(*c.recv() == "b");
  CHECK(*c.recv() == "cd");
}

TEST_CASE("a send until a moment of a clock that is set back lasts until that clock says so") {
  const auto send = [] {
    const thrum::chan<int> c(0);
    auto when = set_back_clock::soon();
    CHECK_FALSE(c.send_until(1, when));
    CHECK(set_back_clock::now() >= when);
    const thrum::chan<void> signals(0);
    when = set_back_clock::soon();
    CHECK_FALSE(signals.send_until(when));
    CHECK(set_back_clock::now() >= when);
    when = set_back_clock::soon();
    CHECK_FALSE(thrum::chan<int>().send_until(1, when));
    CHECK(set_back_clock::now() >= when);
  };
  send();
  with_runtime(send);
}
