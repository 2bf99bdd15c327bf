#include "backends/reference/accumulate.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
using jit::Op;
using jit::loop::Reduction;

Op combination(Op op) {
  switch (jit::reduction_of(op)) {
    case Op::sum: return Op::add;
    case Op::prod: return Op::multiply;
    case Op::max: return Op::maximum;
    case Op::min: return Op::minimum;
    case Op::any: return Op::bitwise_or;
    default: return Op::bitwise_and;  // all
  }
}

namespace {

/// Returns the identity: x op identity == x for every x, -0 included.
template <class T>
T identity_of(Op op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case Op::sum: return std::is_floating_point_v<T> ? -T(0) : T(0);
    case Op::max: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Op::min: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Op::any: return 0;
    default: return 1;  // prod and all
  }
}

/// Computes sum, prod, max, min, any, all: blocks of `lanes` partials, folded in halves, then added up from
/// left to right.
class Folding final : public Accumulator {
 public:
  Folding(const Reduction& r, bool inner)
      : combine_(meaning(combination(r.op), r.type, r.type)),
        size_(size_of(r.type)),
        inner_(inner),
        lanes_(jit::loop::reduce_lanes(r.type, inner)),
        block_(jit::loop::reduce_block(inner)) {
    with_type(r.type, [&](auto zero) {
      const auto identity = identity_of<decltype(zero)>(r.op);
      std::memcpy(identity_, &identity, size_);
    });
    // The sum of no elements is +0, though the identity of addition is -0.
    if (r.op != Op::sum) std::memcpy(empty_, identity_, size_);
  }

  void start(int width) override {
    width_ = width;
    partial_.resize(size_ * width_ * lanes_);
    total_.resize(size_ * width_);
    in_block_ = blocks_ = 0;
  }

  void take(const void* value, const void*, int64_t, int n) override {
    if (in_block_ == 0)
      for (size_t i = 0; i < partial_.size(); i += size_) std::memcpy(&partial_[i], identity_, size_);
    const char* v = static_cast<const char*>(value);
    if (inner_) {
      for (int i = 0; i < n; i += lanes_) add(partial(0), v + i * size_, std::min(lanes_, n - i));
      in_block_ += n;
    } else {
      add(partial(static_cast<int>(in_block_ % lanes_)), v, n);
      in_block_ += 1;
    }
    if (in_block_ == block_) close_block();
  }

  void finish(void* out) override {
    if (in_block_ > 0) close_block();
    for (int i = 0; i < width_; ++i) {
      char* to = static_cast<char*>(out) + i * size_;
      std::memcpy(to, blocks_ ? &total_[i * size_] : empty_, size_);
    }
  }

 private:
  /// Returns partial accumulator l of every result, side by side.
  char* partial(int l) { return &partial_[l * size_ * width_]; }
  void add(char* into, const char* from, int n) const { combine_(into, from, nullptr, into, n); }

  void close_block() {
    for (int half = lanes_ / 2; half > 0; half /= 2) add(partial(0), partial(half), half * width_);
    if (blocks_++ == 0) std::memcpy(total_.data(), partial(0), total_.size());
    else add(total_.data(), partial(0), width_);
    in_block_ = 0;
  }

  const StripFn combine_;
  const size_t size_;
  const bool inner_;
  const int lanes_;
  const int64_t block_;
  char identity_[8] = {}, empty_[8] = {};
  int width_ = 0;
  int64_t in_block_ = 0, blocks_ = 0;
  std::vector<char> partial_, total_;
};

/// Finds the first of equals, and the first NaN before all numbers, by a plain scan.
template <class T>
class Position final : public Accumulator {
 public:
  Position(bool largest, bool inner, int64_t origin) : largest_(largest), inner_(inner), origin_(origin) {}

  void start(int width) override {
    best_.assign(width, T(0));
    at_.assign(width, 0);
  }

  void take(const void* value, const void*, int64_t r, int n) override {
    const T* v = static_cast<const T*>(value);
    for (int i = 0; i < n; ++i) {
      const int result = inner_ ? 0 : i;
      const int64_t index = inner_ ? r + i : r;
      if (index == 0 || beats(v[i], best_[result])) {
        best_[result] = v[i];
        at_[result] = index;
      }
    }
  }

  void finish(void* out) override {
    for (int64_t& p : at_) p += origin_;
    std::memcpy(out, at_.data(), at_.size() * sizeof(int64_t));
  }

 private:
  bool beats(T v, T best) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(best)) return false;
      if (std::isnan(v)) return true;
    }
    return largest_ ? v > best : v < best;
  }

  const bool largest_, inner_;
  const int64_t origin_;
  std::vector<T> best_;
  std::vector<int64_t> at_;
};

/// Adds products to one accumulator a result, ascending; floats are rounded once a step.
template <class T>
class ProductSum final : public Accumulator {
 public:
  void start(int width) override { sum_.assign(width, T(0)); }

  void take(const void* value, const void* second, int64_t, int n) override {
    const T *a = static_cast<const T*>(value), *b = static_cast<const T*>(second);
    for (int i = 0; i < n; ++i) {
      T& s = sum_[i];
      if constexpr (std::is_floating_point_v<T>) s = std::fma(a[i], b[i], s);
      else
        s = static_cast<T>(static_cast<uint64_t>(s) +
                           static_cast<uint64_t>(a[i]) * static_cast<uint64_t>(b[i]));
    }
  }

  void finish(void* out) override { std::memcpy(out, sum_.data(), sum_.size() * sizeof(T)); }

 private:
  std::vector<T> sum_;
};

}  // namespace

std::unique_ptr<Accumulator> make_contraction(DType type) {
  return with_type(type, [](auto zero) -> std::unique_ptr<Accumulator> {
    return std::make_unique<ProductSum<decltype(zero)>>();
  });
}

std::unique_ptr<Accumulator> make_accumulator(const Reduction& r, bool inner, int64_t origin) {
  if (r.op == Op::argmax || r.op == Op::argmin)
    return with_type(r.type, [&](auto zero) -> std::unique_ptr<Accumulator> {
      return std::make_unique<Position<decltype(zero)>>(r.op == Op::argmax, inner, origin);
    });
  return std::make_unique<Folding>(r, inner);
}

}  // namespace lazy::reference
