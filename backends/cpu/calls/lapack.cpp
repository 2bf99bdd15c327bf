#include "backends/cpu/calls/lapack.hpp"

#include <dlfcn.h>

#include <string>

#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

struct Opened {
  Lapack functions;
  std::string why;  // why it was not opened; empty if it was
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Opened open() {
  Opened o;
  void* const library = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library && find(library, "LAPACKE_spotrf_work", o.functions.spotrf) &&
      find(library, "LAPACKE_dpotrf_work", o.functions.dpotrf))
    return o;
  const char* const why = dlerror();
  o.why = why ? why : "liblapacke.so.3 lacks a function";
  return o;
}

}  // namespace

const Lapack& lapack(const char* op, const Site& site) {
  static constinit Once<Opened> library;
  const Opened& o = library.get(open);
  if (!o.why.empty())
    throw DeviceError(std::string(op) + " needs LAPACKE, which can't be opened (" + o.why +
                          "). On Debian: apt-get install liblapacke",
                      site);
  return o.functions;
}

}  // namespace lazy::cpu_backend
