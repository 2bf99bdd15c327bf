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
  LapackFunctions<float> single;
  LapackFunctions<double> wide;
  LapackFunctions<std::complex<float>> single_complex;
  LapackFunctions<std::complex<double>> wide_complex;
  std::function<int()> threads;  // of the whole process; empty if the library starts none
  std::function<void(int)> set_threads;
  std::string why;  // why it was not opened; empty if it was
};

template <class T>
void need_all(OptionalLibrary& library, const std::string& letter, LapackFunctions<T>& l) {
  const auto name = [&](const char* of) { return "LAPACKE_" + letter + of + "_work"; };
  library.need(name("trtrs"), l.trtrs).need(name("gelqf"), l.gelqf);
  library.need(name("gesdd"), l.gesdd).need(name("geev"), l.geev);
  if constexpr (jit::calls::is_complex_v<T>)
    library.need(name("unglq"), l.unglq).need(name("heevd"), l.heevd);
  else library.need(name("orglq"), l.orglq).need(name("syevd"), l.syevd);
}

Opened open() {
  Opened o;
  OptionalLibrary library("liblapacke.so.3");
  need_all(library, "s", o.single);
  need_all(library, "d", o.wide);
  need_all(library, "c", o.single_complex);
  need_all(library, "z", o.wide_complex);
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
Lapack<T> lapack(const char* op, const Site& site) {
  const Opened& o = opened();
  check_opened(op, "LAPACKE", o.why, "liblapacke", site);
  if constexpr (std::is_same_v<T, float>) return Lapack<T>(o.single);
  else if constexpr (std::is_same_v<T, double>) return Lapack<T>(o.wide);
  else if constexpr (std::is_same_v<T, std::complex<float>>) return Lapack<T>(o.single_complex);
  else return Lapack<T>(o.wide_complex);
}
template Lapack<float> lapack(const char*, const Site&);
template Lapack<double> lapack(const char*, const Site&);
template Lapack<std::complex<float>> lapack(const char*, const Site&);
template Lapack<std::complex<double>> lapack(const char*, const Site&);

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
