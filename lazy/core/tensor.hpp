// Defines Tensor: a handle on a value that may not have been computed yet. Copies share the value; values
// never change, so sharing can't be seen. Operations return new handles at once and run when a value is
// read.
#pragma once
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "jit/backend/buffer.hpp"
#include "jit/core/device.hpp"
#include "jit/core/shape.hpp"
#include "jit/graph/cause.hpp"
#include "jit/graph/handle.hpp"
#include "lazy/core/arg.hpp"
#include "lazy/core/channel_layout.hpp"
#include "lazy/core/index.hpp"
#include "lazy/core/instead.hpp"
#include "lazy/core/nested_list.hpp"
#include "lazy/core/spelled.hpp"

namespace lazy {

class View;
class Selection;
class RowIterator;
template <Element E>
class Elements;
struct Sorted;

class Tensor {
 public:
  /// Holds nothing: every operation on it throws Error. Assign to it first.
  Tensor() noexcept = default;
  explicit Tensor(jit::Handle h) noexcept : handle_(std::move(h)) {}
  /// Has a number, or the elements of nested lists, in the dtype that tensor() gives them: `Tensor t = 3.5`,
  /// `Tensor t = {{1, 2}, {3, 4}}`. Lists of unequal length throw ShapeError.
  template <ScalarType T>
  Tensor(T value, Site s = Site::current()) : Tensor(ScalarNumber(value), s) {}
  Tensor(std::initializer_list<NestedList> lists, Site s = Site::current());
  /// Has a complex number: `Tensor t = std::complex<float>(1, 2)`.
  template <ComplexType T>
  Tensor(T value, Site s = Site::current())
      : handle_(detail::complex_literal(value, detail::literal_dtype(dtype_of<T>()), s)) {}
  /// Has the elements of a vector, in one dimension or row-major in `shape` (ShapeError unless they are as
  /// many), in the dtype of exactly that C++ type: what asarray() and from_span() return.
  template <Element T>
  explicit Tensor(const std::vector<T>& elements, Site s = Site::current());
  template <Element T>
  explicit Tensor(const std::vector<T>& elements, ShapeArg shape, Site s = Site::current());
  // A copy of a variable that has a recipe in place of a value (a parameter with a parametrization) has the
  // value that this records now: values never change.
  Tensor(const Tensor& t) : handle_(t.handle_), packed_(t.packed_) {
    if (detail::any_recipes()) [[unlikely]]
      if (jit::Handle now = detail::read_recipe(t.handle_)) rebind(std::move(now));
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor& t) & {
    if (detail::any_recipes()) [[unlikely]]
      return *this = Tensor(t);
    handle_ = t.handle_;
    packed_ = t.packed_;
    return *this;
  }
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;

  bool defined() const noexcept { return static_cast<bool>(handle_); }
  const jit::Handle& handle() const noexcept { return handle_; }

  const Shape& shape(Site s = Site::current()) const;
  int64_t shape(IntegerArg axis, Site s = Site::current()) const;
  DType dtype(Site s = Site::current()) const;
  int ndim(Site s = Site::current()) const;
  /// Returns the number of elements; with an axis, the extent of that axis.
  int64_t size(Site s = Site::current()) const;
  int64_t size(IntegerArg axis, Site s = Site::current()) const;
  Device device(Site s = Site::current()) const;
  size_t nbytes(Site s = Site::current()) const;
  /// Returns the bytes of one element.
  size_t itemsize(Site s = Site::current()) const;
  /// Returns how many elements lie between neighbours along each axis, or along one, in what data() points
  /// to, which is in row-major order. (NumPy counts bytes.) IndexError for the axis.
  Dims strides(Site s = Site::current()) const;
  int64_t stride(IntegerArg axis, Site s = Site::current()) const;
  bool is_floating_point(Site s = Site::current()) const;
  bool is_complex(Site s = Site::current()) const;
  // torch's names for size(), ndim(), shape() and itemsize().
  int64_t numel(Site s = Site::current()) const;
  int dim(Site s = Site::current()) const;
  const Shape& sizes(Site s = Site::current()) const { return shape(s); }
  size_t element_size(Site s = Site::current()) const { return itemsize(s); }

  // Gradients (lazy/autograd/backward.hpp says how they come about).

  /// Makes this value one by which backward() differentiates, or ends that. It must not be computed from such
  /// values itself (Error), and is of floating point (DtypeError). What this variable is updated to in a
  /// scope with a no_grad takes its place and its gradient; without one updating it throws Error.
  Tensor& requires_grad_(bool on = true, Site s = Site::current()) &;
  Tensor requires_grad_(bool on = true, Site s = Site::current()) && {
    requires_grad_(on, s);
    return std::move(*this);
  }
  /// True if gradients go through the value: it is such a value or computed from one.
  bool requires_grad(Site s = Site::current()) const;
  /// Differentiates by all values that require it and adds to their gradients. `gradient` is that of this
  /// value, of its shape; it may be omitted for one element (ShapeError). What was kept for it is given up
  /// unless `retain_graph`: a second time throws Error. With `create_graph` the gradients can be
  /// differentiated again.
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false,
                Site s = Site::current()) const;
  /// Returns the gradient that backward() has added up so far; an undefined Tensor if it never reached this
  /// value, which is not the same as zeros.
  Tensor grad(Site s = Site::current()) const;
  /// Forgets the gradient.
  void zero_grad(Site s = Site::current());
  /// Returns the value as one that does not depend on anything.
  Tensor detach(Site s = Site::current()) const;

  // Looking at values. Each of these computes what is pending and needed.

  const Tensor& eval(Site s = Site::current()) const;
  /// Returns the value on a device (device.hpp); itself if it is there. Computes it where it is, then copies;
  /// only a copy to the host is waited for. DeviceError if there is no such device.
  Tensor to(Device device, Site s = Site::current()) const;
  /// Takes the device's name: "cpu", "cuda", "cuda:1". DeviceError for others.
  Tensor to(std::string_view device, Site s = Site::current()) const {
    return to(detail::device_named(device, s), s);
  }
  Tensor cpu(Site s = Site::current()) const { return to(Device{}, s); }
  Tensor cuda(Site s = Site::current()) const { return to(std::string_view("cuda"), s); }
  /// Returns the element of a tensor of size 1, converted as astype would. ShapeError for any other size;
  /// DtypeError for an integer of a floating-point tensor and a real number of a complex one, here and in
  /// to_vector(): convert with astype, read real() or imag().
  template <Element E>
  E item(Site s = Site::current()) const {
    E v;
    read("item", jit::Cause::item, dtype_of<E>(), &v, 1, s);
    return v;
  }
  /// Returns that element as double, which holds those of every dtype but some integers of 64 bits:
  /// DtypeError for one of these. ShapeError for another size than 1.
  double item(Site s = Site::current()) const;
  /// Returns item<E>(): double(x), float(x(1, 2)). As with bool(x), errors have the line that made x.
  template <Element E>
  requires(!std::same_as<E, bool>) explicit operator E() const {
    E v;
    read_one(dtype_of<E>(), &v);
    return v;
  }
  /// Returns all elements in row-major order, converted as astype would.
  template <Element E>
  std::vector<E> to_vector(Site s = Site::current()) const {
    const size_t n = count("to_vector", s);
    if constexpr (std::is_same_v<E, bool>) {  // std::vector<bool> has no array of bool inside
      const std::unique_ptr<bool[]> flat(new bool[n + 1]);
      read("to_vector", jit::Cause::to_vector, bool_, flat.get(), -1, s);
      return std::vector<bool>(flat.get(), flat.get() + n);
    } else {
      std::vector<E> v(n);
      read("to_vector", jit::Cause::to_vector, dtype_of<E>(), v.data(), -1, s);
      return v;
    }
  }
  /// Returns the elements in vectors of vectors, as many levels as the tensor has dimensions: x.tolist<float,
  /// 2>(). ShapeError for another number of dimensions.
  template <Element E, int levels = 1>
  auto tolist(Site s = Site::current()) const;
  /// Returns a pointer to the elements in row-major order. It is valid while this Tensor, unassigned, lives.
  /// DtypeError if E is not the C++ type of the dtype.
  template <Element E>
  const E* data(Site s = Site::current()) const {
    return static_cast<const E*>(raw_data(dtype_of<E>(), s));
  }
  template <Element E>
  const E* data_ptr(Site s = Site::current()) const {
    return data<E>(s);
  }
  /// Returns the elements in row-major order as a range of C++ (elements.hpp), which keeps them. DtypeError
  /// as of data().
  template <Element E>
  Elements<E> elements(Site s = Site::current()) const;
  /// Go along axis 0: `for (Tensor row : x)`. ShapeError for a 0-d tensor.
  RowIterator begin(Site s = Site::current()) const;
  RowIterator end(Site s = Site::current()) const;
  /// Writes the text of to_string(), and a new line, on standard output.
  void print(Site s = Site::current()) const;
  /// True if the one element of a tensor of size 1 is != 0. ShapeError for any other size.
  explicit operator bool() const;

  // Compound assignment rebinds this handle; other handles keep the old value. The dtype stays: a result of a
  // higher kind (an integer tensor += a float) throws DtypeError, a result that broadcasts to another shape
  // ShapeError.

  Tensor& operator+=(Arg) &;
  Tensor& operator-=(Arg) &;
  Tensor& operator*=(Arg) &;
  Tensor& operator/=(Arg) &;
  Tensor& operator%=(Arg) &;
  Tensor& operator&=(Arg) &;
  Tensor& operator|=(Arg) &;
  Tensor& operator^=(Arg) &;
  Tensor& operator<<=(Arg) &;
  Tensor& operator>>=(Arg) &;
  // Errors of these have the line that made the tensor.
  Tensor& operator++() &;
  Tensor& operator--() &;
  Tensor operator++(int) &;
  Tensor operator--(int) &;

  // torch's names of such assignments. Of what is indexed, as in x[0].add_(1), they write to x.

  Tensor& add_(Arg v) &;
  Tensor& sub_(Arg v) &;
  Tensor& mul_(Arg v) &;
  Tensor& div_(Arg v) &;
  Tensor& clamp_(Arg low, Arg high) &;
  /// Gives each element the value of v, which broadcasts, in the tensor's dtype: errors as of assigning to
  /// x(ellipsis).
  Tensor& copy_(Arg v) &;
  Tensor& fill_(Arg v) &;
  Tensor& zero_(Site s = Site::current()) &;
  Tensor& index_put_(const std::vector<Index>& list, Arg v, bool accumulate = false) &;
  /// Draw new values (random.hpp) of the tensor's shape, dtype and device.
  Tensor& uniform_(ScalarNumber low = 0, ScalarNumber high = 1, Site s = Site::current()) &;
  Tensor& normal_(ScalarNumber mean = 0, ScalarNumber std = 1, Site s = Site::current()) &;

  // Indexing (indexing.hpp). On a variable the result can be assigned to, and the variable then has the new
  // value.

  View operator()(Index i0, Index i1 = {}, Index i2 = {}, Index i3 = {}, Index i4 = {}, Index i5 = {},
                  Index i6 = {}, Index i7 = {}, Index i8 = {}, Index i9 = {}) &;
  Tensor operator()(Index i0, Index i1 = {}, Index i2 = {}, Index i3 = {}, Index i4 = {}, Index i5 = {},
                    Index i6 = {}, Index i7 = {}, Index i8 = {}, Index i9 = {}) const&;
  Tensor operator()(Index i0, Index i1 = {}, Index i2 = {}, Index i3 = {}, Index i4 = {}, Index i5 = {},
                    Index i6 = {}, Index i7 = {}, Index i8 = {}, Index i9 = {}) &&;
  /// Returns x(i): x[0], x[-1], x[slice(1, 3)], x[mask].
  View operator[](Index i) &;
  Tensor operator[](Index i) const&;
  Tensor operator[](Index i) &&;
  // Of tensors alone: what converts to one, a number or a list, is an Index.
  template <std::derived_from<Tensor> T>
  Selection operator()(const T& mask_or_positions, Site s = Site::current()) &;
  template <std::derived_from<Tensor> T>
  Tensor operator()(const T& mask_or_positions, Site s = Site::current()) const& {
    return read_selected(mask_or_positions, s);
  }
  template <std::derived_from<Tensor> T>
  Tensor operator()(const T& mask_or_positions, Site s = Site::current()) && {
    return read_selected(mask_or_positions, s);
  }
  /// Takes a list of indices that is made at run time; none selects everything.
  View operator()(std::span<const Index> list, Site s = Site::current()) &;
  Tensor operator()(std::span<const Index> list, Site s = Site::current()) const&;
  Tensor operator()(std::span<const Index> list, Site s = Site::current()) &&;
  /// Returns x(list): x.index({0, slice(1, 3)}).
  Tensor index(const std::vector<Index>& list, Site s = Site::current()) const {
    return (*this)(std::span<const Index>(list), s);
  }

  // Members that NumPy and torch users expect, which call free functions (tensor_members.def lists them).

#define LAZY_MEMBER(result, name, function, site, parameters, ...) \
  result name parameters const&;                                   \
  result name parameters&&;
#define LAZY_MEMBER_OF_OPS LAZY_MEMBER
#define LAZY_MEMBER_OF_INDEXING LAZY_MEMBER
#define LAZY_MEMBER_OF_LINALG LAZY_MEMBER
#define LAZY_MEMBER_OF_COMPLEX LAZY_MEMBER
#define LAZY_MEMBER_OF_NN LAZY_MEMBER
#define LAZY_OR(value) = value
#include "lazy/core/tensor_members.def"
#undef LAZY_MEMBER
  template <Element E>
  Tensor to(Site s = Site::current()) const {
    return to(dtype_of<E>(), s);
  }
  template <Element E>
  Tensor astype(Site s = Site::current()) const {
    return astype(dtype_of<E>(), s);
  }

  // Names that mean one thing in NumPy and another in torch.
  template <class... A>
  instead::chunk_or_the_function_split split(const A&...) const = delete;
  template <class... A>
  instead::tile_or_repeat_interleave repeat(const A&...) const = delete;
  template <class... A>
  instead::eq_or_the_function_array_equal equal(const A&...) const = delete;

  /// Returns the transpose of a matrix; of fewer dimensions x itself. ShapeError for more.
  Tensor t(Site s = Site::current()) const&;
  Tensor t(Site s = Site::current()) &&;
  /// Returns a tensor that shares no memory with the user (values of from_blob are copied; others can't
  /// change).
  Tensor copy(Site s = Site::current()) const;
  Tensor clone(Site s = Site::current()) const;
  /// Returns x, of images that lie channels last a copy in row-major order; with a format to_memory_format().
  /// Other values lie as it suits them, and data() gives elements in row-major order whatever their memory.
  Tensor contiguous(Site s = Site::current()) const;
  Tensor contiguous(ChannelLayout format, Site s = Site::current()) const;
  /// Returns the same images (N, C, spatial...) in memory of that order, (N, spatial..., C) for
  /// channels_last: a copy, or x if it has the format. What is computed of images in channels-last memory by
  /// the functions that docs/network-functions.md lists stays in it, gradients too. ShapeError unless x has 3
  /// to 5 axes.
  Tensor to_memory_format(ChannelLayout format, Site s = Site::current()) const;
  /// True if it is known that the elements lie one after the other in the format's order: row-major, or that
  /// of (N, spatial..., C). Both hold for one channel or one element in each. Views that aren't computed yet:
  /// false.
  bool is_contiguous(ChannelLayout format = channels_first, Site s = Site::current()) const;

 protected:
  /// Throws Error if the Tensor is default-constructed.
  const jit::Node& node(const char* op, const Site& s) const;
  void rebind(jit::Handle h) {
    handle_ = std::move(h);
    packed_.reset();
  }
  /// Rebinds to what the value was updated to: a value that gradients are by stays one, and a variable that
  /// has a recipe takes the value by that.
  void update_to(jit::Handle, const Site&);

 private:
  friend class Arg;
  friend class View;
  friend class Selection;
  Tensor(ScalarNumber value, const Site& s);
  Tensor read_selected(const Tensor& mask_or_positions, const Site&) const;
  /// Reads the element of a tensor of size 1 for a conversion, which has no line of its own.
  void read_one(DType, void* out) const;
  /// Evaluates, converts all elements to `to` and writes them at `out`. `expected` >= 0: the size that is
  /// required.
  void read(const char* op, jit::Cause, DType to, void* out, int64_t expected, const Site&) const;
  const void* raw_data(DType, const Site&) const;
  void read_complex(const char* op, jit::Cause, DType to, void* out, size_t count, const Site&) const;
  size_t count(const char* op, const Site&) const;  // number of elements

  jit::Handle handle_;
  mutable jit::BufferRef packed_;  // a strided value's row-major copy, once data() made it
};

inline Arg::Arg(const Tensor& t, Site site) : borrowed_(&t.handle_), is_tensor_(true), site_(site) {
  if (detail::any_recipes()) [[unlikely]]
    if (jit::Handle now = detail::read_recipe(t.handle_, site)) {
      owned_ = std::move(now), borrowed_ = nullptr;
      number_.u = reinterpret_cast<uint64_t>(&t.handle_);
    }
}
inline Arg::Arg(Tensor&& t, Site site) : is_tensor_(true), site_(site) {
  if (detail::any_recipes()) [[unlikely]]
    if (jit::Handle now = detail::read_recipe(t.handle_, site)) t.handle_ = std::move(now);
  owned_ = std::move(t.handle_);
  t.packed_.reset();
}

inline Index::Index(const Tensor& t, Site s) : Index(Arg(t, s).handle(), s) {}

namespace detail {
/// Accepts tensors, and nothing that converts to one.
template <class T>
concept TensorItself = std::derived_from<std::remove_cvref_t<T>, Tensor>;
}  // namespace detail

/// Takes a tensor only, where a scalar would mean something else.
struct TensorArg : Arg {
  template <detail::TensorItself T>
  TensorArg(T&& t, Site s = Site::current()) : Arg(std::forward<T>(t), s) {}
};

/// Takes a tensor that may be left out, as a bias: then it is undefined.
struct MaybeTensor : Tensor {
  MaybeTensor() noexcept = default;
  template <detail::TensorItself T>
  MaybeTensor(T&& t, Site s = Site::current()) : Tensor(Arg(std::forward<T>(t), s).take()) {}
  MaybeTensor(const Selection& t, Site s = Site::current()) : Tensor(Arg(t, s).take()) {}
};

/// Holds a tensor and the line it was written on.
struct LocatedTensor {
  const Tensor* tensor;
  Site site;
  LocatedTensor(const Tensor& t, Site s = Site::current()) : tensor(&t), site(s) {}
};
/// Prints the tensor as NumPy prints an array (print.hpp). Evaluates.
std::ostream& operator<<(std::ostream&, LocatedTensor);

/// Computes the values of several tensors in as few runs as possible: of those named, or of a vector or array
/// of them.
void eval(std::initializer_list<LocatedTensor>);
namespace detail {
void eval(std::span<const Tensor>, const Site&);
}
template <std::convertible_to<std::span<const Tensor>> Tensors>
void eval(const Tensors& tensors, Site s = Site::current()) {
  detail::eval(tensors, s);
}
template <std::convertible_to<LocatedTensor>... T>
void eval(LocatedTensor first, const T&... rest) {
  eval({first, LocatedTensor(rest, first.site)...});
}

}  // namespace lazy
