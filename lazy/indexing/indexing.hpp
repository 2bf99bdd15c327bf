// Implements x(...): reading and writing parts of a tensor.
//
//   x(0)  x(-1, _)  x(slice(1, none, 2), newaxis)  x(ellipsis, 0)    integers drop their axis
//   x(i)  x(_, i)  x(i, j)  x({0, 2, 5}, _)                          tensors and lists of positions
//   x(x > 3)  x(mask, 0)                                             what a mask selects, in one dimension
//   x(list)                                                          indices that are made at run time
//   x(0, _) = v;  x(i, j) += v;  x(x < 0) = 0;                       the variable is bound to the new value
//
// Results have the shapes that NumPy's have (docs/semantics.md). An integer out of range throws IndexError,
// one in a tensor when the value is computed. Writing is functional inside: the variable that was indexed is
// rebound to a new value, and other Tensors that shared the old one keep it (`auto y = x; x(0) = 1;` leaves y
// as it was: unlike NumPy, a plain copy of a handle is a copy). Values broadcast to the selected shape and
// are converted to the tensor's dtype; a value of a higher kind throws DtypeError.
#pragma once
#include <memory>

#include "lazy/core/tensor.hpp"

namespace lazy {

namespace detail {

struct Computed;

/// Describes what an index selects: a strided region of the base, or what computed indices select from that.
struct Region {
  Dims start, step;
  Shape extent;  // by axis of the base
  Shape shape;   // of the result: without the integers' axes, with the new ones and those of computed indices
  std::shared_ptr<const Computed> computed;  // null: the region itself
};

}  // namespace detail

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
  // Assignments by torch's names, on a temporary: x[0].add_(1) writes to x.
  View& add_(Arg v) && { return std::move(*this) += std::move(v); }
  View& sub_(Arg v) && { return std::move(*this) -= std::move(v); }
  View& mul_(Arg v) && { return std::move(*this) *= std::move(v); }
  View& div_(Arg v) && { return std::move(*this) /= std::move(v); }
  View& fill_(Arg v) && { return std::move(*this) = std::move(v); }
  View& copy_(Arg v) && { return std::move(*this) = std::move(v); }
  View& zero_(Site s = Site::current()) && { return std::move(*this) = Arg(false, s); }
  View& clamp_(Arg low, Arg high) &&;
  /// Selects from what is selected: x[0][1] = 2 writes to x.
  View operator[](Index i) &&;
  using Tensor::operator[];
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
  using Instead = instead::x_i_itself_or_Tensor_in_place_of_auto;
  Instead operator+=(Arg) & = delete;
  Instead operator-=(Arg) & = delete;
  Instead operator*=(Arg) & = delete;
  Instead operator/=(Arg) & = delete;
  Instead operator%=(Arg) & = delete;
  Instead operator&=(Arg) & = delete;
  Instead operator|=(Arg) & = delete;
  Instead operator^=(Arg) & = delete;
  Instead operator<<=(Arg) & = delete;
  Instead operator>>=(Arg) & = delete;
  template <ScalarType T>
  Instead operator=(T) & = delete;
  Instead operator++() & = delete;
  Instead operator--() & = delete;
  Instead operator++(int) & = delete;
  Instead operator--(int) & = delete;
  Instead add_(Arg) & = delete;
  Instead sub_(Arg) & = delete;
  Instead mul_(Arg) & = delete;
  Instead div_(Arg) & = delete;
  Instead fill_(Arg) & = delete;
  Instead copy_(Arg) & = delete;
  Instead zero_() & = delete;
  Instead clamp_(Arg, Arg) & = delete;
  Instead index_put_(const std::vector<Index>&, Arg, bool = false) & = delete;
  Instead uniform_(ScalarNumber = 0, ScalarNumber = 1) & = delete;
  Instead normal_(ScalarNumber = 0, ScalarNumber = 1) & = delete;

 private:
  friend class Tensor;
  /// Reads the region that place() returns: it is made where it stays, for its lists cost more than the rest.
  template <class Place>
  View(Tensor& base, const Site& site, const Place& place);
  void write(const char* op, const Arg& value);
  template <class F>
  View& update(const char* function, const char* typed, F op, const Arg& value);

  Tensor* base_;
  std::shared_ptr<View> whole_;  // what the base is, if that was selected itself: it is written, too
  detail::Region region_;
  Site site_;
};

inline View Tensor::operator[](Index i) & { return (*this)(std::move(i)); }
inline Tensor Tensor::operator[](Index i) const& { return (*this)(std::move(i)); }
inline Tensor Tensor::operator[](Index i) && { return std::move(*this)(std::move(i)); }

/// Returned by x(i), i being a tensor: of bool, a mask of the leading axes of x, or of positions along the
/// first one. It reads when it is used as a Tensor, which of a mask evaluates it (the size of the result
/// depends on it). Writing a value that fits every selected element, because it broadcasts to the axes that
/// the mask does not cover, evaluates nothing; a value with one row for each selected element counts them.
/// ShapeError for others.
class Selection {
 public:
  operator Tensor() const { return read(site_); }
  Tensor read(const Site&) const;
  Selection& operator=(const Selection&) &&;
  Selection& operator=(Arg) &&;
  Selection& operator+=(Arg) &&;
  Selection& operator-=(Arg) &&;
  Selection& operator*=(Arg) &&;
  Selection& operator/=(Arg) &&;
  Selection& operator%=(Arg) &&;
  Selection& operator&=(Arg) &&;
  Selection& operator|=(Arg) &&;
  Selection& operator^=(Arg) &&;
  Selection& operator<<=(Arg) &&;
  Selection& operator>>=(Arg) &&;
  // Assignments by torch's names, on a temporary: x[0].add_(1) writes to x.
  Selection& add_(Arg v) && { return std::move(*this) += std::move(v); }
  Selection& sub_(Arg v) && { return std::move(*this) -= std::move(v); }
  Selection& mul_(Arg v) && { return std::move(*this) *= std::move(v); }
  Selection& div_(Arg v) && { return std::move(*this) /= std::move(v); }
  Selection& fill_(Arg v) && { return std::move(*this) = std::move(v); }
  Selection& copy_(Arg v) && { return std::move(*this) = std::move(v); }
  Selection& zero_(Site s = Site::current()) && { return std::move(*this) = Arg(false, s); }
  Selection& clamp_(Arg low, Arg high) &&;

  // Members of Tensor, of what is read.

  Shape shape(Site s = Site::current()) const { return read(s).shape(s); }
  DType dtype(Site s = Site::current()) const { return base_value_.dtype(s); }
  int ndim(Site s = Site::current()) const { return read(s).ndim(s); }
  int64_t size(Site s = Site::current()) const { return read(s).size(s); }
  int64_t size(IntegerArg axis, Site s = Site::current()) const { return read(s).size(axis, s); }
  Device device(Site s = Site::current()) const { return base_value_.device(s); }
  Tensor eval(Site s = Site::current()) const { return read(s).eval(s); }
  template <Element E>
  E item(Site s = Site::current()) const {
    return read(s).item<E>(s);
  }
  template <Element E>
  std::vector<E> to_vector(Site s = Site::current()) const {
    return read(s).to_vector<E>(s);
  }
  Tensor operator()(Index i0, Index i1 = {}, Index i2 = {}, Index i3 = {}, Index i4 = {}, Index i5 = {},
                    Index i6 = {}, Index i7 = {}, Index i8 = {}, Index i9 = {}) const {
    return read(site_)(i0, i1, i2, i3, i4, i5, i6, i7, i8, i9);
  }
  Tensor sum(Axes axes = {}, KeepDims keep = dropdims, MaybeDType t = {}, Site s = Site::current()) const {
    return read(s).sum(axes, keep, t, s);
  }
  Tensor prod(Axes axes = {}, KeepDims keep = dropdims, MaybeDType t = {}, Site s = Site::current()) const {
    return read(s).prod(axes, keep, t, s);
  }
  Tensor mean(Axes axes = {}, KeepDims keep = dropdims, Site s = Site::current()) const {
    return read(s).mean(axes, keep, s);
  }
  Tensor max(Axes axes = {}, KeepDims keep = dropdims, Site s = Site::current()) const {
    return read(s).max(axes, keep, s);
  }
  Tensor min(Axes axes = {}, KeepDims keep = dropdims, Site s = Site::current()) const {
    return read(s).min(axes, keep, s);
  }
  Tensor any(Axes axes = {}, KeepDims keep = dropdims, Site s = Site::current()) const {
    return read(s).any(axes, keep, s);
  }
  Tensor all(Axes axes = {}, KeepDims keep = dropdims, Site s = Site::current()) const {
    return read(s).all(axes, keep, s);
  }
  Tensor reshape(ShapeArg shape, Site s = Site::current()) const { return read(s).reshape(shape, s); }
  Tensor T(Site s = Site::current()) const { return read(s).T(s); }
  Tensor astype(DType t, Site s = Site::current()) const { return read(s).astype(t, s); }

 private:
  friend class Tensor;
  friend std::ostream& operator<<(std::ostream&, const Selection&);
  Selection(Tensor& base, const Tensor& index, const Site& site);
  bool is_mask() const;
  /// True if a value fits every element that the mask selects.
  bool fits_each(const Arg& value) const;
  void write(const char* op, const Arg& value);
  void write_each(const char* op, const Arg& value);
  void write_in_order(const char* op, const Arg& value);
  template <class F>
  Selection& update(const char* function, const char* typed, F op, const Arg& value);

  Tensor* base_;
  Tensor base_value_, index_;
  Site site_;
};
template <std::derived_from<Tensor> X>
Selection Tensor::operator()(const X& mask_or_positions, Site s) & {
  return Selection(*this, mask_or_positions, s);
}

/// Prints what is selected, as a Tensor is printed. Evaluates.
std::ostream& operator<<(std::ostream&, const Selection&);
/// Writes what is selected, and a new line, on standard output. Evaluates.
inline void print(const Selection& x, Site s = Site::current()) { x.read(s).print(s); }

}  // namespace lazy
