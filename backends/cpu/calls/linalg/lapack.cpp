#include "backends/cpu/calls/linalg/lapack.hpp"

#include <functional>
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
  std::function<int()> threads;  // of the whole process; empty if the library starts none
  std::function<void(int)> set_threads;
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
  int (*threads)() = nullptr;
  void (*set)(int) = nullptr;
  int64_t (*wide_threads)() = nullptr;
  void (*set_wide)(int64_t) = nullptr;
  const auto has = [&](const char* get, const char* put) {
    return library.find(get, threads) && library.find(put, set);
  };
  if (has("openblas_get_num_threads", "openblas_set_num_threads") ||
      has("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"))
    o.threads = threads, o.set_threads = set;
  else if (library.find("bli_thread_get_num_threads", wide_threads) &&
           library.find("bli_thread_set_num_threads", set_wide))
    o.threads = [=] { return static_cast<int>(wide_threads()); }, o.set_threads = set_wide;
  return o;
}

const Opened& opened() {
  static constinit Once<Opened> library;
  return library.get(open);
}

std::mutex limits;
int scopes = 0;  // how many OneLibraryThread there are
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

OneLibraryThread::OneLibraryThread() {
  const Opened& o = opened();
  if (!o.set_threads) return;
  const std::lock_guard lock(limits);
  if (scopes++ > 0) return;
  before = o.threads();
  if (before != 1) o.set_threads(1);
}

OneLibraryThread::~OneLibraryThread() {
  const Opened& o = opened();
  if (!o.set_threads) return;
  const std::lock_guard lock(limits);
  if (--scopes == 0 && before != 1) o.set_threads(before);
}

}  // namespace lazy::cpu_backend
