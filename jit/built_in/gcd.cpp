#include "jit/built_in/gcd.hpp"

#include <bit>
#include <type_traits>

#include "jit/backend/backend.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

constexpr int64_t kPiece = 16384;  // elements that one task takes

std::vector<CallOutput> infer_gcd(const CallSpec&, std::span<const Meta> operands) {
  if (operands.size() != 2 || operands[0].shape != operands[1].shape)
    throw ShapeError("gcd: two operands of one shape are needed");
  if (operands[0].dtype != operands[1].dtype || !is_int(operands[0].dtype))
    throw DtypeError("gcd: integers of one dtype are needed");
  return {CallOutput::like(0, operands[0], operands[0].dtype)};
}

/// Returns the divisor of two magnitudes by Stein's algorithm (1967): shifts and differences.
uint64_t divisor(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return a | b;
  const int common = std::countr_zero(a | b);
  a >>= std::countr_zero(a);
  while (b != 0) {
    b >>= std::countr_zero(b);
    const uint64_t more = a > b ? a - b : b - a;
    a = a < b ? a : b;
    b = more;
  }
  return a << common;
}

/// Returns |v|, which an unsigned number holds even of the lowest value.
template <class T>
uint64_t magnitude(T v) {
  if constexpr (std::is_signed_v<T>) return v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  else return v;
}

template <class T>
void divide(const char* a, const char* b, char* out, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) {
    T x, y;
    std::memcpy(&x, a + i * int64_t{sizeof(T)}, sizeof x);
    std::memcpy(&y, b + i * int64_t{sizeof(T)}, sizeof y);
    const T d = static_cast<T>(divisor(magnitude(x), magnitude(y)));
    std::memcpy(out + i * int64_t{sizeof(T)}, &d, sizeof d);
  }
}

auto loop_of(DType t) {
  switch (t) {
    case DType::int8: return divide<int8_t>;
    case DType::int16: return divide<int16_t>;
    case DType::int32: return divide<int32_t>;
    case DType::uint8: return divide<uint8_t>;
    case DType::uint16: return divide<uint16_t>;
    case DType::uint32: return divide<uint32_t>;
    case DType::uint64: return divide<uint64_t>;
    default: return divide<int64_t>;
  }
}

void run_gcd(const CallRun& r) {
  if (!r.out[0]) return;
  const int64_t n = numel(r.outputs[0].shape);
  const auto loop = loop_of(r.outputs[0].dtype);
  const auto piece = [&](int64_t p) {
    loop(r.in[0], r.in[1], r.out[0], p * kPiece, std::min(n, (p + 1) * kPiece));
  };
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  if (pieces > 1) r.backend.for_each(pieces, piece);
  else if (pieces == 1) piece(0);
}

int in_place_gcd(const CallSpec&, int) { return 0; }

}  // namespace

constinit const CallDefinition kGcd{.name = "gcd",
                                    .traits = call_trait::kNoThrow,
                                    .infer = infer_gcd,
                                    .run = run_gcd,
                                    .in_place = in_place_gcd};

}  // namespace lazy::jit::calls
