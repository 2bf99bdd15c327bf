// Keeps the float32 values of 16-bit parameters, which steps too small for 16 bits add up in.
#pragma once
#include "lazy/autograd/parameter.hpp"

namespace lazy::optim {

/// Keeps a parameter's value in float32, of which the parameter is the rounding. It counts as long as nobody
/// but the optimizer assigns the parameter: a value that is loaded into that is where both go on from.
class Master {
 public:
  Master() = default;
  Master(const Master&) noexcept;
  Master& operator=(Master) noexcept;
  ~Master();

  Tensor value;  // undefined if there is none
  /// True if the parameter is the rounding of this value.
  bool is_of(const Tensor& parameter) const;
  /// Says that the parameter is the rounding of this value.
  void rounded_to(const Parameter&);
  /// Takes a value that was saved, whatever the parameter is now.
  void load(Tensor);

 private:
  jit::Node* rounded_ = nullptr;  // of which this has a reference, so that no other gets its address
};

}  // namespace lazy::optim
