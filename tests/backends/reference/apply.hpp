// Applies one op to lists of values, through a kernel of the reference backend.
#pragma once
#include <cmath>
#include <vector>

#include "backends/reference/backend.hpp"
#include "tests/common/kernel_builder.hpp"

namespace lazy::test {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  else if constexpr (std::is_same_v<T, double>) return DType::float64;
  else {
    constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>(static_cast<int>(std::is_signed_v<T> ? DType::int8 : DType::uint8) + log);
  }
}

inline void run(const LoopKernel& k, uint64_t* args) { reference::make_backend()->compile(k)->launch(args); }

/// Returns op(a[i], b[i], ...) as element i; R holds the result's type, bool as uint8_t.
template <class R, class... T>
std::vector<R> apply_as(Op op, std::vector<DType> types, DType result, const std::vector<T>&... operands) {
  KernelBuilder b(Form::map, 1);
  std::vector<ValueId> v;
  for (DType t : types) v.push_back(b.input(t, {Stride::unit}));
  v.resize(3, kNoValue);
  b.store(op == Op::cast ? b.cast(result, v[0]) : b.op(op, v[0], v[1], v[2]), {Stride::unit});
  const size_t n = std::get<0>(std::tie(operands...)).size();
  std::vector<R> out(n);
  Launch args(b.done());
  args.extents({static_cast<int64_t>(n)});
  int i = 0;
  (args.operand(i++, operands.data(), {sizeof(T)}), ...);
  args.operand(i, out.data(), {sizeof(R)});
  run(b.k, args.data());
  return out;
}
template <class T>
std::vector<T> apply(Op op, const std::vector<T>& a) {
  return apply_as<T>(op, {dtype_of<T>()}, dtype_of<T>(), a);
}
template <class T>
std::vector<T> apply(Op op, const std::vector<T>& a, const std::vector<T>& b) {
  return apply_as<T>(op, {dtype_of<T>(), dtype_of<T>()}, dtype_of<T>(), a, b);
}
/// Applies an op with bool results: 0 or 1.
template <class T>
std::vector<int> ask(Op op, const std::vector<T>& a) {
  const auto r = apply_as<uint8_t>(op, {dtype_of<T>()}, DType::bool_, a);
  return {r.begin(), r.end()};
}
template <class T>
std::vector<int> ask(Op op, const std::vector<T>& a, const std::vector<T>& b) {
  const auto r = apply_as<uint8_t>(op, {dtype_of<T>(), dtype_of<T>()}, DType::bool_, a, b);
  return {r.begin(), r.end()};
}
template <class R, class T>
std::vector<R> cast(DType from, DType to, const std::vector<T>& a) {
  return apply_as<R>(Op::cast, {from}, to, a);
}

/// True for the same value and sign of zero; NaN equals NaN.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
  else return a == b;
}

/// Compares lists element by element with `same`, printing those that differ.
template <class List>
void check_list(const List& got, const List& want, const char* expression, int line) {
  const std::string from = std::string(expression) + " (line " + std::to_string(line) + ")";
  BOOST_REQUIRE_MESSAGE(got.size() == want.size(),
                        from << " has " << got.size() << ", expected " << want.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (!same(got[i], want[i]))
      BOOST_ERROR(from << " [" << i << "] is " << +got[i] << ", expected " << +want[i]);
  BOOST_TEST_PASSPOINT();
}

}  // namespace lazy::test

/// Compares lists of one type: an expression and what follows, in braces.
#define LAZY_CHECK_LIST(got_expr, ...)                                                            \
  do {                                                                                            \
    const auto got_ = (got_expr);                                                                 \
    lazy::test::check_list<std::decay_t<decltype(got_)>>(got_, __VA_ARGS__, #got_expr, __LINE__); \
  } while (0)
