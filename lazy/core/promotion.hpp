// Decides which dtype a result has.
//
// Two tensors, within a kind (array API 2023.12): the smallest dtype of the table that holds both. Integers
// of different signedness go to the next wider signed type; uint64 with a signed integer has no such type and
// throws DtypeError. float16 with bfloat16 gives float32. Across kinds: bool gives way to everything,
// integers give way to floats (int64 + float32 is float32; NumPy would say float64).
//
// C++ scalars are weak: they take the tensor's dtype as far as their kind allows. A bool keeps any dtype; an
// integer keeps integers and floats (it must fit an integer dtype, or DtypeError) and makes bool int64; a
// floating-point scalar keeps floats and makes bools and integers the default dtype (set_default_dtype:
// float32 unless set). Where no tensor takes part, scalars count with their own dtype (int is int64, float
// float32, double the default dtype). Comparisons of an integer tensor with a scalar are exact.
//
// Complex dtypes are above floats: with one of 64 bits, float64 or complex128, the result is complex128, with
// other dtypes complex64. A complex scalar is weak, too: it makes float64 complex128 and other floats
// complex64.
//
// Functions that only floats have (divide, exp, mean, ...) compute bools and integers in the default dtype.
#pragma once
#include <initializer_list>
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns the dtype to which two promote; DtypeError when they have none in common.
DType result_type(DType a, DType b, Site = Site::current());
inline DType promote_types(DType a, DType b, Site s = Site::current()) {
  const detail::Spelled as("result_type", "promote_types");
  return result_type(a, b, s);
}
/// Returns the dtype to which an operation would promote its operands.
DType result_type(Arg a, Arg b);
DType result_type(Arg a, Arg b, Arg c);
/// Returns the dtype to which any number of operands promote. Error for none.
DType result_type(std::initializer_list<Arg> operands, Site = Site::current());
/// True if a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
/// "complex floating", "numeric". Error for another kind.
bool isdtype(DType dtype, const std::string& kind, Site = Site::current());
/// True if promotion alone can take `from` to `to`: result_type(from, to) == to.
bool can_cast(DType from, DType to);
bool can_cast(Arg from, DType to);

/// Converts to a dtype; returns the tensor itself if it has that dtype already.
/// Float to integer truncates, saturates at the ends and sends NaN to 0; integer to integer wraps; anything
/// to bool is != 0 (NaN is true); bool to a number is 0 or 1; to a narrower float, and integer to float,
/// rounds once to nearest even, overflowing to infinity. Complex to real keeps the real part (of a bool: true
/// if either part is != 0).
Tensor astype(Arg x, DType dtype);

struct FInfo {
  DType dtype;
  int bits;
  double eps, max, min, smallest_normal;
};
struct IInfo {
  DType dtype;
  int bits;
  uint64_t max;
  int64_t min;
};
/// Returns the limits of a floating-point dtype, of a complex one its parts'; DtypeError for others.
FInfo finfo(DType, Site = Site::current());
FInfo finfo(const Tensor&, Site = Site::current());
/// Returns the limits of an integer dtype; DtypeError for others.
IInfo iinfo(DType, Site = Site::current());
IInfo iinfo(const Tensor&, Site = Site::current());

}  // namespace lazy
