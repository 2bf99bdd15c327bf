#include "backends/cpu/calls/lapack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

struct Opened {
  Lapack<float> single;
  Lapack<double> wide;
  int (*threads)() = nullptr;  // of an OpenBLAS, else null
  void (*set_threads)(int) = nullptr;
  std::string why;  // why it was not opened; empty if it was
};

template <class F>
bool find(void* library, const std::string& name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name.c_str()));
  return function != nullptr;
}

template <class T>
bool find_all(void* library, const std::string& letter, Lapack<T>& l) {
  const auto one = [&](const char* name, auto& f) {
    return find(library, "LAPACKE_" + letter + name + "_work", f);
  };
  return one("trtrs", l.trtrs) && one("gelqf", l.gelqf) && one("orglq", l.orglq) && one("gesdd", l.gesdd) &&
         one("syevd", l.syevd) && one("geev", l.geev);
}

Opened open() {
  Opened o;
  void* const library = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library && find_all(library, "s", o.single) && find_all(library, "d", o.wide)) {
    // Symbols of the libraries that it needs are found, too.
    if (!find(library, "openblas_get_num_threads", o.threads) ||
        !find(library, "openblas_set_num_threads", o.set_threads))
      o.threads = nullptr, o.set_threads = nullptr;
    return o;
  }
  const char* const why = dlerror();
  o.why = why ? why : "liblapacke.so.3 lacks a function";
  return o;
}

const Opened& opened() {
  static constinit Once<Opened> library;
  return library.get(open);
}

std::mutex limits;
int scopes = 0;  // how many LibraryThreads there are
int before = 0;  // the library's number of threads outside of them

}  // namespace

template <class T>
const Lapack<T>& lapack(const char* op, const Site& site) {
  const Opened& o = opened();
  if (!o.why.empty())
    throw DeviceError(std::string(op) + " needs LAPACKE, which can't be opened (" + o.why +
                          "). On Debian: apt-get install liblapacke",
                      site);
  if constexpr (sizeof(T) == sizeof(float)) return o.single;
  else return o.wide;
}
template const Lapack<float>& lapack(const char*, const Site&);
template const Lapack<double>& lapack(const char*, const Site&);

LibraryThreads::LibraryThreads(int limit) {
  const Opened& o = opened();
  if (!o.set_threads) return;
  const std::lock_guard lock(limits);
  const int now = o.threads();
  if (scopes++ == 0) before = now;
  if (limit < now) o.set_threads(limit);
}

LibraryThreads::~LibraryThreads() {
  const Opened& o = opened();
  if (!o.set_threads) return;
  const std::lock_guard lock(limits);
  if (--scopes == 0 && o.threads() != before) o.set_threads(before);
}

}  // namespace lazy::cpu_backend
