// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// words: a module for Python that reads and counts in goroutines, beside a program that knows nothing
// of them. demo.py shows its use.
//
//   import words
//   words.count(paths, on_file=None, limit=64) -> {word: how often}
//
//   on_file  is called with each path when it has been counted, from goroutines; what it raises ends
//            the call
//   limit    so many files are open at the same time
//
// Raises OSError for a file that cannot be read. Control-C ends it with KeyboardInterrupt.
//
// The rules for an extension
//   The interpreter's lock belongs to a thread. So no goroutine waits while it holds it, and Python is
//   called inside blocking(), where a goroutine keeps its thread and has no processor to be taken.
//   Whoever waits for goroutines in a thread of Python's gives the lock back for that time, and comes
//   back every 50 ms to ask whether Python wants to end it.
//   The runtime is made by the first call, and anew in a child of fork: what the parent made has no
//   threads there. It is stopped by Python's atexit, before Python itself comes to its end. A thread
//   that then asks for the interpreter's lock is ended by Python, in the middle of whatever C++ it is
//   in. So atexit waits until every call has come back to Python, and no further one begins.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <thrum.hpp>

#include "../word_tally.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

/// Its scope is without the interpreter's lock.
class without_lock {
 public:
  without_lock() : state_(PyEval_SaveThread()) {}
  without_lock(const without_lock&) = delete;
  without_lock& operator=(const without_lock&) = delete;
  ~without_lock() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* const state_;
};

/// What one call of Python's is about.
struct request {
  std::vector<std::string> paths;
  PyObject* on_file = nullptr;  // borrowed: the caller waits
  std::size_t limit = 64;

  thrum::mutex lock;
  tally words;

  // What on_file has raised first. With the interpreter's lock.
  PyObject* raised[3] = {};
};

/// The call is over: on_file has raised something, which `raised` holds.
struct python_raised : std::exception {};

void tell_python(request& of, const std::string& path) {
  if (of.on_file == nullptr) {
    return;
  }
  const bool is_well = thrum::blocking([&] {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject* const result =
        PyObject_CallFunction(of.on_file, "s#", path.data(), static_cast<Py_ssize_t>(path.size()));
    if (result == nullptr) {
      if (of.raised[0] == nullptr) {
        PyErr_Fetch(&of.raised[0], &of.raised[1], &of.raised[2]);
      } else {
        PyErr_Clear();
      }
    }
    Py_XDECREF(result);
    PyGILState_Release(state);
    return result != nullptr;
  });
  if (!is_well) {
    throw python_raised();
  }
}

/// In a goroutine, without the interpreter's lock.
void count_all(request& of, const std::stop_token& stop) {
  thrum::task_group files(of.limit);
  const std::stop_token failed = files.stop_token();
  const auto is_over = [&] { return stop.stop_requested() || failed.stop_requested(); };
  for (const std::string& path : of.paths) {
    if (is_over()) {
      break;
    }
    files.go([&of, &path, &is_over] {
      if (is_over()) {
        return;
      }
      const std::string text = thrum::io::read_file(path);
      tally own;
      own.add_text(text, false);
      {
        const std::lock_guard guard(of.lock);
        of.words.add_all(own);
      }
      tell_python(of, path);
    });
  }
  files.wait();
}

/// The runtime of this process, and who uses it; made by its first use, and never moved. All of it is
/// looked at with the interpreter's lock.
struct engine {
  std::unique_ptr<thrum::runtime> runtime;
  ::pid_t of = 0;
  int calls = 0;
  bool is_over = false;

  /// In a child of fork() the runtime has no threads that could be joined, and the calls of other
  /// threads are gone: what it was stays as it is.
  void be_of_this_process() {
    if (of != ::getpid()) {
      static_cast<void>(runtime.release());
      runtime = std::make_unique<thrum::runtime>();
      of = ::getpid();
      calls = 0;
    }
  }
};
engine& of_process() {
  static engine one;
  return one;
}

/// While there is one, Python does not come to its end.
class counted_call {
 public:
  counted_call() {
    of_process().be_of_this_process();
    ++of_process().calls;
  }
  counted_call(const counted_call&) = delete;
  counted_call& operator=(const counted_call&) = delete;
  ~counted_call() { --of_process().calls; }
};

/// Waits without the interpreter's lock, but for a look at signals. False: Python wants to end it,
/// and its error is set.
template <class Job>
bool wait_for(Job& job) {
  constexpr std::chrono::milliseconds between_looks(50);
  for (;;) {
    {
      const without_lock waits;
      if (job.wait_for(between_looks)) {
        return true;
      }
    }
    if (PyErr_CheckSignals() != 0) {
      return false;
    }
  }
}

PyObject* to_dictionary(const tally& words) {
  PyObject* const all = PyDict_New();
  if (all == nullptr) {
    return nullptr;
  }
  for (const tally::entry& each : words.entries()) {
    PyObject* const word =
        PyUnicode_DecodeASCII(each.text, static_cast<Py_ssize_t>(each.size), "strict");
    PyObject* const count = PyLong_FromUnsignedLongLong(each.count);
    const bool is_in = word != nullptr && count != nullptr && PyDict_SetItem(all, word, count) == 0;
    Py_XDECREF(word);
    Py_XDECREF(count);
    if (!is_in) {
      Py_DECREF(all);
      return nullptr;
    }
  }
  return all;
}

/// Runs it in goroutines; null, and an error of Python's, if it failed.
PyObject* run(request& of) {
  try {
    const counted_call here;
    auto job =
        of_process().runtime->spawn([&of](const std::stop_token& stop) { count_all(of, stop); });
    if (!wait_for(job)) {
      PyObject* interrupt[3];
      PyErr_Fetch(&interrupt[0], &interrupt[1], &interrupt[2]);
      job.request_stop();
      try {
        const without_lock waits;
        job.join();
      } catch (const std::exception&) {  // the interrupt is what is told
      }
      for (PyObject*& each : of.raised) {
        Py_CLEAR(each);
      }
      PyErr_Restore(interrupt[0], interrupt[1], interrupt[2]);
      return nullptr;
    }
    job.join();
    return to_dictionary(of.words);
  } catch (const python_raised&) {
    PyErr_Restore(of.raised[0], of.raised[1], of.raised[2]);
  } catch (const std::system_error& error) {
    PyErr_Format(PyExc_OSError, "words.count: %s", error.what());
  } catch (const std::exception& error) {
    PyErr_Format(PyExc_RuntimeError, "words.count: %s", error.what());
  }
  return nullptr;
}

/// The paths of a sequence. False: an error of Python's is set.
bool read_paths(PyObject* from, std::vector<std::string>& to) {
  PyObject* const all = PySequence_Fast(from, "words.count: paths is no sequence");
  if (all == nullptr) {
    return false;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(all);
  bool is_well = true;
  for (Py_ssize_t i = 0; i != n && is_well; ++i) {
    PyObject* bytes = nullptr;
    is_well = PyUnicode_FSConverter(PySequence_Fast_GET_ITEM(all, i), &bytes) != 0;
    if (is_well) {
      to.emplace_back(PyBytes_AsString(bytes));
      Py_DECREF(bytes);
    }
  }
  Py_DECREF(all);
  return is_well;
}

PyObject* count(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"paths", "on_file", "limit", nullptr};
  PyObject* paths = nullptr;
  PyObject* on_file = Py_None;
  Py_ssize_t limit = 64;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|On", const_cast<char**>(names), &paths,
                                  &on_file, &limit) == 0) {
    return nullptr;
  }
  if (of_process().is_over) {
    PyErr_SetString(PyExc_RuntimeError, "words.count: Python is coming to its end");
    return nullptr;
  }
  if (limit < 1) {
    PyErr_SetString(PyExc_ValueError, "words.count: limit is less than 1");
    return nullptr;
  }
  request of;
  of.on_file = on_file != Py_None ? on_file : nullptr;
  of.limit = static_cast<std::size_t>(limit);
  return read_paths(paths, of.paths) ? run(of) : nullptr;
}

/// For atexit. A goroutine that calls Python needs the lock to come to its end.
PyObject* stop(PyObject*, PyObject*) {
  engine& all = of_process();
  all.is_over = true;
  if (all.of == ::getpid()) {
    {
      const without_lock waits;
      all.runtime.reset();  // nobody else uses it: calls that have begun wait for their goroutines
    }
    while (all.calls != 0) {
      const without_lock waits;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"count", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&count)),
     METH_VARARGS | METH_KEYWORDS, "count(paths, on_file=None, limit=64) -> {word: how often}"},
    {"_stop", &stop, METH_NOARGS, "Ends what runs; for atexit."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "words",
                          "Counts words of files in goroutines.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

bool stop_at_exit(PyObject* module) {
  PyObject* const atexit = PyImport_ImportModule("atexit");
  PyObject* const at_end = PyObject_GetAttrString(module, "_stop");
  PyObject* const done = atexit != nullptr && at_end != nullptr
                             ? PyObject_CallMethod(atexit, "register", "O", at_end)
                             : nullptr;
  Py_XDECREF(done);
  Py_XDECREF(at_end);
  Py_XDECREF(atexit);
  return done != nullptr;
}

}  // namespace

PyMODINIT_FUNC PyInit_words() {
  PyObject* const module = PyModule_Create(&definition);
  if (module != nullptr && !stop_at_exit(module)) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
