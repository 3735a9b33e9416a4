// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ms and Ps around an idle_set, as far as all models of a small scheduler have them in common. A
// thread that would be created is one that next goes to sleep.
#ifndef THRUM_TESTS_MODEL_IDLE_PARTS_HPP
#define THRUM_TESTS_MODEL_IDLE_PARTS_HPP

#include "assertions.hpp"

#include <thrum/sched/queue/idle.hpp>

#include "objects.hpp"

namespace model {

/// `Work` is what a P has to give: the base of each P.
template <class Traits, class Work>
class idle_parts {
 public:
  struct p_type : Work {
    cell<p_type*> idle_next{nullptr};
  };
  struct m_type {
    cell<m_type*> idle_next{nullptr};
    cell<bool> spinning{false};
    cell<p_type*> next_p{nullptr};
    p_type* p = nullptr;
    note park;
  };

  void wake_claimed() {
    idle.lock().lock();
    p_type* const p = idle.take_p_to_spin_locked();
    if (p == nullptr) {
      idle.lock().unlock();
      return;
    }
    start_m(*p, true);
  }

  /// Caller holds the lock, which is released here.
  void start_m(p_type& p, bool spinning) {
    m_type* const m = idle.take_m_locked();
    if (m == nullptr) {
      require(unmanned == nullptr, "the model has room for one unmanned P");
      unmanned = &p;
      unmanned_spins = spinning;
      idle.lock().unlock();
      return;
    }
    m->spinning = spinning;
    m->next_p = &p;
    idle.lock().unlock();
    m->park.wake();
  }

  /// False: nobody will ever wake this M.
  bool stop_m(m_type& m) {
    idle.lock().lock();
    if (unmanned != nullptr) {
      m.p = unmanned;
      m.spinning = unmanned_spins;
      unmanned = nullptr;
      idle.lock().unlock();
      return true;
    }
    idle.put_m_locked(m);
    idle.lock().unlock();
    if (!m.park.sleep()) {
      return false;
    }
    m.park.clear();
    m.p = m.next_p;
    return true;
  }

  struct name {
    explicit name(const char* text) { name_atomics(text); }
  };
  name idle_name{"idle"};  // .0 spinning, .1 need_spinning, .2 and .3 the lists' lengths
  thrum::sched::idle_set<Traits, p_type, m_type, mutex> idle;

 private:
  p_type* unmanned = nullptr;
  bool unmanned_spins = false;
};

}  // namespace model

#endif
