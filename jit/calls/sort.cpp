#include "jit/calls/sort.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/error.hpp"
#include "support/fp16.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 1 || operands[0].shape.empty())
    throw ShapeError("sort: one operand of one dimension or more is needed");
  return {CallOutput::like(0, operands[0], operands[0].dtype),
          CallOutput::like(0, operands[0], DType::int64)};
}

template <class T>
bool comes_before(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return descending ? b < a : a < b;
}

template <class T>
auto comparable(T v) {
  if constexpr (std::is_arithmetic_v<T>) return v;
  else return static_cast<float>(v);  // a 16-bit float
}

template <class T>
void sort_rows(const CallRun& r) {
  const bool descending = r.spec.as<SortAttributes>().descending;
  const Shape& shape = r.operands[0].shape;
  const int64_t length = shape.back(), rows = length ? numel(shape) / length : 0;
  const auto* const in = reinterpret_cast<const T*>(r.in[0]);
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    const T* const x = in + row * length;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return comes_before(comparable(x[a]), comparable(x[b]), descending);
    });
    for (int64_t i = 0; i < length; ++i) {
      if (r.out[0]) reinterpret_cast<T*>(r.out[0])[row * length + i] = x[order[static_cast<size_t>(i)]];
      if (r.out[1]) reinterpret_cast<int64_t*>(r.out[1])[row * length + i] = order[static_cast<size_t>(i)];
    }
  }
}

void run(const CallRun& r) {
  switch (r.operands[0].dtype) {
    case DType::bool_:
    case DType::uint8: return sort_rows<uint8_t>(r);
    case DType::int8: return sort_rows<int8_t>(r);
    case DType::int16: return sort_rows<int16_t>(r);
    case DType::int32: return sort_rows<int32_t>(r);
    case DType::int64: return sort_rows<int64_t>(r);
    case DType::uint16: return sort_rows<uint16_t>(r);
    case DType::uint32: return sort_rows<uint32_t>(r);
    case DType::uint64: return sort_rows<uint64_t>(r);
    case DType::float16: return sort_rows<float16_t>(r);
    case DType::bfloat16: return sort_rows<bfloat16_t>(r);
    case DType::float32: return sort_rows<float>(r);
    case DType::float64: return sort_rows<double>(r);
  }
}

std::string describe(std::string_view attributes) {
  return attributes.size() == sizeof(SortAttributes) && attributes[0] ? "descending" : "ascending";
}

}  // namespace

constinit const CallDefinition kSort{
    .name = "sort", .traits = call_trait::kNoThrow, .infer = infer, .run = run, .describe = describe};

}  // namespace lazy::jit::calls
