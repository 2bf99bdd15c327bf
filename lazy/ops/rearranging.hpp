// Takes tensors apart, repeats, turns and pads them. Every dtype; the result has the operand's. An axis out
// of range throws IndexError.
#pragma once
#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {

// Parts of an axis. None moves data.

/// Returns so many equal parts of an axis: (6, 2) in 3 -> three of (2, 2). ShapeError unless the extent is a
/// multiple of `sections`, or if that is below 1.
std::vector<Tensor> split(Arg x, IntegerArg sections, IntegerArg axis = 0);
/// Returns the parts before, between and after the positions, which Python's slices would take (negative ones
/// count from the end): (6) at {2, 5} -> (2), (3), (1).
std::vector<Tensor> split(Arg x, std::initializer_list<int64_t> at, IntegerArg axis = 0);
std::vector<Tensor> split(Arg x, const std::vector<int64_t>& at, IntegerArg axis = 0);
/// Returns so many parts whose extents differ by 1 at most, longer ones first: (7) in 3 -> (3), (2), (2).
std::vector<Tensor> array_split(Arg x, IntegerArg sections, IntegerArg axis = 0);
/// Returns parts of ceil(extent / chunks) elements, the last one shorter, and as many as that needs, as torch
/// does: (6) in 4 -> (2), (2), (2). ShapeError if `chunks` is below 1.
std::vector<Tensor> chunk(Arg x, IntegerArg chunks, IntegerArg axis = 0);
/// Return array_split() and split() at positions: torch's name for both.
inline std::vector<Tensor> tensor_split(Arg x, IntegerArg sections, IntegerArg axis = 0) {
  const detail::Spelled as("array_split", "tensor_split");
  return array_split(std::move(x), sections, axis);
}
inline std::vector<Tensor> tensor_split(Arg x, std::initializer_list<int64_t> at, IntegerArg axis = 0) {
  return split(std::move(x), at, axis);
}
inline std::vector<Tensor> tensor_split(Arg x, const std::vector<int64_t>& at, IntegerArg axis = 0) {
  return split(std::move(x), at, axis);
}
/// Split along axis 1 (a vector along axis 0), along axis 0, along axis 2: into equal parts or at positions.
/// ShapeError for fewer than 1, 2, 3 dimensions.
std::vector<Tensor> hsplit(Arg x, IntegerArg sections);
std::vector<Tensor> hsplit(Arg x, std::initializer_list<int64_t> at);
std::vector<Tensor> hsplit(Arg x, const std::vector<int64_t>& at);
std::vector<Tensor> vsplit(Arg x, IntegerArg sections);
std::vector<Tensor> vsplit(Arg x, std::initializer_list<int64_t> at);
std::vector<Tensor> vsplit(Arg x, const std::vector<int64_t>& at);
std::vector<Tensor> dsplit(Arg x, IntegerArg sections);
std::vector<Tensor> dsplit(Arg x, std::initializer_list<int64_t> at);
std::vector<Tensor> dsplit(Arg x, const std::vector<int64_t>& at);
/// Returns the tensors along an axis, without it: (3, 2) -> three of (2).
std::vector<Tensor> unstack(Arg x, IntegerArg axis = 0);
inline std::vector<Tensor> unbind(Arg x, IntegerArg axis = 0) {
  const detail::Spelled as("unstack", "unbind");
  return unstack(std::move(x), axis);
}
/// Returns `length` elements from `start` on (negative: from the end). IndexError if they are not all there.
Tensor narrow(Arg x, IntegerArg axis, IntegerArg start, IntegerArg length);

// Joins. Dtypes promote. ShapeError for no tensors and where other axes differ.

/// Joins along axis 1, tensors of one dimension along axis 0. A 0-d tensor counts as one of 1 element.
Tensor hstack(const std::vector<Tensor>& xs, Site = Site::current());
/// Joins rows along axis 0: (n) counts as (1, n).
Tensor vstack(const std::vector<Tensor>& xs, Site = Site::current());
/// Joins along axis 2: (n) counts as (1, n, 1), (m, n) as (m, n, 1).
Tensor dstack(const std::vector<Tensor>& xs, Site = Site::current());
/// Joins columns along axis 1: (n) counts as (n, 1).
Tensor column_stack(const std::vector<Tensor>& xs, Site = Site::current());

// Repetitions. ShapeError for a negative count and where the result has too many elements.

/// Lays copies of x side by side: (2, 3) by {2, 2} -> (4, 6). The shorter of shape and repetitions is filled
/// up with 1 at the left.
Tensor tile(Arg x, ShapeArg repetitions);
/// Repeats each element `count` times along an axis, without one of the flattened tensor: {1, 2} by 2 ->
/// {1, 1, 2, 2}. IndexError for several axes.
Tensor repeat(Arg x, IntegerArg count, Axes axis = {});
inline Tensor repeat_interleave(Arg x, IntegerArg count, Axes axis = {}) {
  return repeat(std::move(x), count, axis);
}
/// Broadcasts as broadcast_to; -1 leaves an axis of x as it is.
Tensor expand(Arg x, ShapeArg shape);
/// Broadcasts to the shape of `other`.
Tensor expand_as(Arg x, TensorArg other);

// Turns.

/// Moves elements `shift` places on, and those that leave the end to the beginning; without axes in the
/// flattened tensor. One shift for all axes, or one for each; the shifts of an axis that is named more than
/// once add up. ShapeError where their numbers differ.
Tensor roll(Arg x, Axes shift, Axes axes = {});
/// Turns by 90 degrees `turns` times, from the first axis towards the second. ShapeError for a tensor of one
/// dimension and unless two different axes are named.
Tensor rot90(Arg x, IntegerArg turns = 1, Axes axes = {0, 1});
/// Reverses axis 0. ShapeError for a 0-d tensor.
Tensor flipud(Arg x);
/// Reverses axis 1. ShapeError for fewer than two dimensions.
Tensor fliplr(Arg x);

// Other shapes.

/// Return x with so many dimensions at least: new ones come first, but (n) -> (1, n, 1) and (m, n) -> (m, n,
/// 1) for three.
Tensor atleast_1d(Arg x);
Tensor atleast_2d(Arg x);
Tensor atleast_3d(Arg x);
/// Replaces an axis by several, one of which may be -1: (6, 2), axis 0 into {2, 3} -> (2, 3, 2). ShapeError
/// if the sizes differ.
Tensor unflatten(Arg x, IntegerArg axis, ShapeArg shape);
inline Tensor movedim(Arg x, Axes from, Axes to) {
  const detail::Spelled as("moveaxis", "movedim");
  return moveaxis(std::move(x), from, to);
}
inline Tensor swapdims(Arg x, IntegerArg a, IntegerArg b) {
  const detail::Spelled as("swapaxes", "swapdims");
  return swapaxes(std::move(x), a, b);
}

/// Holds how many elements are added before and after an axis.
struct PadWidth {
  int64_t before = 0, after = 0;
  bool given = false;
  PadWidth() = default;
  PadWidth(IntegerArg ahead, IntegerArg behind) : before(ahead), after(behind), given(true) {}
};
/// Takes a pair of widths for each of up to eight axes: `{{1, 1}, {0, 2}}`, or a vector. (Numbers alone are
/// torch's, see Pads.)
struct PadWidths {
  std::vector<std::pair<int64_t, int64_t>> values;
  PadWidths(PadWidth a, PadWidth b = {}, PadWidth c = {}, PadWidth d = {}, PadWidth i = {}, PadWidth j = {},
            PadWidth k = {}, PadWidth l = {}) {
    for (const PadWidth& w : {a, b, c, d, i, j, k, l})
      if (w.given) values.emplace_back(w.before, w.after);
  }
  template <std::same_as<std::vector<std::pair<int64_t, int64_t>>> V>
  PadWidths(const V& v) : values(v) {}
};

/// Adds elements before and after each axis: `widths` has a pair for each axis, or one pair for all. `mode`
/// says which: "constant" `value`; "edge" the nearest element; "reflect" the mirror image, without the edge
/// itself; "symmetric" with it; "wrap" the other end. Widths above the extent reflect or wrap again.
/// ShapeError for another number of pairs, a negative width and an axis of extent 0 that is not padded by
/// constants; DtypeError for a value that is out of the range of an integer dtype; Error for another mode.
Tensor pad(Arg x, const PadWidths& widths, const std::string& mode = "constant", ScalarNumber value = 0);

/// Returns x[i + 1] - x[i] along an axis, `n` times over: (5) -> (4). Of bools: where neighbours differ.
/// ShapeError for a 0-d tensor and for a negative n.
Tensor diff(Arg x, IntegerArg n = 1, IntegerArg axis = -1);

}  // namespace lazy
