// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Power series as networks of goroutines: a series is a goroutine that gives its coefficients one
// by one, on demand, and an operation on series is a goroutine that asks its operands. After M. D.
// McIlroy, "Squinting at power series": every operation follows from the head and the tail of its
// operands, F = f + x F', and what refers to itself is fed back through a split.
//
//   F * G  = f g + x (f G' + g F' + x F' G')
//   1 / F  = R   where R = 1/f - x (1/f) F' R
//   exp F  = E   where E = 1 + integral of F'E (F' the derivative), for f = 0
//   F(G)   = f + G' x F'(G), for g = 0
//   F^-1   = R   where R = x / F'(R), for f = 0
#ifndef THRUM_TESTS_GO_POWER_SERIES_HPP
#define THRUM_TESTS_GO_POWER_SERIES_HPP

#include <thrum.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

namespace power_series {

/// A fraction in lowest terms with a positive denominator.
struct rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  constexpr rational() = default;
  constexpr rational(std::int64_t n, std::int64_t d = 1)  // NOLINT: a whole number is one
      : numerator(n), denominator(d) {
    const std::int64_t common = std::gcd(n, d) * (d < 0 ? -1 : 1);
    numerator /= common;
    denominator /= common;
  }

  friend constexpr rational operator+(rational a, rational b) {
    const std::int64_t common = std::gcd(a.denominator, b.denominator);
    return {a.numerator * (b.denominator / common) + b.numerator * (a.denominator / common),
            a.denominator / common * b.denominator};
  }
  friend constexpr rational operator*(rational a, rational b) {
    const rational x(a.numerator, b.denominator);  // shortened crosswise, so that little overflows
    const rational y(b.numerator, a.denominator);
    return {x.numerator * y.numerator, x.denominator * y.denominator};
  }
  friend constexpr rational operator/(rational a, rational b) {
    return a * rational(b.denominator, b.numerator);
  }
  friend constexpr rational operator-(rational a) { return {-a.numerator, a.denominator}; }
  friend constexpr bool operator==(rational a, rational b) = default;
  friend std::ostream& operator<<(std::ostream& out, rational r) {
    return out << r.numerator << '/' << r.denominator;
  }
};

/// How coefficients travel: as themselves, or each in an allocation of its own that cannot be
/// copied.
struct by_value {
  using element = rational;
  static element pack(rational r) { return r; }
  static rational unpack(element e) { return e; }
};
struct by_owner {
  using element = std::unique_ptr<rational>;
  static element pack(rational r) { return std::make_unique<rational>(r); }
  static rational unpack(element e) { return *e; }
};

/// The series and their operations, with coefficients that travel as `Carrier` says. An operand is
/// used up by the operation: two users need a split.
template <class Carrier>
struct network {
  using element = typename Carrier::element;

  /// A stream of coefficients on demand: a signal asks for the next one.
  struct series {
    thrum::chan<void> request{0};
    thrum::chan<element> answer{0};

    rational get() const {
      request.send();
      return Carrier::unpack(answer.recv().value());
    }
    /// Waits to be asked, then computes.
    template <class Compute>
    void serve(Compute compute) const {
      request.recv();
      answer.send(Carrier::pack(compute()));
    }
    void serve_rest(const series& from) const {
      for (;;) {
        serve([&] { return from.get(); });
      }
    }
  };

  using pair = std::array<series, 2>;

  /// The next coefficient of both, asked for at the same time: neither waits for the other.
  static std::array<rational, 2> get_both(const series& f, const series& g) {
    const series none{thrum::chan<void>(), thrum::chan<element>()};
    std::array<series, 2> from = {f, g};
    std::array<thrum::chan<element>, 2> asked;  // nil until the request is sent
    std::array<rational, 2> result;
    for (int steps = 4; steps != 0; --steps) {
      const auto ask = [&](std::size_t i) {
        return thrum::on_send(from[i].request, [&, i] {
          asked[i] = from[i].answer;
          from[i] = none;
        });
      };
      const auto take = [&](std::size_t i) {
        return thrum::on_recv(asked[i], [&, i](std::optional<element> e) {
          result[i] = Carrier::unpack(std::move(e.value()));
          asked[i] = thrum::chan<element>();
        });
      };
      thrum::select(ask(0), take(0), ask(1), take(1));
    }
    return result;
  }

  /// Starts a goroutine that makes a series.
  template <class Body>
  static series make(Body body) {
    const series out;
    thrum::go([out, body] { body(out); });
    return out;
  }

  /// One series for two users, each at its own pace. What one is ahead is kept for the other, which
  /// is served also while the next coefficient is being computed: that computation may depend on
  /// it.
  static pair split(const series& from) {
    const pair to;
    thrum::go([from, to] {
      std::array<std::deque<rational>, 2> kept;
      std::array<bool, 2> wanted = {false, false};
      bool asked = false;
      for (;;) {
        const bool ask =
            !asked && ((wanted[0] && kept[0].empty()) || (wanted[1] && kept[1].empty()));
        const auto request = [&](std::size_t i) {
          return thrum::on_recv(wanted[i] ? thrum::chan<void>() : to[i].request,
                                [&, i] { wanted[i] = true; });
        };
        std::array<element, 2> next;
        const auto answer = [&](std::size_t i) {
          const bool can = wanted[i] && !kept[i].empty();
          next[i] = Carrier::pack(can ? kept[i].front() : rational());
          return thrum::on_send(can ? to[i].answer : thrum::chan<element>(), std::move(next[i]),
                                [&, i] {
                                  kept[i].pop_front();
                                  wanted[i] = false;
                                });
        };
        thrum::select(
            request(0), request(1), answer(0), answer(1),
            thrum::on_send(ask ? from.request : thrum::chan<void>(), [&] { asked = true; }),
            thrum::on_recv(asked ? from.answer : thrum::chan<element>(),
                           [&](std::optional<element> e) {
                             const rational r = Carrier::unpack(std::move(e.value()));
                             kept[0].push_back(r);
                             kept[1].push_back(r);
                             asked = false;
                           }));
      }
    });
    return to;
  }

  /// These coefficients, then zeros.
  static series polynomial(std::vector<rational> coefficients) {
    return make([coefficients](const series& out) {
      for (std::size_t i = 0;; ++i) {
        out.serve([&] { return i < coefficients.size() ? coefficients[i] : rational(); });
      }
    });
  }

  /// c + c x + c x^2 + ...
  static series repeat(rational c) {
    return make([c](const series& out) {
      for (;;) {
        out.serve([&] { return c; });
      }
    });
  }

  static series add(const series& f, const series& g) {
    return make([f, g](const series& out) {
      for (;;) {
        out.serve([&] {
          const auto [a, b] = get_both(f, g);
          return a + b;
        });
      }
    });
  }

  static series scale(rational c, const series& f) {
    return make([c, f](const series& out) {
      for (;;) {
        out.serve([&] { return c * f.get(); });
      }
    });
  }

  /// c + x F.
  static series shift(rational c, const series& f) {
    return make([c, f](const series& out) {
      out.serve([&] { return c; });
      out.serve_rest(f);
    });
  }

  static series multiply(const series& f, const series& g) {
    return make([f, g](const series& out) {
      std::array<rational, 2> head;
      out.serve([&] {
        head = get_both(f, g);
        return head[0] * head[1];
      });
      const pair ff = split(f);
      const pair gg = split(g);
      out.serve_rest(
          add(add(scale(head[0], gg[0]), scale(head[1], ff[0])), shift(0, multiply(ff[1], gg[1]))));
    });
  }

  static series derivative(const series& f) {
    return make([f](const series& out) {
      for (std::int64_t n = 1;; ++n) {
        out.serve([&] {
          if (n == 1) {
            f.get();  // the constant goes
          }
          return rational(n) * f.get();
        });
      }
    });
  }

  /// The integral whose constant is c.
  static series integral(rational c, const series& f) {
    return make([c, f](const series& out) {
      out.serve([&] { return c; });
      for (std::int64_t n = 1;; ++n) {
        out.serve([&] { return rational(1, n) * f.get(); });
      }
    });
  }

  /// The series that `body` makes with itself as an operand.
  template <class Body>
  static series fed_back(Body body) {
    const series whole;
    const pair uses = split(whole);
    thrum::go([whole, again = uses[1], body] { body(whole, again); });
    return uses[0];
  }

  static series reciprocal(const series& f) {
    return fed_back([f](const series& out, const series& again) {
      rational inverse;
      out.serve([&] { return inverse = rational(1) / f.get(); });
      out.serve_rest(scale(-inverse, multiply(f, again)));
    });
  }

  static series exponential(const series& f) {
    return fed_back([f](const series& out, const series& again) {
      out.serve_rest(integral(1, multiply(derivative(f), again)));
    });
  }

  /// F(G).
  static series substitute(const series& f, const series& g) {
    return make([f, g](const series& out) {
      out.serve([&] { return f.get(); });
      const pair gg = split(g);
      gg[0].get();  // 0
      out.serve_rest(multiply(gg[0], substitute(f, gg[1])));
    });
  }

  /// R with F(R) = x.
  static series reversion(const series& f) {
    return fed_back([f](const series& out, const series& again) {
      out.serve([] { return rational(); });
      f.get();  // 0
      out.serve_rest(reciprocal(substitute(f, again)));
    });
  }

  static std::vector<rational> take(std::size_t n, const series& f) {
    std::vector<rational> result;
    for (std::size_t i = 0; i != n; ++i) {
      result.push_back(f.get());
    }
    return result;
  }
};

}  // namespace power_series

#endif
