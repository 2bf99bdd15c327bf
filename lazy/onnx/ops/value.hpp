// Holds the values between the nodes of a graph: tensors, and small ones whose elements are known while ops
// are recorded. Arithmetic on shapes is done on these at once, so that it never computes what is pending.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::onnx {

/// Bounds the elements of a value that is known while ops are recorded: shapes and what is computed of them
/// have fewer.
inline constexpr int64_t kMostKnown = 1024;

/// Holds a small value: integers and bools as int64, floating-point numbers as double.
struct Known {
  DType dtype = DType::int64;
  Shape shape;
  std::vector<int64_t> integers;
  std::vector<double> reals;

  bool real() const { return is_float(dtype); }
  size_t size() const { return static_cast<size_t>(numel(shape)); }
  double number(size_t i) const { return real() ? reals[i] : static_cast<double>(integers[i]); }
  /// Returns the elements as integers, truncated.
  std::vector<int64_t> as_integers() const;
  /// Returns an empty one with room for its elements.
  static Known of(DType dtype, const Shape& shape);
  static Known vector(const std::vector<int64_t>& v);
  static Known scalar(int64_t v);
  /// Sets an element, rounded to the dtype.
  void set(size_t i, double v);
  void set(size_t i, int64_t v);
};

/// Reads the elements of a computed tensor that has no more than so many; nothing for others.
std::optional<Known> known_elements(const Tensor&, int64_t most_integers, int64_t most_reals, const Site&);

struct Dequantised;

class Value {
 public:
  Value() = default;
  Value(Tensor t) : tensor_(std::move(t)) {}
  Value(Known k) : known_(std::make_shared<const Known>(std::move(k))) {}
  /// Takes a tensor whose elements may be known. One element is a constant of what reads it, not memory.
  Value(Tensor t, std::shared_ptr<const Known> k) : known_(std::move(k)) {
    if (!known_ || known_->size() != 1) tensor_ = std::move(t);
  }

  /// Refers to weights that are computed from integers, so that whoever multiplies by them can do so by
  /// these. They live as long as the value.
  explicit Value(const Parameter* quantised) : quantised_(quantised) {}

  bool defined() const { return tensor_.defined() || known_ != nullptr || quantised_ != nullptr; }
  const Known* known() const { return known_.get(); }
  bool quantised() const { return quantised_ != nullptr; }
  DType dtype(const Site& s) const { return known_ ? known_->dtype : held().dtype(s); }
  Shape shape(const Site& s) const { return known_ ? known_->shape : held().shape(s); }
  /// True if it is made of weights and known values alone: it is worth a form that is kept (LAZY_KEEP_MB).
  bool of_weights() const { return of_weights_ || known_; }
  void set_of_weights(bool on) { of_weights_ = on; }
  /// Returns of which integers the value was computed, if DequantizeLinear did; null otherwise.
  const Dequantised* dequantised() const { return dequantised_.get(); }
  void set_dequantised(Dequantised);
  /// Returns the tensor, which is made of known elements at the first call. A copy of quantised weights is
  /// what their integers stand for.
  const Tensor& tensor(const MaybeDevice& device, const Site& s) const;

 private:
  const Tensor& held() const { return quantised_ ? static_cast<const Tensor&>(*quantised_) : tensor_; }
  mutable Tensor tensor_;
  const Parameter* quantised_ = nullptr;
  std::shared_ptr<const Known> known_;
  std::shared_ptr<const Dequantised> dequantised_;
  bool of_weights_ = false;
};

/// Says of which integers a value was computed: (integers - zero_point) scale.
struct Dequantised {
  Value integers, scale, zero_point;  // zero_point: undefined is 0
  int axis;                           // along which scales and zero points lie that are several
};

inline void Value::set_dequantised(Dequantised d) {
  dequantised_ = std::make_shared<const Dequantised>(std::move(d));
}

}  // namespace lazy::onnx
