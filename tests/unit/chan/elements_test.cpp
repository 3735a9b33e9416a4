// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What channels do with their elements: moved, kept, destroyed, aligned, large.
#include <thrum/chan.hpp>
#include <thrum/detail/chan/element.hpp>

#include "support/test.hpp"

#include <numeric>

using thrum::recv_status;

namespace {

/// Counts its objects, and knows which were moved from.
struct counted {
  static inline std::atomic<int> alive{0};
  int value;
  explicit counted(int v) : value(v) { ++alive; }
  counted(counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  counted& operator=(counted&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
  ~counted() { --alive; }
};

/// Throws when it is moved while that is asked for.
struct throws_on_move {
  static inline std::atomic<bool> armed{false};
  std::string text;
  explicit throws_on_move(std::string t) : text(std::move(t)) {}
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): it throws
  throws_on_move(throws_on_move&& other) : text((check(), std::move(other.text))) {}
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): it throws
  throws_on_move& operator=(throws_on_move&& other) {
    check();
    text = std::move(other.text);
    return *this;
  }
  ~throws_on_move() = default;
  static void check() {
    if (armed) {
      throw std::runtime_error("moved");
    }
  }
};

struct alignas(64) over_aligned {
  char c;
};

}  // namespace

IN_RUNTIME("elements may be move-only, and each is destroyed once") {
  for (const std::size_t capacity : {0U, 1U, 3U}) {
    thrum::chan<counted> c(capacity);
    auto receiver = thrum::spawn([c]() mutable {
      int sum = 0;
      for (counted& element : c) {
        sum += element.value;
      }
      return sum;
    });
    for (int i = 1; i <= 100; ++i) {
      c.send(counted(i));
    }
    c.close();
    REQUIRE(receiver.join() == 5'050);
  }
  CHECK(counted::alive == 0);
}

IN_RUNTIME("elements that are still buffered go with the last handle") {
  {
    thrum::chan<counted> c(10);
    for (int i = 0; i != 7; ++i) {
      c.send(counted(i));
    }
    c.recv();
    c.send(counted(7));
    thrum::chan<counted> other = c;
    c = thrum::chan<counted>();
    CHECK(counted::alive == 7);
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("elements of goroutines that are unwound at stop are destroyed") {
  {
    thrum::chan<counted> c(1);
    with_runtime([&] {
      for (int i = 0; i != 10; ++i) {
        thrum::go([c, i]() mutable { c.send(counted(i)); });
      }
      REQUIRE(are_waiting(9));
    });
    CHECK(counted::alive == 1);
  }
  CHECK(counted::alive == 0);
}

IN_RUNTIME("a value that is not sent stays as it was") {
  thrum::chan<std::unique_ptr<int>> c(0);
  auto value = std::make_unique<int>(7);
  CHECK_FALSE(c.try_send(value));
  REQUIRE(value != nullptr);
  CHECK_FALSE(c.send_for(value, 1ms));
  REQUIRE(value != nullptr);
  CHECK_FALSE(c.try_send(std::move(value)));
  // NOLINTBEGIN(bugprone-use-after-move): what was not sent is not moved
  REQUIRE(value != nullptr);
  CHECK(*value == 7);
  // NOLINTEND(bugprone-use-after-move)
  auto receiver = thrum::spawn([c]() mutable { return **c.recv(); });
  CHECK(c.send_for(value, support::long_time));
  CHECK(value == nullptr);
  CHECK(receiver.join() == 7);
}

IN_RUNTIME("an element whose move throws leaves the channel as it was") {
  thrum::chan<throws_on_move> c(2);
  c.send(throws_on_move("first"));
  throws_on_move second("second");
  throws_on_move::armed = true;
  CHECK_THROWS_AS(c.try_send(second), std::runtime_error);
  CHECK(c.size() == 1);
  throws_on_move::armed = false;
  CHECK(second.text == "second");
  CHECK(c.try_send(second));
  throws_on_move third("third");
  CHECK_FALSE(c.try_send(third));
  CHECK(third.text == "third");
  CHECK(c.recv()->text == "first");
  CHECK(c.recv()->text == "second");
}

IN_RUNTIME("elements keep their alignment in the buffer and on the way") {
  for (const std::size_t capacity : {0U, 3U}) {
    thrum::chan<over_aligned> c(capacity);
    thrum::go([c]() mutable {
      for (char i = 0; i != 10; ++i) {
        c.send({i});
      }
    });
    for (char i = 0; i != 10; ++i) {
      over_aligned received{};
      REQUIRE(c.recv(received) == recv_status::ok);
      REQUIRE(received.c == i);
    }
  }
}

IN_RUNTIME("large elements travel whole") {
  struct large {
    std::uint64_t words[1'000];
  };
  thrum::chan<large> c(2);
  thrum::go([c]() mutable {
    for (std::uint64_t i = 0; i != 50; ++i) {
      large element;
      std::iota(std::begin(element.words), std::end(element.words), i);
      c.send(element);
    }
    c.close();
  });
  std::uint64_t i = 0;
  for (const large& element : c) {
    REQUIRE(element.words[0] == i);
    REQUIRE(element.words[999] == i + 999);
    ++i;
  }
  CHECK(i == 50);
}

IN_RUNTIME("channels travel through channels") {
  thrum::chan<thrum::chan<int>> requests(0);
  thrum::go([requests]() mutable {
    for (thrum::chan<int>& reply : requests) {
      reply.send(42);
    }
  });
  for (int i = 0; i != 100; ++i) {
    thrum::chan<int> reply(0);
    requests.send(reply);
    REQUIRE(reply.recv() == 42);
  }
  requests.close();
}

//

#include <variant>

namespace {

namespace cd = thrum::chan_detail;

// Its move may throw, so it must not lie in a channel itself.
struct may_throw {
  explicit may_throw(int of) : value(of) {}
  may_throw(may_throw&& other) : value(std::exchange(other.value, 0)) {}  // NOLINT: on purpose
  may_throw& operator=(may_throw&& other) {                               // NOLINT: on purpose
    value = std::exchange(other.value, 0);
    return *this;
  }
  ~may_throw() = default;
  int value;
};

// Cannot be assigned.
struct made_once {
  explicit made_once(int of) : value(of) {}
  made_once(made_once&& other) noexcept : value(std::exchange(other.value, 0)) {}
  made_once& operator=(made_once&&) = delete;
  ~made_once() = default;
  int value;
};

struct unmovable {
  unmovable(const unmovable&) = delete;
  unmovable& operator=(const unmovable&) = delete;
};

}  // namespace

TEST_CASE("an element whose move cannot throw lies in the channel as itself") {
  CHECK((std::is_same_v<cd::chan_element<int>::type, int>));
  CHECK((std::is_same_v<cd::chan_element<std::string>::type, std::string>));
  CHECK((std::is_same_v<cd::chan_element<made_once>::type, made_once>));
  auto element = cd::chan_element<std::string>::wrap("text");
  CHECK(cd::chan_element<std::string>::unwrap(element) == "text");
}

TEST_CASE("an element whose move may throw lies in a box") {
  using element = cd::chan_element<may_throw>;
  CHECK((element::is_boxed));
  CHECK((std::is_same_v<element::type, std::unique_ptr<may_throw>>));
  auto boxed = element::wrap(may_throw(7));
  CHECK(boxed->value == 7);
  const may_throw taken(element::unwrap(boxed));
  CHECK(taken.value == 7);
  CHECK(boxed->value == 0);
}

TEST_CASE("a signal lies in a channel as nothing") {
  CHECK((std::is_same_v<cd::chan_element<void>::type, std::monostate>));
}

TEST_CASE("what cannot be an element stands for another type once that was said") {
  CHECK((std::is_same_v<cd::element_or_other<int>, int>));
  CHECK((std::is_same_v<cd::element_or_other<int&>, int>));
  CHECK((std::is_same_v<cd::element_or_other<unmovable>, void>));
}

TEST_CASE("a value that was not sent goes back by assignment, or is constructed again") {
  may_throw assigned(0);
  may_throw from(3);
  cd::put_back(assigned, from);
  CHECK(assigned.value == 3);
  CHECK(from.value == 0);

  made_once remade(0);
  made_once kept(4);
  cd::put_back(remade, kept);
  CHECK(remade.value == 4);
  CHECK(kept.value == 0);
}
