// Opens LAPACKE when it is first needed, and declares the functions of it that are used: those that get
// their work memory, in column-major layout. A row-major matrix is the transpose of that.
#pragma once
#include <cstdint>

#include "jit/built_in/linalg/scalars.hpp"
#include "support/site.hpp"

namespace lazy::cpu_backend {

/// Returns a size as LAPACK takes it.
inline int32_t i32(int64_t n) { return static_cast<int32_t>(n); }

/// Holds the functions for real elements of type T, by their names without LAPACKE_, the type's letter and
/// _work.
template <class T>
struct LapackFunctions {
  using I = int32_t;
  int (*trtrs)(int, char uplo, char trans, char diag, I n, I nrhs, const T* a, I lda, T* b, I ldb);
  int (*gelqf)(int, I m, I n, T* a, I lda, T* tau, T* work, I lwork);
  int (*orglq)(int, I m, I n, I k, T* a, I lda, const T* tau, T* work, I lwork);
  int (*gesdd)(int, char jobz, I m, I n, T* a, I lda, T* s, T* u, I ldu, T* vt, I ldvt, T* work, I lwork,
               I* iwork);
  int (*syevd)(int, char jobz, char uplo, I n, T* a, I lda, T* w, T* work, I lwork, I* iwork, I liwork);
  int (*geev)(int, char jobvl, char jobvr, I n, T* a, I lda, T* wr, T* wi, T* vl, I ldvl, T* vr, I ldvr,
              T* work, I lwork);
};
/// Holds those for complex elements: work memory is of real numbers, too.
template <class R>
struct LapackFunctions<std::complex<R>> {
  using I = int32_t;
  using T = std::complex<R>;
  int (*trtrs)(int, char uplo, char trans, char diag, I n, I nrhs, const T* a, I lda, T* b, I ldb);
  int (*gelqf)(int, I m, I n, T* a, I lda, T* tau, T* work, I lwork);
  int (*unglq)(int, I m, I n, I k, T* a, I lda, const T* tau, T* work, I lwork);
  int (*gesdd)(int, char jobz, I m, I n, T* a, I lda, R* s, T* u, I ldu, T* vt, I ldvt, T* work, I lwork,
               R* rwork, I* iwork);
  int (*heevd)(int, char jobz, char uplo, I n, T* a, I lda, R* w, T* work, I lwork, R* rwork, I lrwork,
               I* iwork, I liwork);
  int (*geev)(int, char jobvl, char jobvr, I n, T* a, I lda, T* w, T* vl, I ldvl, T* vr, I ldvr, T* work,
              I lwork, R* rwork);
};

/// Calls the functions for elements of type T, float, double or complex numbers of these, which have one form
/// here. `rwork` is not looked at for real elements.
template <class T>
class Lapack {
 public:
  using I = int32_t;
  using R = jit::calls::RealOf<T>;
  static constexpr bool kComplex = jit::calls::is_complex_v<T>;

  explicit Lapack(const LapackFunctions<T>& f) : f_(f) {}
  int trtrs(char uplo, char trans, char diag, I n, I nrhs, const T* a, I lda, T* b, I ldb) const {
    return f_.trtrs(kColumnMajor, uplo, trans, diag, n, nrhs, a, lda, b, ldb);
  }
  int gelqf(I m, I n, T* a, I lda, T* tau, T* work, I lwork) const {
    return f_.gelqf(kColumnMajor, m, n, a, lda, tau, work, lwork);
  }
  int orglq(I m, I n, I k, T* a, I lda, const T* tau, T* work, I lwork) const {
    if constexpr (kComplex) return f_.unglq(kColumnMajor, m, n, k, a, lda, tau, work, lwork);
    else return f_.orglq(kColumnMajor, m, n, k, a, lda, tau, work, lwork);
  }
  int gesdd(char jobz, I m, I n, T* a, I lda, R* s, T* u, I ldu, T* vt, I ldvt, T* work, I lwork, R* rwork,
            I* iwork) const {
    if constexpr (kComplex)
      return f_.gesdd(kColumnMajor, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork, iwork);
    else return f_.gesdd(kColumnMajor, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork);
  }
  int syevd(char jobz, char uplo, I n, T* a, I lda, R* w, T* work, I lwork, R* rwork, I lrwork, I* iwork,
            I liwork) const {
    if constexpr (kComplex)
      return f_.heevd(kColumnMajor, jobz, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork, liwork);
    else return f_.syevd(kColumnMajor, jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork);
  }
  /// Finds eigenvalues and right eigenvectors. Of real elements eigenvalues are two arrays of n, real parts
  /// and imaginary ones, and of a pair of complex eigenvectors there are the parts.
  int geev(char jobvr, I n, T* a, I lda, T* w, T* vr, I ldvr, T* work, I lwork, R* rwork) const {
    if constexpr (kComplex)
      return f_.geev(kColumnMajor, 'N', jobvr, n, a, lda, w, nullptr, 1, vr, ldvr, work, lwork, rwork);
    else return f_.geev(kColumnMajor, 'N', jobvr, n, a, lda, w, w + n, nullptr, 1, vr, ldvr, work, lwork);
  }

 private:
  static constexpr int kColumnMajor = 102;

  const LapackFunctions<T>& f_;
};

/// Returns the functions. Throws DeviceError at `site`, which called `op`, if the library can't be opened.
template <class T>
Lapack<T> lapack(const char* op, const Site& site);

/// Keeps the library, where it is an OpenBLAS, a BLIS or an MKL, from starting threads of its own, for a
/// scope: these would share sums, whose bits would depend on their number.
class OneLibraryThread {
 public:
  OneLibraryThread();
  OneLibraryThread(const OneLibraryThread&) = delete;
  ~OneLibraryThread();
};

}  // namespace lazy::cpu_backend
