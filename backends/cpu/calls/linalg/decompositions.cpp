// Decomposes matrices by LAPACK, which takes a row-major matrix for its transpose: the matrix's own
// decomposition follows from that of its transpose, without copies. x^T = L Q gives x = Q^T L^T, and x^T = U
// S V gives x = V^T S U^T; what is transposed lies row-major in memory then. A Hermitian matrix is the
// conjugate of its transpose, and so are its eigenvectors.
#include "backends/cpu/calls/linalg/linalg.hpp"
#include "backends/cpu/calls/linalg/matrices.hpp"
#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/qr.hpp"
#include "jit/built_in/linalg/svd.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace jit::calls;
using jit::CallRun;

double flops(int64_t a, int64_t b, int64_t c, double factor) {
  return factor * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c) + 1000;
}

/// Writes matrices with ones on the diagonal, else 0; nothing if nobody reads them.
template <class T>
void identities(T* to, const Shape& shape) {
  if (!to) return;
  const Batch b(shape);
  std::fill_n(to, b.count * b.size(), T{0});
  for (int64_t m = 0; m < b.count; ++m)
    for (int64_t i = 0; i < std::min(b.rows, b.columns); ++i) to[m * b.size() + i * (b.columns + 1)] = T{1};
}

struct Qr {
  static constexpr const char* kSchedule = "LAPACKE_xgelqf, LAPACKE_xorglq";

  /// Factors matrices [first, last): `x` is a matrix of n columns, then reflections in its rows.
  template <class T>
  static void some(const CallRun& r, const Lapack<T>& library, int64_t first, int64_t last) {
    const Batch b(r.operands[0].shape), q(r.outputs[0].shape), upper(r.outputs[1].shape);
    const int64_t m = b.rows, n = b.columns, k = std::min(m, n), width = q.columns;
    const auto x = scratch<T>(m * n), tau = scratch<T>(k), columns = scratch<T>(m * width);
    T length[2];
    library.gelqf(i32(n), i32(m), x.get(), i32(n), tau.get(), length, -1);
    library.orglq(i32(width), i32(m), i32(k), columns.get(), i32(width), tau.get(), length + 1, -1);
    const int32_t lwork = std::max(queried(length[0]), queried(length[1]));
    const auto work = scratch<T>(lwork);
    for (int64_t i = first; i < last; ++i) {
      std::copy_n(input<T>(r, 0) + i * m * n, m * n, x.get());
      library.gelqf(i32(n), i32(m), x.get(), i32(n), tau.get(), work.get(), lwork);
      if (r.out[1]) {
        T* const to = output<T>(r, 1) + i * upper.size();
        for (int64_t row = 0; row < upper.rows; ++row) {
          const int64_t below = std::min(row, n);
          std::fill_n(to + row * n, below, T{0});
          std::copy(x.get() + row * n + below, x.get() + (row + 1) * n, to + row * n + below);
        }
      }
      if (!r.out[0]) continue;
      T* const to = output<T>(r, 0) + i * q.size();
      for (int64_t row = 0; row < m; ++row) {
        std::copy_n(x.get() + row * n, std::min(n, width), to + row * width);
        std::fill(to + row * width + std::min(n, width), to + (row + 1) * width, T{0});
      }
      library.orglq(i32(width), i32(m), i32(k), to, i32(width), tau.get(), work.get(), lwork);
    }
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    const Batch b(r.operands[0].shape), q(r.outputs[0].shape);
    // Of no elements, Q is the identity, or has none.
    if (b.size() == 0) return identities(output<T>(r, 0), r.outputs[0].shape);
    share_with_library(r, b.count, flops(b.rows, q.columns, std::min(b.rows, b.columns), 4),
                       [&](int64_t first, int64_t last) { some(r, library, first, last); });
  }
};

struct Eigh {
  static constexpr const char* kSchedule = "LAPACKE_xsyevd";

  template <class T>
  static void some(const CallRun& r, const Lapack<T>& library, Outcomes& outcomes, int64_t first,
                   int64_t last) {
    const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
    const int64_t n = r.operands[0].shape.back();
    const char job = flags & kValuesOnly ? 'N' : 'V', uplo = flags & kUpperTriangle ? 'L' : 'U';
    T* const vectors = flags & kValuesOnly ? nullptr : output<T>(r, 1);
    const auto x = scratch<T>(vectors ? 0 : n * n);
    const auto values = scratch<RealOf<T>>(n);
    T length;
    RealOf<T> real_length = 0;
    int32_t integers;
    library.syevd(job, uplo, i32(n), x.get(), i32(n), values.get(), &length, -1, &real_length, -1, &integers,
                  -1);
    const int32_t lwork = queried(length), lrwork = queried(real_length);
    const auto work = scratch<T>(lwork);
    const auto rwork = scratch<RealOf<T>>(lrwork);
    const auto iwork = scratch<int32_t>(integers);
    for (int64_t m = first; m < last; ++m) {
      T* const a = vectors ? vectors + m * n * n : x.get();
      std::copy_n(input<T>(r, 0) + m * n * n, n * n, a);
      outcomes[m] = library.syevd(job, uplo, i32(n), a, i32(n), values.get(), work.get(), lwork, rwork.get(),
                                  lrwork, iwork.get(), integers);
      if (r.out[0]) std::copy_n(values.get(), n, output<RealOf<T>>(r, 0) + m * n);
    }
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    need_finite(r, read_by(r.spec));
    const Batch b(r.operands[0].shape);
    if (b.rows == 0) return;
    Outcomes outcomes(b.count);
    share_with_library(r, b.count, flops(b.rows, b.rows, b.rows, 4),
                       [&](int64_t first, int64_t last) { some(r, library, outcomes, first, last); });
    outcomes.tell([&](int64_t m, int) { fail_to_converge(r, m); });
  }
};

struct Svd {
  static constexpr const char* kSchedule = "LAPACKE_xgesdd";

  template <class T>
  static void some(const CallRun& r, const Lapack<T>& library, Outcomes& outcomes, int64_t first,
                   int64_t last) {
    const uint32_t flags = r.spec.as<MatrixAttributes>().flags;
    const bool vectors = !(flags & kSingularValuesOnly), full = (flags & kFullMatrices) != 0;
    const Batch b(r.operands[0].shape);
    const int64_t k = std::min(b.rows, b.columns), width = full ? b.rows : k, height = full ? b.columns : k;
    const char job = !vectors ? 'N' : full ? 'A' : 'S';
    T* const out_u = vectors ? output<T>(r, 0) : nullptr;
    auto* const out_s = output<RealOf<T>>(r, vectors ? 1 : 0);
    T* const out_v = vectors ? output<T>(r, 2) : nullptr;
    const auto x = scratch<T>(b.size()), u = scratch<T>(vectors ? b.rows * width : 0),
               v = scratch<T>(vectors ? height * b.columns : 0);
    const auto s = scratch<RealOf<T>>(k);
    const int64_t reals =
        !vectors ? 7 * k : std::max(5 * k + 5, 2 * std::max(b.rows, b.columns) + 2 * k + 1) * k;
    const auto rwork = scratch<RealOf<T>>(Lapack<T>::kComplex ? reals : 0);
    const auto iwork = scratch<int32_t>(8 * k);
    const auto gesdd = [&](T* to_v, T* to_u, T* work, int32_t lwork) {
      return library.gesdd(job, i32(b.columns), i32(b.rows), x.get(), i32(b.columns), s.get(), to_v,
                           i32(b.columns), to_u, i32(std::max<int64_t>(width, 1)), work, lwork, rwork.get(),
                           iwork.get());
    };
    T length;
    gesdd(v.get(), u.get(), &length, -1);
    const int32_t lwork = queried(length);
    const auto work = scratch<T>(lwork);
    for (int64_t m = first; m < last; ++m) {
      std::copy_n(input<T>(r, 0) + m * b.size(), b.size(), x.get());
      T* const to_u = out_u ? out_u + m * b.rows * width : u.get();
      T* const to_v = out_v ? out_v + m * height * b.columns : v.get();
      outcomes[m] = gesdd(to_v, to_u, work.get(), lwork);
      if (out_s) std::copy_n(s.get(), k, out_s + m * k);
    }
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    need_finite(r);
    const Batch b(r.operands[0].shape);
    if (b.size() == 0) {  // full matrices are the identity
      if (r.outputs.size() == 1) return;
      identities(output<T>(r, 0), r.outputs[0].shape);
      identities(output<T>(r, 2), r.outputs[2].shape);
      return;
    }
    Outcomes outcomes(b.count);
    share_with_library(r, b.count, flops(b.rows, b.columns, std::min(b.rows, b.columns), 10),
                       [&](int64_t first, int64_t last) { some(r, library, outcomes, first, last); });
    outcomes.tell([&](int64_t m, int) { fail_to_converge(r, m); });
  }
};

/// Writes the eigenvectors of a real matrix, which are rows: of a pair of complex ones there are two rows,
/// the parts of the first one.
template <class R>
void write_vectors(const R* values, const R* rows, int64_t n, std::complex<R>* to) {
  const R* const imaginary = values + n;
  for (int64_t i = 0; i < n; ++i) {
    const bool pair = imaginary[i] != 0;
    for (int64_t j = 0; j < n; ++j) {
      const R im = pair ? rows[(i + 1) * n + j] : 0;
      to[i * n + j] = {rows[i * n + j], im};
      if (pair) to[(i + 1) * n + j] = {rows[i * n + j], -im};
    }
    if (pair) ++i;
  }
}

struct Eig {
  static constexpr const char* kSchedule = "LAPACKE_xgeev";

  template <class T>
  static void some(const CallRun& r, const Lapack<T>& library, Outcomes& outcomes, int64_t first,
                   int64_t last) {
    using R = RealOf<T>;
    using C = std::complex<R>;
    const bool vectors = !(r.spec.as<MatrixAttributes>().flags & kEigenvaluesOnly);
    const int64_t n = r.operands[0].shape.back();
    C* const out = vectors ? output<C>(r, 1) : nullptr;
    const auto x = scratch<T>(n * n), values = scratch<T>(2 * n), rows = scratch<T>(vectors ? n * n : 0);
    const auto rwork = scratch<R>(2 * n);
    const auto geev = [&](T* work, int32_t lwork) {
      return library.geev(vectors ? 'V' : 'N', i32(n), x.get(), i32(n), values.get(), rows.get(), i32(n),
                          work, lwork, rwork.get());
    };
    T length;
    geev(&length, -1);
    const int32_t lwork = queried(length);
    const auto work = scratch<T>(lwork);
    for (int64_t m = first; m < last; ++m) {
      transpose(input<T>(r, 0) + m * n * n, n, n, x.get());
      outcomes[m] = geev(work.get(), lwork);
      C* const to = r.out[0] ? output<C>(r, 0) + m * n : nullptr;
      if constexpr (Lapack<T>::kComplex) {
        if (to) std::copy_n(values.get(), n, to);
        if (out) std::copy_n(rows.get(), n * n, out + m * n * n);
      } else {
        for (int64_t i = 0; to && i < n; ++i) to[i] = {values[i], values[n + i]};
        if (out && !outcomes[m]) write_vectors(values.get(), rows.get(), n, out + m * n * n);
      }
    }
  }

  template <class T>
  static void all(const CallRun& r, const Lapack<T>& library) {
    need_finite(r);
    const Batch b(r.operands[0].shape);
    if (b.rows == 0) return;
    Outcomes outcomes(b.count);
    share_with_library(r, b.count, flops(b.rows, b.rows, b.rows, 25),
                       [&](int64_t first, int64_t last) { some(r, library, outcomes, first, last); });
    outcomes.tell([&](int64_t m, int) { fail_to_converge(r, m); });
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_qr() { return std::make_unique<LapackCall<Qr>>(); }
std::unique_ptr<jit::CallKernel> make_eigh() { return std::make_unique<LapackCall<Eigh>>(); }
std::unique_ptr<jit::CallKernel> make_svd() { return std::make_unique<LapackCall<Svd>>(); }
std::unique_ptr<jit::CallKernel> make_eig() { return std::make_unique<LapackCall<Eig>>(); }

}  // namespace lazy::cpu_backend
