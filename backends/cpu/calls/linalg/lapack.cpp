#include "backends/cpu/calls/linalg/lapack.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/optional_library.hpp"

namespace lazy::cpu_backend {
namespace {

struct Opened {
  Lapack<float> single;
  Lapack<double> wide;
  int (*threads)() = nullptr;  // of an OpenBLAS, else null
  void (*set_threads)(int) = nullptr;
  std::string why;  // why it was not opened; empty if it was
};

template <class T>
void need_all(OptionalLibrary& library, const std::string& letter, Lapack<T>& l) {
  const auto name = [&](const char* of) { return "LAPACKE_" + letter + of + "_work"; };
  library.need(name("trtrs"), l.trtrs).need(name("gelqf"), l.gelqf).need(name("orglq"), l.orglq);
  library.need(name("gesdd"), l.gesdd).need(name("syevd"), l.syevd).need(name("geev"), l.geev);
}

Opened open() {
  Opened o;
  OptionalLibrary library("liblapacke.so.3");
  need_all(library, "s", o.single);
  need_all(library, "d", o.wide);
  o.why = library.why();
  if (!library.find("openblas_get_num_threads", o.threads) ||
      !library.find("openblas_set_num_threads", o.set_threads))
    o.threads = nullptr, o.set_threads = nullptr;
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
  check_opened(op, "LAPACKE", o.why, "liblapacke", site);
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
