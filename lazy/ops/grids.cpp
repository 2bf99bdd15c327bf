#include "lazy/ops/grids.hpp"

#include <algorithm>
#include <cmath>

#include "jit/backend/registry.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

Device device_of(const MaybeDevice& d, const Site& s) { return d.given ? d.value : jit::default_device(s); }

void check_number(const Recorder& r, IntegerArg num) {
  if (num < 0) r.fail<ShapeError>("the number of values can't be negative: " + std::to_string(num.value));
  check_countable(r.name, {num.value}, r.site);
}

/// Returns the rows and columns of the elements between two diagonals' ends: of each row those columns in
/// [first, last).
template <class F>
Tensor positions(const Recorder& r, IntegerArg rows, IntegerArg columns, MaybeDevice device, F&& span) {
  if (rows < 0) r.fail<ShapeError>("the number of rows can't be negative: " + std::to_string(rows.value));
  const int64_t m = rows, n = columns < 0 ? rows : columns;
  Wide count = 0;
  for (int64_t i = 0; i < m; ++i) {
    const auto [first, last] = span(i, n);
    count += std::max<int64_t>(last - first, 0);
  }
  const int64_t total = narrow(r.name, "a number of", count * 2, r.site) / 2;
  check_countable(r.name, {2, total}, r.site);
  std::vector<int64_t> both(static_cast<size_t>(total) * 2);
  size_t at = 0;
  for (int64_t i = 0; i < m; ++i) {
    const auto [first, last] = span(i, n);
    for (int64_t j = first; j < last; ++j, ++at) {
      both[at] = i;
      both[at + static_cast<size_t>(total)] = j;
    }
  }
  return from_elements(r.name, both.data(), both.size(), {2, total}, int64, int64, device, r.site);
}

/// Returns the sum within the range of a column number.
int64_t column(int64_t row, int64_t k, int64_t n) {
  return static_cast<int64_t>(std::clamp<Wide>(Wide(row) + k, 0, n));
}

DType common_dtype(const Recorder& r, const std::vector<Tensor>& xs, const char* what) {
  if (xs.empty()) r.fail<ShapeError>(std::string("expected at least one ") + what);
  for (const Tensor& x : xs)
    if (!x.defined()) throw_empty(r.name, r.site);
  DType t = xs[0].dtype(r.site);
  for (const Tensor& x : xs) t = promote(r.name, t, x.dtype(r.site), r.site);
  return t;
}

/// Makes a filled tensor where x is.
Tensor made_like(const char* name, Arg& x, const Shape& shape, const ScalarNumber& value, MaybeDType t,
                 MaybeDevice d) {
  const Recorder r{name, x.site()};
  const Operand h(name, x);
  check_extents(name, shape, r.site);
  check_countable(name, shape, r.site);
  const DType dtype = t.or_else(h->dtype);
  check_fits(name, Arg(value, r.site), dtype);
  if (d.given) return full(shape, value, dtype, d, r.site);
  return r.tensor(r.filled(value, dtype, shape, h));
}

}  // namespace

Tensor logspace(ScalarNumber start, ScalarNumber stop, IntegerArg num, bool endpoint, double base,
                MaybeDType t, MaybeDevice device, Site s) {
  const Recorder r{"logspace", s};
  check_number(r, num);
  const Tensor exponents = linspace(start, stop, num, endpoint, float64, device, s);
  return r.tensor(r.as(t.or_else(get_default_dtype()), r.op(Op::power, base, exponents.handle())));
}

Tensor geomspace(ScalarNumber start, ScalarNumber stop, IntegerArg num, bool endpoint, MaybeDType t,
                 MaybeDevice device, Site s) {
  const Recorder r{"geomspace", s};
  check_number(r, num);
  const double a = start.as_double(), b = stop.as_double();
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0 || (a < 0) != (b < 0))
    r.fail<Error>("start and stop are finite, not 0 and of one sign, not " + std::to_string(a) + " and " +
                  std::to_string(b));
  const double low = in_default_mode([&] { return std::log10(std::abs(a)); });
  const double high = in_default_mode([&] { return std::log10(std::abs(b)); });
  const Tensor exponents = linspace(low, high, num, endpoint, float64, device, s);
  const Handle e = exponents.handle();
  Handle y = r.op(Op::copysign, r.op(Op::power, 10, e), r.number(a, float64));
  const Handle i = r.index(0, {num.value}, e);
  y = r.where(r.op(Op::equal, i, 0), a, y);
  if (endpoint && num > 1) y = r.where(r.op(Op::equal, i, num.value - 1), b, y);
  return r.tensor(r.as(t.or_else(get_default_dtype()), y));
}

Tensor indices(ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  const Recorder r{"indices", s};
  check_extents(r.name, shape, s);
  const int rank = shape.size();
  if (rank == kMaxRank) r.fail<ShapeError>(to_string(shape) + " has the most dimensions possible");
  Shape whole{rank};
  for (const int64_t n : shape) whole.push_back(n);
  check_countable(r.name, whole, s);
  const Device d = device_of(device, s);
  if (rank == 0) return r.tensor(detail::constant(jit::Scalar{}, t.or_else(int64), whole, d, s));
  Handle y;
  for (int a = 0; a < rank; ++a) {
    const Handle along = iota(a + 1, whole, d, s);
    if (!y) y = along;
    else y = r.where(r.op(Op::equal, iota(0, whole, d, s), a), along, y);
  }
  return r.tensor(r.as(t.or_else(int64), y));
}

Tensor tril_indices(IntegerArg rows, IntegerArg columns, IntegerArg k, MaybeDevice device, Site s) {
  return positions({"tril_indices", s}, rows, columns, device,
                   [&](int64_t i, int64_t n) { return std::pair(int64_t{0}, column(i + 1, k, n)); });
}

Tensor triu_indices(IntegerArg rows, IntegerArg columns, IntegerArg k, MaybeDevice device, Site s) {
  return positions({"triu_indices", s}, rows, columns, device,
                   [&](int64_t i, int64_t n) { return std::pair(column(i, k, n), n); });
}

Tensor cartesian_prod(const std::vector<Tensor>& xs, Site s) {
  const Recorder r{"cartesian_prod", s};
  const DType t = common_dtype(r, xs, "vector");
  if (xs.size() > static_cast<size_t>(kMaxRank))
    r.fail<ShapeError>("takes up to " + std::to_string(kMaxRank) + " vectors, not " +
                       std::to_string(xs.size()));
  const int n = static_cast<int>(xs.size());
  Shape grid;
  Wide count = 1;
  for (const Tensor& x : xs) {
    if (x.ndim(s) != 1) r.fail<ShapeError>("takes vectors, not " + to_string(x.shape(s)));
    grid.push_back(x.size(0, s));
    count *= x.size(0, s);
    narrow(r.name, "a number of", count, s);
  }
  const int64_t number = narrow(r.name, "a number of", count, s);
  check_countable(r.name, {number, n}, s);
  if (n == 1) return r.tensor(Operand(r.name, Arg(xs[0], s)));
  std::vector<Tensor> columns;
  for (int a = 0; a < n; ++a) {
    Shape along(n, 1);
    along[a] = grid[a];
    const Handle h = r.reshape(Operand(r.name, Arg(xs[static_cast<size_t>(a)], s), t), along);
    columns.push_back(r.tensor(r.reshape(r.broadcast(h, grid), {number})));
  }
  return stack(columns, 1, s);
}

Tensor block_diag(const std::vector<Tensor>& xs, Site s) {
  const Recorder r{"block_diag", s};
  const DType t = common_dtype(r, xs, "matrix");
  std::vector<Handle> blocks;
  Wide rows = 0, columns = 0;
  for (const Tensor& x : xs) {
    const Shape shape = x.shape(s);
    if (shape.size() > 2) r.fail<ShapeError>("takes matrices, not " + to_string(shape));
    const Shape matrix = shape.size() == 2 ? shape : shape.size() == 1 ? Shape{1, shape[0]} : Shape{1, 1};
    blocks.push_back(r.reshape(Operand(r.name, Arg(x, s), t), matrix));
    rows += matrix[0], columns += matrix[1];
  }
  const Shape whole{narrow(r.name, "an extent of", rows, s), narrow(r.name, "an extent of", columns, s)};
  check_countable(r.name, whole, s);
  Handle y = r.filled(0, t, whole, blocks[0]);
  Dims start(2, 0);
  for (const Handle& b : blocks) {
    check_devices(r.name, {&y, &b}, s);
    if (b->shape == whole) return r.tensor(b);
    if (numel(b->shape) > 0) y = slice_update(r.name, y, b, start, Dims(2, 1), s);
    start[0] += b->shape[0], start[1] += b->shape[1];
  }
  return r.tensor(y);
}

Tensor new_zeros(Arg x, ShapeArg shape, MaybeDType t, MaybeDevice d) {
  return made_like("new_zeros", x, shape, 0, t, d);
}
Tensor new_ones(Arg x, ShapeArg shape, MaybeDType t, MaybeDevice d) {
  return made_like("new_ones", x, shape, 1, t, d);
}
Tensor new_empty(Arg x, ShapeArg shape, MaybeDType t, MaybeDevice d) {
  return made_like("new_empty", x, shape, 0, t, d);
}
Tensor new_full(Arg x, ShapeArg shape, ScalarNumber value, MaybeDType t, MaybeDevice d) {
  return made_like("new_full", x, shape, value, t, d);
}

}  // namespace lazy
