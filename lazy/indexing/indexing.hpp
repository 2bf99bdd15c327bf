// Implements x(...): reading and writing parts of a tensor.
//
//   x(0)  x(-1, _)  x(slice(1, none, 2), newaxis)  x(ellipsis, 0)    integers drop their axis
//   x(x > 3)                                                         the selected elements, in one dimension
//   x(0, _) = v;  x(slice(1, 5)) += v;  x(x < 0) = 0;                the variable is bound to the new value
//
// An integer out of range throws IndexError. Writing is functional inside: the variable that was indexed is
// rebound to a new value, and other Tensors that shared the old one keep it (`auto y = x; x(0) = 1;` leaves y
// as it was: unlike NumPy, a plain copy of a handle is a copy). Values broadcast to the selected shape and
// are converted to the tensor's dtype; a value of a higher kind throws DtypeError.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returned by indexing a variable: a Tensor with the selected elements, which can be written to while it is
/// a temporary. In a variable (`auto row = x(0);`) it is a value: `row = y` rebinds it, and `row += y` does
/// not compile.
class View : public Tensor {
 public:
  View(const View&) = default;
  // Writes, on a temporary.
  View& operator=(const View&) &&;
  View& operator=(Arg) &&;
  View& operator+=(Arg) &&;
  View& operator-=(Arg) &&;
  View& operator*=(Arg) &&;
  View& operator/=(Arg) &&;
  View& operator%=(Arg) &&;
  View& operator&=(Arg) &&;
  View& operator|=(Arg) &&;
  View& operator^=(Arg) &&;
  View& operator<<=(Arg) &&;
  View& operator>>=(Arg) &&;
  // Rebinds a variable, as with any Tensor.
  View& operator=(const View& v) & {
    rebind(v.handle());
    return *this;
  }
  View& operator=(const Tensor& t) & {
    rebind(t.handle());
    return *this;
  }
  // Deleted for variables: += would not change the tensor that was indexed, but looks as if it did. Write
  // x(0) += v, or give the value a name of type Tensor.
  View& operator+=(Arg) & = delete;
  View& operator-=(Arg) & = delete;
  View& operator*=(Arg) & = delete;
  View& operator/=(Arg) & = delete;
  View& operator%=(Arg) & = delete;
  View& operator&=(Arg) & = delete;
  View& operator|=(Arg) & = delete;
  View& operator^=(Arg) & = delete;
  View& operator<<=(Arg) & = delete;
  View& operator>>=(Arg) & = delete;

 private:
  friend class Tensor;
  View(Tensor& base, jit::Handle value, const Dims& start, const Dims& step, const Shape& extent,
       const Site& site)
      : Tensor(std::move(value)), base_(&base), start_(start), step_(step), extent_(extent), site_(site) {}
  void write(const char* op, const Arg& value);
  template <class F>
  View& update(F op, const Arg& value);

  Tensor* base_;
  Dims start_, step_;  // the region of the base, by axis of the base
  Shape extent_;
  Site site_;
};

/// Returned by x(mask): the mask covers the leading axes of x. Reading evaluates the mask (the size of the
/// result depends on it); writing does not. A written value must fit every selected element: it broadcasts to
/// the axes that the mask does not cover.
class MaskedView {
 public:
  operator Tensor() const { return read(site_); }
  Tensor read(const Site&) const;
  MaskedView& operator=(const MaskedView&) &&;
  MaskedView& operator=(Arg) &&;
  MaskedView& operator+=(Arg) &&;
  MaskedView& operator-=(Arg) &&;
  MaskedView& operator*=(Arg) &&;
  MaskedView& operator/=(Arg) &&;
  MaskedView& operator%=(Arg) &&;
  MaskedView& operator&=(Arg) &&;
  MaskedView& operator|=(Arg) &&;
  MaskedView& operator^=(Arg) &&;
  MaskedView& operator<<=(Arg) &&;
  MaskedView& operator>>=(Arg) &&;

 private:
  friend class Tensor;
  MaskedView(Tensor& base, const Tensor& mask, const Site& site);
  Arg fitting(const char* op, const Arg& value) const;
  void write(const char* op, const Arg& value);
  template <class F>
  MaskedView& update(F op, const Arg& value);

  Tensor* base_;
  Tensor value_, mask_;
  Site site_;
};

}  // namespace lazy
