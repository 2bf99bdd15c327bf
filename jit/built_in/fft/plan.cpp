#include "jit/built_in/fft/plan.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <numbers>

#include "jit/built_in/fft/rows.hpp"
#include "support/arithmetic.hpp"
#include "support/lock.hpp"

namespace lazy::jit::calls {

Root root_of_unity(int64_t k, int64_t n) {
  // An eighth of the circle is computed; the rest mirrors it.
  k %= n;
  if (k < 0) k += n;
  const int64_t eight = 8 * k;
  const auto at = [n](int64_t eighths_over_n) {
    return static_cast<double>(eighths_over_n) * (std::numbers::pi / 4) / static_cast<double>(n);
  };
  const int64_t octant = eight / n, rest = eight - octant * n;
  const double angle = octant % 2 == 0 ? at(rest) : at(n - rest);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

namespace {

/// Returns the factors, in the order of passes; none if a prime among them is too large for one.
std::vector<int> factors_of(int64_t n) {
  std::vector<int> factors;
  const auto take = [&](int f) {
    while (n % f == 0) factors.push_back(f), n /= f;
  };
  int power = 0;  // of two
  while (n % (int64_t{2} << power) == 0) ++power;
  // Few passes; eight or sixteen at first, so that the next pass has as many numbers side by side. More
  // sixteens do not pay: they do not fit the registers.
  if (power == 7 || power == 10) factors.push_back(16), n /= 16;
  while (n % 8 == 0 && n != 16) factors.push_back(8), n /= 8;
  take(4);
  take(2);
  const auto twos = static_cast<std::ptrdiff_t>(factors.size());
  // The largest prime first: more numbers are side by side then. Before a two alone, too.
  for (const int f : {31, 29, 23, 19, 17, 13, 11, 7, 5, 3}) take(f);
  if (n > 1) factors.clear();
  else if (!factors.empty() && factors.front() == 2)
    std::rotate(factors.begin(), factors.begin() + twos, factors.end());
  return factors;
}

/// Returns a short length, of at least n, that vectors divide.
int64_t convenient_from(int64_t n) {
  int64_t best = 64;
  while (best < n) best *= 2;
  for (const int64_t odd : {3, 5, 9, 15}) {
    int64_t all = 64 * odd;
    while (all < n) all *= 2;
    best = std::min(best, all);
  }
  return best;
}

/// Returns the number of rows of the matrix as which n numbers are transformed; 0 if they are not.
template <class T>
int64_t rows_of_matrix(int64_t n) {
  constexpr int64_t shortest = (int64_t{1} << 17) / static_cast<int64_t>(sizeof(T)), W = kFftSideBySide<T>;
  if (n < shortest) return 0;
  // Near the square root, and such that whole lines are read and written.
  int64_t best = 0;
  double least = 0;
  const double middle = std::sqrt(static_cast<double>(n));
  for (int64_t d = 2; d * d <= n * 16; ++d) {
    if (n % d != 0) continue;
    const double ragged = (d % W != 0 ? 1 : 0) + (n / d % W != 0 ? 1 : 0);
    const double cost = std::abs(std::log2(static_cast<double>(d) / middle)) + ragged;
    if (best == 0 || cost < least) best = d, least = cost;
  }
  return best;
}

template <class T>
void add_root(std::vector<T>& re, std::vector<T>& im, int64_t k, int64_t n) {
  const Root w = root_of_unity(k, n);
  re.push_back(static_cast<T>(w.re));
  im.push_back(static_cast<T>(-w.im));
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t n, bool of_real, bool whole) : length(n) {
  if (of_real && n % 2 == 0 && n > 0) {
    half = std::make_unique<const FftPlan>(n / 2);
    for (int64_t k = 0; k <= n / 2; ++k) add_root(chirp_re, chirp_im, k, n);
    return;
  }
  const std::vector<int> factors = factors_of(n);
  if (factors.empty() && n > 1) {
    inner = std::make_unique<const FftPlan>(convenient_from(2 * n - 1));
    const int64_t m = inner->length;
    chirp_re.resize(static_cast<size_t>(n));
    chirp_im.resize(static_cast<size_t>(n));
    std::vector<T> re_in(static_cast<size_t>(m)), im_in(static_cast<size_t>(m));
    int64_t square = 0;  // k^2 modulo 2n
    for (int64_t k = 0; k < n; ++k) {
      const Root w = root_of_unity(square, 2 * n);
      const auto at = static_cast<size_t>(k), mirror = static_cast<size_t>(k == 0 ? 0 : m - k);
      chirp_re[at] = static_cast<T>(w.re);
      chirp_im[at] = static_cast<T>(-w.im);
      re_in[at] = re_in[mirror] = static_cast<T>(w.re);
      im_in[at] = im_in[mirror] = static_cast<T>(w.im);
      square = (square + 2 * k + 1) % (2 * n);
    }
    kernel_re.resize(static_cast<size_t>(m));
    kernel_im.resize(static_cast<size_t>(m));
    std::vector<T> scratch(static_cast<size_t>(inner->scratch(1)));
    fft_of_row<T, 1>(*inner, re_in.data(), im_in.data(), kernel_re.data(), kernel_im.data(), scratch.data(),
                     fft_alone);
    const T by = static_cast<T>(1 / static_cast<double>(m));  // of the transform back
    for (size_t i = 0; i < kernel_re.size(); ++i) kernel_re[i] *= by, kernel_im[i] *= by;
    return;
  }
  if (const int64_t n1 = whole ? 0 : rows_of_matrix<T>(n)) {
    split = std::make_unique<const FftSplit<T>>(n1, n / n1);
    return;
  }
  int64_t rest = n;
  for (const int radix : factors) {
    const int64_t groups = rest / radix;
    passes.push_back({radix, groups, roots.size()});
    const Pass& pass = passes.back();
    roots.resize(pass.roots + static_cast<size_t>(divide_up(groups, kBlock) * (radix - 1) * 2 * kBlock));
    for (int k = 1; k < radix; ++k)
      for (int64_t p = 0; p < groups; ++p) {
        const Root w = root_of_unity(k * p, rest);
        T* const at = roots.data() + (roots_of(pass, p) - roots.data()) + of_root(k);
        at[0] = static_cast<T>(w.re);
        at[kBlock] = static_cast<T>(-w.im);
      }
    rest = groups;
  }
}

template <class T>
FftPlan<T>::~FftPlan() = default;

template <class T>
int64_t FftPlan<T>::scratch(int64_t lanes) const {
  if (inner) return 4 * inner->length * lanes + inner->scratch(lanes);
  if (split) return 2 * split->plane();
  return 4 * apart(length * lanes);
}

template <class T>
FftSplit<T>::FftSplit(int64_t n1, int64_t n2) : columns(n1, false, true), rows(n2, false, true) {
  constexpr int64_t W = kFftSideBySide<T>;
  const int64_t n = n1 * n2;
  for (int64_t k = 0; k < round_up(n1, W); ++k)
    for (int64_t l = 0; l < W; ++l) add_root(near_re, near_im, k * l % n, n);
  for (fine = 16; fine * fine < n; fine *= 2) {}
  for (int64_t t = 0; t < fine; ++t) add_root(fine_re, fine_im, t, n);
  // Lanes beyond the last row ask for roots beyond the last.
  for (int64_t t = 0; t <= ((n1 + W) * (n2 + W)) / fine; ++t) add_root(coarse_re, coarse_im, t * fine % n, n);
}

template <class T>
int64_t FftSplit<T>::plane() const {
  constexpr int64_t W = kFftSideBySide<T>;
  // A block of rows may begin with the last one.
  return FftPlan<T>::apart((divide_up(rows.length, W) * columns.length + W) * W);
}

template <class T>
int64_t FftSplit<T>::scratch_of_blocks() const {
  constexpr int64_t W = kFftSideBySide<T>;
  const int64_t for_columns = 2 * columns.length * W + columns.scratch(W);
  const int64_t for_rows =
      2 * FftPlan<T>::apart(round_up(rows.length, W) * W) + 2 * rows.length * W + rows.scratch(W);
  return std::max(for_columns, for_rows);
}

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t length, bool of_real) {
  constexpr size_t kMost = 32;  // plans of a dtype
  using Plans = std::list<std::shared_ptr<const FftPlan<T>>>;
  static constinit Mutex lock;
  static Plans* const all[] = {new Plans,
                               new Plans};  // never destroyed: threads may run until the process ends
  Plans* const plans = all[of_real];
  {
    const Hold hold(lock);
    for (auto p = plans->begin(); p != plans->end(); ++p)
      if ((*p)->length == length) {
        plans->splice(plans->begin(), *plans, p);
        return plans->front();
      }
  }
  auto made = std::make_shared<const FftPlan<T>>(length, of_real);
  const Hold hold(lock);
  plans->push_front(made);
  if (plans->size() > kMost) plans->pop_back();
  return made;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template struct FftSplit<float>;
template struct FftSplit<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t, bool);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t, bool);

}  // namespace lazy::jit::calls
