#include "jit/built_in/select.hpp"

#include <algorithm>

#include "jit/built_in/ordering.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_select(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 2 || operands[0].shape.empty() || operands[1].shape.size() != 1)
    throw ShapeError("select: an operand of one dimension or more and a vector of places are needed");
  if (operands[1].dtype != DType::int64) throw DtypeError("select: places are int64");
  const int last = operands[0].shape.size() - 1;
  if (operands[0].shape[last] == 0 && operands[1].shape[0] > 0)
    throw ShapeError("select: there are no elements along the axis");
  CallOutput values = CallOutput::like(0, operands[0], operands[0].dtype);
  values.meta.shape[last] = operands[1].shape[0];
  values.tied[static_cast<size_t>(last)] = {1, 0};
  CallOutput indices = values;
  indices.meta.dtype = DType::int64;
  return {values, indices};
}

template <class T>
void select_rows(const CallRun& r) {
  const bool descending = r.spec.as<SelectAttributes>().descending;
  const Shape& shape = r.operands[0].shape;
  const int64_t length = shape.back(), count = r.operands[1].shape[0];
  if (numel(shape) == 0 || count == 0) return;
  const std::vector<int64_t> places = places_of(r);
  for (int64_t row = 0; row < numel(shape) / length; ++row) {
    const T* const x = reinterpret_cast<const T*>(r.in[0]) + row * length;
    const std::vector<int64_t> order = order_of(x, length, descending);
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = order[static_cast<size_t>(places[static_cast<size_t>(j)])];
      if (r.out[0]) reinterpret_cast<T*>(r.out[0])[row * count + j] = x[at];
      if (r.out[1]) reinterpret_cast<int64_t*>(r.out[1])[row * count + j] = at;
    }
  }
}

void run_select(const CallRun& r) {
  with_element(r.operands[0].dtype, [&](auto zero) { select_rows<decltype(zero)>(r); });
}

std::string describe_select(std::string_view attributes) {
  return attributes.size() == sizeof(SelectAttributes) && attributes[0] ? "descending" : "ascending";
}

}  // namespace

std::vector<int64_t> places_of(const CallRun& r) {
  const auto* const given = reinterpret_cast<const int64_t*>(r.in[1]);
  std::vector<int64_t> places(given, given + r.operands[1].shape[0]);
  for (int64_t& p : places) p = std::clamp<int64_t>(p, 0, r.operands[0].shape.back() - 1);
  return places;
}

constinit const CallDefinition kSelect{.name = "select",
                                       .traits = call_trait::kNoThrow,
                                       .infer = infer_select,
                                       .run = run_select,
                                       .describe = describe_select};

}  // namespace lazy::jit::calls
