#include "jit/built_in/linalg/matrices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/error.hpp"

namespace lazy::jit::calls {
Batch::Batch(const Shape& s) : count(1), rows(s[s.size() - 2]), columns(s.back()) {
  for (int i = 0; i + 2 < s.size(); ++i) count *= s[i];
}

void check_matrices(const CallSpec& spec, std::span<const Meta> operands, size_t count, bool square) {
  const std::string name = spec.name();
  if (operands.size() != count) throw ShapeError(name + ": another number of operands is needed");
  const Meta& first = operands[0];
  for (const Meta& m : operands) {
    const int rank = m.shape.size();
    if (rank < 2 || rank != first.shape.size() ||
        !std::equal(m.shape.begin(), m.shape.end() - 2, first.shape.begin()))
      throw ShapeError(name + ": matrices, or batches of equal shape, are needed; the shapes are " +
                       to_string(first.shape) + " and " + to_string(m.shape));
    const DType plane = plane_type(m.dtype);
    if (m.dtype != first.dtype || (plane != DType::float32 && plane != DType::float64))
      throw DtypeError(name + ": float32 or float64 is needed, not " + lazy::name_of(m.dtype));
    for (int back = 1; back <= 2; ++back)
      if (m.shape[rank - back] > std::numeric_limits<int32_t>::max())
        throw ShapeError(name + ": a matrix of shape " + to_string(m.shape) + " is too large");
  }
  const Batch b(first.shape);
  if (square && b.rows != b.columns)
    throw ShapeError(name + ": a square matrix, or a batch of them, is needed; the shape is " +
                     to_string(first.shape));
}

CallOutput batched(std::span<const Meta> operands, DType t, std::initializer_list<LastAxis> last) {
  CallOutput o = CallOutput::like(0, operands[0], t);
  int at = operands[0].shape.size() - 2;
  o.meta.shape.resize(at + static_cast<int>(last.size()));
  o.tied[static_cast<size_t>(at)] = o.tied[static_cast<size_t>(at) + 1] = {};
  for (const LastAxis& a : last) {
    o.meta.shape[at] = a.extent;
    if (a.operand >= 0)
      o.tied[static_cast<size_t>(at)] = {
          static_cast<int16_t>(a.operand),
          static_cast<int8_t>(operands[static_cast<size_t>(a.operand)].shape.size() - a.back)};
    ++at;
  }
  return o;
}

std::vector<CallOutput> infer_eigen(const CallSpec& spec, std::span<const Meta> operands, DType values,
                                    std::optional<DType> vectors) {
  check_matrices(spec, operands, 1, true);
  std::vector<CallOutput> out{batched(operands, values, {{operands[0].shape.back(), 0, 1}})};
  if (vectors) out.push_back(CallOutput::like(0, operands[0], *vectors));
  return out;
}

void fail_for(const CallRun& r, int64_t index, const std::string& what) {
  const Shape& shape = r.operands[0].shape;
  std::string which;
  if (shape.size() > 2) {
    Dims at(shape.size() - 2, 0);
    for (int i = at.size(); i-- > 0; index /= shape[i]) at[i] = index % shape[i];
    which = " " + to_string(at) + " of the batch";
  }
  throw Error(std::string(r.function) + ": matrix" + which + " " + what, r.site);
}

void fail_singular(const CallRun& r, int64_t index, int64_t order) {
  const std::string i = std::to_string(order - 1);
  fail_for(r, index, "is singular (U of its factors has 0 at [" + i + ", " + i + "])");
}

void need_finite(const CallRun& r, Triangle t) {
  const Batch b(r.operands[0].shape);
  by_dtype(r, [&](auto zero) {
    const auto* x = input<decltype(zero)>(r, 0);
    for (int64_t m = 0; m < b.count; ++m)
      for (int64_t i = 0; i < b.rows; ++i, x += b.columns) {
        const int64_t begin = t == Triangle::upper ? i : 0, end = t == Triangle::lower ? i + 1 : b.columns;
        if (!std::all_of(x + begin, x + end, [](auto v) { return is_finite(v); }))
          fail_for(r, m, "has NaN or an infinity");
      }
  });
}

}  // namespace lazy::jit::calls
