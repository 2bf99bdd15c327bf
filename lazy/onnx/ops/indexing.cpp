#include "lazy/indexing/indexing.hpp"

#include <algorithm>
#include <numeric>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/indexing/sets.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/sorting.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

void gather_op(Call& c) { c.give(take(c[0], c[1], c.axis(c.integer("axis", 0), c.rank(0)))); }
bool known_gather(Call& c) {
  if (!all_known(c)) return false;
  const Known &k = *c.value(0).known(), &index = *c.value(1).known();
  if (k.shape.size() != 1 || c.axis(c.integer("axis", 0), 1) != 0) return false;
  std::vector<size_t> places;
  for (const int64_t i : index.integers) {
    const int64_t at = i < 0 ? i + k.shape[0] : i;
    if (at < 0 || at >= k.shape[0])
      c.fail<IndexError>("index " + std::to_string(i) + " is out of range for extent " +
                         std::to_string(k.shape[0]));
    places.push_back(static_cast<size_t>(at));
  }
  c.give(known_at(k, places, index.shape));
  return true;
}

void gather_elements_op(Call& c) { c.give(gather(c[0], c.axis(c.integer("axis", 0), c.rank(0)), c[1])); }

Combine combination(Call& c) {
  const std::string_view r = c.text("reduction", "none");
  return r == "add"   ? Combine::add
         : r == "mul" ? Combine::multiply
         : r == "min" ? Combine::min
         : r == "max" ? Combine::max
                      : Combine::set;
}
std::string check_reduction(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "reduction" && a.s != "none" && a.s != "add" && a.s != "mul" && a.s != "min" &&
        a.s != "max")
      return "reduction '" + std::string(a.s) + "' is not supported";
  return {};
}

void scatter_elements_op(Call& c) {
  const int axis = c.axis(c.integer("axis", 0), c.rank(0));
  const Shape shape = c.shape(0), given = c.shape(1);
  if (given.size() != shape.size())
    c.fail<ShapeError>("indices " + to_string(given) + " don't have the dimensions of " + to_string(shape));
  std::vector<Index> part(static_cast<size_t>(shape.size()), Index(_, c.site()));
  bool whole = true;
  for (int i = 0; i < shape.size(); ++i) {
    if (i == axis || given[i] == shape[i]) continue;
    whole = false;
    part[static_cast<size_t>(i)] = Index(slice(0, given[i]), c.site());
  }
  const Combine combine = combination(c);
  if (whole) return c.give(put_along_axis(c[0], c[1], c[2], axis, combine));
  Tensor x = c.tensor(0);
  const Tensor before = std::as_const(x)(std::span<const Index>(part), c.site()),
               after = put_along_axis(c.arg(before), c[1], c[2], axis, combine);
  x(std::span<const Index>(part), c.site()) = c.arg(after);
  c.give(std::move(x));
}

/// Returns positions in the flattened axes `first` to `first` + count - 1 of a shape, from tuples along the
/// last axis of the indices.
Tensor flat_positions(Call& c, const Tensor& indices, const Shape& shape, int first, int64_t count) {
  const Tensor all = indices.astype(int64, c.site());
  const int last = all.ndim(c.site()) - 1;
  Tensor position;
  for (int64_t j = 0; j < count; ++j) {
    const int64_t extent = shape[first + static_cast<int>(j)];
    const Tensor i = select(c.arg(all), last, j);
    const Tensor at =
        where(c.arg(less(c.arg(i), Arg(0, c.site()))), c.arg(add(c.arg(i), Arg(extent, c.site()))), c.arg(i));
    position = j == 0 ? at : add(c.arg(multiply(c.arg(position), Arg(extent, c.site()))), c.arg(at));
  }
  return position;
}

void gather_nd_op(Call& c) {
  const Shape shape = c.shape(0), index = c.shape(1);
  const int batch = static_cast<int>(c.integer("batch_dims", 0)), rank = shape.size();
  if (index.empty()) c.fail<ShapeError>("indices need a dimension");
  const int64_t count = index.back();
  if (batch < 0 || batch + count > rank || batch >= index.size())
    c.fail<ShapeError>("indices " + to_string(index) + " don't fit " + to_string(shape));
  const int tuple = batch + static_cast<int>(count);
  int64_t batches = 1, extent = 1;
  for (int i = 0; i < batch; ++i) batches *= shape[i];
  for (int i = batch; i < tuple; ++i) extent *= shape[i];
  Shape flat{batches * extent}, result;
  for (int i = tuple; i < rank; ++i) flat.push_back(shape[i]);
  for (int i = 0; i + 1 < index.size(); ++i) result.push_back(index[i]);
  for (int i = tuple; i < rank; ++i) result.push_back(shape[i]);
  Tensor position = count ? flat_positions(c, c.tensor(1), shape, batch, count)
                          : zeros(ShapeArg(Shape{std::span<const int64_t>(
                                      index.begin(), static_cast<size_t>(index.size() - 1))}),
                                  int64, c.device(), c.site());
  if (batch > 0) {
    const Shape whole = position.shape(c.site());
    const int64_t inner = batches ? numel(whole) / batches : 0;
    const Tensor begin = reshape(c.arg(arange(0, batches, 1, int64, c.device(), c.site())), {batches, 1});
    position = reshape(c.arg(position), {batches, inner});
    position = reshape(c.arg(add(c.arg(position), c.arg(multiply(c.arg(begin), Arg(extent, c.site()))))),
                       ShapeArg(whole));
  }
  const Tensor data = reshape(c[0], ShapeArg(flat)), found = take(c.arg(data), c.arg(position), 0);
  c.give(reshape(c.arg(found), ShapeArg(result)));
}

void scatter_nd_op(Call& c) {
  const Shape shape = c.shape(0), index = c.shape(1);
  if (index.empty() || index.back() > shape.size())
    c.fail<ShapeError>("indices " + to_string(index) + " don't fit " + to_string(shape));
  const int64_t count = index.back();
  int64_t extent = 1, rest = 1, tuples = 1;
  for (int i = 0; i < shape.size(); ++i) (i < count ? extent : rest) *= shape[i];
  for (int i = 0; i + 1 < index.size(); ++i) tuples *= index[i];
  const Tensor position = count ? flat_positions(c, c.tensor(1), shape, 0, count)
                                : zeros(ShapeArg(tuples), int64, c.device(), c.site());
  const Tensor data = reshape(c[0], {extent, rest}), at = reshape(c.arg(position), {tuples, 1}),
               updates = reshape(c[2], {tuples, rest});
  c.give(reshape(c.arg(put_along_axis(c.arg(data), c.arg(at), c.arg(updates), 0, combination(c))),
                 ShapeArg(shape)));
}

void nonzero_op(Call& c) {
  if (c.rank(0) == 0) return c.give(reshape(c.arg(nonzero(c.arg(reshape(c[0], {1})))[0]), {1, -1}));
  c.give(matrix_transpose(c.arg(argwhere(c[0]))));
}
bool known_nonzero(Call& c) {
  if (!all_known(c) || c.rank(0) == 0) return false;
  const Known& k = *c.value(0).known();
  std::vector<int64_t> found;
  for (size_t i = 0; i < k.size(); ++i)
    if (k.number(i) != 0) found.push_back(static_cast<int64_t>(i));
  const Dims strides = contiguous_strides(k.shape);
  Known r = Known::of(int64, {k.shape.size(), static_cast<int64_t>(found.size())});
  for (int a = 0; a < k.shape.size(); ++a)
    for (size_t i = 0; i < found.size(); ++i)
      r.integers[static_cast<size_t>(a) * found.size() + i] = found[i] / strides[a] % k.shape[a];
  c.give(std::move(r));
  return true;
}

void compress_op(Call& c) {
  const Tensor condition = c.tensor(1);
  c.give(c.has("axis") ? compress(c.arg(condition), c[0], c.axis(c.integer("axis", 0), c.rank(0)))
                       : compress(c.arg(condition), c[0]));
}

void one_hot_op(Call& c) {
  const int64_t depth = c.integer(1);
  const int rank = c.rank(0) + 1, axis = c.axis(c.integer("axis", -1), rank);
  const Tensor ids = c.tensor(0).astype(int64, c.site());
  const Tensor wrapped = where(c.arg(less(c.arg(ids), Arg(0, c.site()))),
                               c.arg(add(c.arg(ids), Arg(depth, c.site()))), c.arg(ids));
  Shape places(rank, 1);
  places[axis] = depth;
  const Tensor all = reshape(c.arg(arange(0, depth, 1, int64, c.device(), c.site())), ShapeArg(places)),
               at = unsqueeze(c.arg(wrapped), axis), hot = equal(c.arg(all), c.arg(at));
  const Tensor off = select(c[2], 0, 0), on = select(c[2], 0, 1);
  c.give(where(c.arg(hot), c.arg(on), c.arg(off)));
}

void reverse_sequence_op(Call& c) {
  const int time = c.axis(c.integer("time_axis", 0), c.rank(0)),
            batch = c.axis(c.integer("batch_axis", 1), c.rank(0));
  const Shape shape = c.shape(0);
  Shape along_time(shape.size(), 1), along_batch(shape.size(), 1);
  along_time[time] = shape[time];
  along_batch[batch] = shape[batch];
  const Tensor t = reshape(c.arg(arange(0, shape[time], 1, int64, c.device(), c.site())),
                           ShapeArg(along_time)),
               length = reshape(c.arg(c.tensor(1).astype(int64, c.site())), ShapeArg(along_batch));
  const Tensor mirrored = subtract(c.arg(subtract(c.arg(length), Arg(1, c.site()))), c.arg(t));
  const Tensor at = where(c.arg(less(c.arg(t), c.arg(length))), c.arg(mirrored), c.arg(t));
  c.give(take_along_axis(c[0], c.arg(at), time));
}

/// Gives what unique_all() found of slices along an axis of x, in its order or in that of where each occurs
/// first.
void give_unique(Call& c, const Tensor& x, int axis, const UniqueAll& u) {
  Tensor indices = u.indices, inverse = u.inverse, counts = u.counts;
  if (!c.integer("sorted", 1)) {
    const Tensor order = argsort(c.arg(indices)), place = argsort(c.arg(order));
    counts = take(c.arg(counts), c.arg(order), 0);
    indices = take(c.arg(indices), c.arg(order), 0);
    inverse = take(c.arg(place), c.arg(inverse), 0);
  }
  c.give(0, take(c.arg(x), c.arg(indices), axis));
  c.give(1, std::move(indices));
  c.give(2, std::move(inverse));
  c.give(3, std::move(counts));
}

/// Numbers the slices of x along axis 0 (rows of a matrix): equal ones get the same number, ascending as they
/// compare.
Tensor row_numbers(Call& c, const Tensor& rows) {
  const int64_t count = rows.size(0, c.site()), width = rows.size(1, c.site());
  Tensor number = zeros(ShapeArg(count), int64, c.device(), c.site());
  for (int64_t j = 0; j < width; ++j) {
    const UniqueInverse column = unique_inverse(c.arg(select(c.arg(rows), 1, j)));
    const Tensor both = add(c.arg(multiply(c.arg(number), Arg(count, c.site()))), c.arg(column.inverse));
    number = unique_inverse(c.arg(both)).inverse;
  }
  return number;
}

void unique_op(Call& c) {
  if (!c.has("axis")) {
    const Tensor x = flatten(c[0]);
    return give_unique(c, x, 0, unique_all(c.arg(x)));
  }
  const int axis = c.axis(c.integer("axis", 0), c.rank(0));
  const Tensor first = moveaxis(c[0], axis, 0);
  const Shape shape = first.shape(c.site());
  const Tensor rows = reshape(c.arg(first), {shape[0], shape[0] ? numel(shape) / shape[0] : 1});
  give_unique(c, c.tensor(0), axis, unique_all(c.arg(row_numbers(c, rows))));
}

const Operator kIndexings[] = {
    {"Gather", 1, 21, "axis", gather_op, known_gather},
    {"GatherElements", 11, 21, "axis", gather_elements_op},
    {"GatherND", 11, 21, "batch_dims", gather_nd_op},
    {"Scatter", 9, 10, "axis", scatter_elements_op},
    {"ScatterElements", 11, 21, "axis reduction", scatter_elements_op, nullptr, check_reduction},
    {"ScatterND", 11, 21, "reduction", scatter_nd_op, nullptr, check_reduction},
    {"NonZero", 9, 21, "", nonzero_op, known_nonzero},
    {"Compress", 9, 21, "axis", compress_op},
    {"OneHot", 9, 21, "axis", one_hot_op},
    {"ReverseSequence", 10, 21, "batch_axis time_axis", reverse_sequence_op},
    {"Unique", 11, 21, "axis sorted", unique_op},
};

}  // namespace

std::span<const Operator> indexing_operators() { return kIndexings; }

}  // namespace lazy::onnx
