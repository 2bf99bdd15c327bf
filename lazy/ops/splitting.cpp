// Implements NumPy's names for splits along the first axes.
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Splits by `at`, a number of parts or positions, along an axis of a tensor of `least` dimensions or more.
template <class At>
std::vector<Tensor> split_along(const char* name, Arg& x, const At& at, int axis, int least) {
  const Recorder r{name, x.site()};
  const int rank = shape_of(name, x).size();
  if (rank == 1 && axis == 1) axis = 0;  // hsplit
  if (rank < least)
    r.fail<ShapeError>("takes at least " + std::to_string(least) + " dimensions, not " +
                       to_string(shape_of(name, x)));
  return split(std::move(x), at, axis);
}

}  // namespace

std::vector<Tensor> hsplit(Arg x, IntegerArg sections) { return split_along("hsplit", x, sections, 1, 1); }
std::vector<Tensor> hsplit(Arg x, const std::vector<int64_t>& at) {
  return split_along("hsplit", x, at, 1, 1);
}
std::vector<Tensor> hsplit(Arg x, std::initializer_list<int64_t> at) {
  return hsplit(std::move(x), std::vector<int64_t>(at));
}
std::vector<Tensor> vsplit(Arg x, IntegerArg sections) { return split_along("vsplit", x, sections, 0, 2); }
std::vector<Tensor> vsplit(Arg x, const std::vector<int64_t>& at) {
  return split_along("vsplit", x, at, 0, 2);
}
std::vector<Tensor> vsplit(Arg x, std::initializer_list<int64_t> at) {
  return vsplit(std::move(x), std::vector<int64_t>(at));
}
std::vector<Tensor> dsplit(Arg x, IntegerArg sections) { return split_along("dsplit", x, sections, 2, 3); }
std::vector<Tensor> dsplit(Arg x, const std::vector<int64_t>& at) {
  return split_along("dsplit", x, at, 2, 3);
}
std::vector<Tensor> dsplit(Arg x, std::initializer_list<int64_t> at) {
  return dsplit(std::move(x), std::vector<int64_t>(at));
}

}  // namespace lazy
