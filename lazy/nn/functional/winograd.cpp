#include "lazy/nn/functional/winograd.hpp"

#include <array>
#include <span>

#include "lazy/nn/functional/phases.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/arithmetic.hpp"

namespace lazy::detail {

thread_local constinit bool WinogradScope::on_ = false;

namespace {

constexpr int kTaps = 3;
constexpr int kMostTile = 6;

/// Holds a matrix by rows: what a tile is multiplied by from the left, and its transpose from the right.
struct Matrix {
  int rows, columns;
  std::array<double, kMostTile * kMostTile> numbers;
  double operator()(int i, int j) const { return numbers[static_cast<size_t>(i * columns + j)]; }
};

/// Says how tiles of m x m results are computed, from tiles of m + 2: results are
/// back (weights w weights^T * tile d tile^T) back^T.
struct Transforms {
  int m;
  Matrix tile, weights, back;
};

// From the points 0, 1, -1, (2, -2) and infinity.
constexpr Transforms kOfTwo{2,
                            {4, 4, {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}},
                            {4, 3, {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1}},
                            {2, 4, {1, 1, 1, 0, 0, 1, -1, -1}}};
constexpr Transforms kOfFour{
    4,
    {6, 6, {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
            0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1}},
    {6,
     3,
     {1 / 4.0, 0, 0, -1 / 6.0, -1 / 6.0, -1 / 6.0, -1 / 6.0, 1 / 6.0, -1 / 6.0, 1 / 24.0, 1 / 12.0, 1 / 6.0,
      1 / 24.0, -1 / 12.0, 1 / 6.0, 0, 0, 1}},
    {4, 6, {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1}}};

/// Records sums with the numbers of a matrix.
class Sums {
 public:
  explicit Sums(const Problem& p) : r_{p.name, p.site} {}

  /// Returns matrix x matrix^T, for x[i, j] at x[i * columns + j].
  std::vector<Handle> both_sides(const Matrix& m, const std::vector<Handle>& x) const {
    const int n = m.columns;
    std::vector<Handle> half, all;
    for (int i = 0; i < m.rows; ++i)
      for (int j = 0; j < n; ++j)
        half.push_back(row(m, i, [&](int k) { return x[static_cast<size_t>(k * n + j)]; }));
    for (int i = 0; i < m.rows; ++i)
      for (int j = 0; j < m.rows; ++j)
        all.push_back(row(m, j, [&](int k) { return half[static_cast<size_t>(i * n + k)]; }));
    return all;
  }

 private:
  template <class Part>
  Handle row(const Matrix& m, int i, Part&& part) const {
    Handle sum;
    for (int k = 0; k < m.columns; ++k) {
      const double number = m(i, k);
      if (number == 0) continue;
      const Handle& h = part(k);
      if (!sum)
        sum = number == 1 ? h : number == -1 ? r_.op(Op::negative, h) : r_.op(Op::multiply, h, number);
      else if (number == 1) sum = r_.op(Op::add, sum, h);
      else if (number == -1) sum = r_.op(Op::subtract, sum, h);
      else sum = r_.fma(h, r_.number(number, h->dtype), sum);
    }
    return sum;
  }
  Recorder r_;
};

/// Holds the extents of a convolution's results, and of its tiles.
struct Tiles {
  int64_t rows, columns, down, across;
  Tiles(const Handle& image, const Dims& padding, int m)
      : rows(image->shape[1] + 2 * padding[0] - (kTaps - 1)),
        columns(image->shape[2] + 2 * padding[1] - (kTaps - 1)),
        down(divide_up(rows, int64_t{m})),
        across(divide_up(columns, int64_t{m})) {}
};

/// Returns how long products of so many rows take, in units of a product of two numbers: each number of the
/// weights is read besides.
double cost_of(double matrices, double rows, double weights) {
  constexpr double kReading = 10;  // products in the time in which a number comes from memory
  return matrices * weights * (rows + kReading);
}

}  // namespace

int winograd_tile(const Problem& p, const Handle& image, const Handle& w, const Dims& padding) {
  constexpr int64_t kFewChannels = 32;  // with which sums before and after products take as long as these
  const auto all = [](const Dims& d, int64_t v) { return d.size() == 2 && d[0] == v && d[1] == v; };
  if (p.result != float32 || image->dtype != float32 || w->dtype != float32 || p.groups != 1) return 0;
  if (!all(p.stride, 1) || !all(p.dilation, 1) || padding.size() != 2) return 0;
  const Shape& k = w->shape;
  if (k[0] != kTaps || k[1] != kTaps || k[2] < kFewChannels || k[3] < kFewChannels) return 0;
  const auto batch = static_cast<double>(image->shape[0]), weights = static_cast<double>(k[2] * k[3]);
  const Tiles one(image, padding, 1);
  if (one.rows <= 0 || one.columns <= 0 || batch == 0) return 0;
  double least = cost_of(kTaps * kTaps, batch * static_cast<double>(one.rows * one.columns), weights);
  int best = 0;
  for (const Transforms* t : {&kOfTwo, &kOfFour}) {
    const Tiles tiles(image, padding, t->m);
    const double matrices = (t->m + 2) * (t->m + 2),
                 count = batch * static_cast<double>(tiles.down * tiles.across);
    // Sums read and write each number of a tile some times.
    const double sums = matrices * count * 16 * static_cast<double>(k[2] + k[3]);
    const double cost = cost_of(matrices, count, weights) + sums;
    if (cost < 0.9 * least) least = cost, best = t->m;
  }
  return best;
}

Handle winograd(const Problem& p, const Handle& image, const Handle& w, const Dims& padding, int m) {
  const Transforms& t = m == 2 ? kOfTwo : kOfFour;
  const Site& s = p.site;
  const Sums sums(p);
  const Tiles tiles(image, padding, m);
  const int tile = m + 2;
  const int64_t batch = image->shape[0], channels = image->shape[3], results = w->shape[3];
  const std::vector<Handle> matrices = [&] {
    const jit::Purpose purpose(p.purposes.weights);
    std::vector<Handle> taps;
    for (int i = 0; i < kTaps; ++i)
      for (int j = 0; j < kTaps; ++j)
        taps.push_back(
            detail::reshape(detail::slice(w, {i, j, 0, 0}, Dims(4, 1), {1, 1, channels, results}, s),
                            {channels, results}, s));
    return sums.both_sides(t.weights, taps);
  }();
  const std::vector<Handle> columns = [&] {
    const jit::Purpose purpose(p.purposes.image);
    const Handle whole = framed(p.name, image, 1, {-padding[0], -padding[1]},
                                {m * tiles.down + 2, m * tiles.across + 2}, ScalarNumber(0), s);
    std::vector<Handle> places;
    for (int i = 0; i < tile; ++i)
      for (int j = 0; j < tile; ++j)
        places.push_back(
            detail::slice(whole, {0, i, j, 0}, {1, m, m, 1}, {batch, tiles.down, tiles.across, channels}, s));
    return sums.both_sides(t.tile, places);
  }();
  std::vector<Handle> products;
  {
    const jit::Purpose purpose(p.purposes.products);
    const int64_t rows = batch * tiles.down * tiles.across;
    for (size_t i = 0; i < columns.size(); ++i)
      products.push_back(
          detail::matmul(p.name, detail::reshape(columns[i], {rows, channels}, s), matrices[i], s));
  }
  const jit::Purpose purpose(p.purposes.image);
  const std::vector<Handle> parts = sums.both_sides(t.back, products);
  Handle all = overwritten(p.result, {batch, tiles.down, m, tiles.across, m, results}, image->device, s);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const Handle part = detail::reshape(parts[static_cast<size_t>(i * m + j)],
                                          {batch, tiles.down, 1, tiles.across, 1, results}, s);
      all = slice_update(p.name, all, part, {0, 0, i, 0, j, 0}, Dims(6, 1), s);
    }
  const Handle whole = detail::reshape(all, {batch, m * tiles.down, m * tiles.across, results}, s);
  return detail::slice(whole, Dims(4, 0), Dims(4, 1), {batch, tiles.rows, tiles.columns, results}, s);
}

}  // namespace lazy::detail
