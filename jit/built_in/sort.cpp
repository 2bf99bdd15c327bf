#include "jit/built_in/sort.hpp"

#include "jit/built_in/ordering.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_sort(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 1 || operands[0].shape.empty())
    throw ShapeError("sort: one operand of one dimension or more is needed");
  return {CallOutput::like(0, operands[0], operands[0].dtype),
          CallOutput::like(0, operands[0], DType::int64)};
}

template <class T>
void sort_rows(const CallRun& r) {
  const Shape& shape = r.operands[0].shape;
  const int64_t length = shape.back(), rows = length ? numel(shape) / length : 0;
  for (int64_t row = 0; row < rows; ++row) {
    const T* const x = reinterpret_cast<const T*>(r.in[0]) + row * length;
    const std::vector<int64_t> order = order_of(x, length, r.spec.as<SortAttributes>().descending);
    for (int64_t i = 0; i < length; ++i) {
      if (r.out[0]) reinterpret_cast<T*>(r.out[0])[row * length + i] = x[order[static_cast<size_t>(i)]];
      if (r.out[1]) reinterpret_cast<int64_t*>(r.out[1])[row * length + i] = order[static_cast<size_t>(i)];
    }
  }
}

void run_sort(const CallRun& r) {
  with_element(r.operands[0].dtype, [&](auto zero) { sort_rows<decltype(zero)>(r); });
}

std::string describe_sort(std::string_view attributes) {
  return attributes.size() == sizeof(SortAttributes) && attributes[0] ? "descending" : "ascending";
}

}  // namespace

constinit const CallDefinition kSort{.name = "sort",
                                     .traits = call_trait::kNoThrow,
                                     .infer = infer_sort,
                                     .run = run_sort,
                                     .describe = describe_sort};

}  // namespace lazy::jit::calls
