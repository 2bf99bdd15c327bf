#include "lazy/core/tensor.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "jit/core/bytes.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/debug_layout.hpp"
#include "lazy/core/elements.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/core/unchanging.hpp"
#include "support/lock.hpp"

namespace lazy {
using detail::fail;

namespace {
Dims listed(std::span<const IntegerArg> v, const char* what, const Site& s) {
  if (v.size() > kMaxRank)
    throw ShapeError(std::string(what) + ": a tensor has at most " + std::to_string(kMaxRank) +
                         " dimensions, not " + std::to_string(v.size()),
                     s);
  Dims r;
  for (const IntegerArg& e : v) r.push_back(e);
  return r;
}
}  // namespace

ShapeArg::ShapeArg(std::initializer_list<IntegerArg> v, Site s)
    : ShapeArg(std::span(v.begin(), v.size()), s) {}
ShapeArg::ShapeArg(const std::vector<int64_t>& v, Site s) {
  if (v.size() > kMaxRank)
    throw ShapeError("shape: a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
                         std::to_string(v.size()),
                     s);
  for (int64_t n : v) push_back(n);
}
ShapeArg::ShapeArg(std::span<const IntegerArg> v, const Site& s) : Shape(listed(v, "shape", s)) {
  for (const IntegerArg& e : v)
    if (e.above) throw ShapeError("shape: an extent is above " + std::to_string(e.value), s);
}
Axes::Axes(std::initializer_list<IntegerArg> v, Site s) : Axes(std::span(v.begin(), v.size()), s) {}
Axes::Axes(std::span<const IntegerArg> v, const Site& s) : Dims(listed(v, "axes", s)) {}

ShapeArg detail::extents(std::initializer_list<ExtentArg> v) {
  std::vector<IntegerArg> given;
  for (const ExtentArg& e : v)
    if (e.given) given.push_back(e.extent);
  return ShapeArg(std::span<const IntegerArg>(given), v.begin()->site);
}

void Tensor::update_to(jit::Handle h, const Site& s) {
  if (detail::any_recipes()) [[unlikely]]
    if (detail::Recipe* const r = detail::recipe_of(handle_)) return r->assign(h, s);
  if (handle_ && handle_->frozen) [[unlikely]]
    detail::check_thawed("an update", *this, s);
  if (detail::observed() || detail::inferring) detail::tell_updated(handle_, h, s);
  rebind(std::move(h));
}

const jit::Node& Tensor::node(const char* op, const Site& s) const {
  if (!handle_) detail::throw_empty(op, s);
  return *handle_.get();
}

const Shape& Tensor::shape(Site s) const { return node("shape", s).shape; }
DType Tensor::dtype(Site s) const { return node("dtype", s).dtype; }
int Tensor::ndim(Site s) const { return node("ndim", s).shape.size(); }
int64_t Tensor::size(Site s) const { return lazy::numel(node("size", s).shape); }
Device Tensor::device(Site s) const { return node("device", s).device; }
size_t Tensor::count(const char* op, const Site& s) const {
  return static_cast<size_t>(lazy::numel(node(op, s).shape));
}
size_t Tensor::nbytes(Site s) const {
  const jit::Node& n = node("nbytes", s);
  return bytes_of(n.shape, n.dtype);
}

int64_t Tensor::numel(Site s) const { return lazy::numel(node("numel", s).shape); }
int Tensor::dim(Site s) const { return node("dim", s).shape.size(); }

size_t Tensor::itemsize(Site s) const { return size_of(node("itemsize", s).dtype); }
void detail::check_levels(const Tensor& x, int levels, const Site& s) {
  const int axes = x.ndim(s);
  if (axes != levels)
    fail<ShapeError>("tolist",
                     "returns vectors of " + std::to_string(levels) + (levels == 1 ? " level" : " levels") +
                         ", and the tensor has shape " + to_string(x.shape(s)) + ": write tolist<E, " +
                         std::to_string(axes) + ">()",
                     s);
}
Dims Tensor::strides(Site s) const { return contiguous_strides(node("strides", s).shape); }
int64_t Tensor::stride(IntegerArg axis, Site s) const {
  const Shape& shape = node("stride", s).shape;
  return contiguous_strides(shape)[detail::normal_axis("stride", axis, shape.size(), s)];
}
bool Tensor::is_complex(Site s) const { return lazy::is_complex(node("is_complex", s).dtype); }
bool Tensor::is_floating_point(Site s) const { return is_float(node("is_floating_point", s).dtype); }

int64_t Tensor::shape(IntegerArg axis, Site s) const {
  const Shape& shape = node("shape", s).shape;
  return shape[detail::normal_axis("shape", axis, shape.size(), s)];
}
int64_t Tensor::size(IntegerArg axis, Site s) const {
  const Shape& shape = node("size", s).shape;
  return shape[detail::normal_axis("size", axis, shape.size(), s)];
}

const Tensor& Tensor::eval(Site s) const {
  (void)node("eval", s);
  jit::Handle keep;
  const jit::Handle* one[] = {&detail::value_of(handle_, keep, s)};
  jit::evaluate(one, jit::Cause::eval, s);
  return *this;
}

Tensor Tensor::to(Device device, Site s) const {
  (void)node("to", s);
  jit::Handle keep;
  return Tensor(detail::transfer(detail::value_of(handle_, keep, s), device, s));
}

void eval(std::initializer_list<LocatedTensor> tensors) {
  if (tensors.size() == 0) return;
  std::vector<const jit::Handle*> handles;
  std::vector<jit::Handle> read(detail::any_recipes() ? tensors.size() : 0);
  jit::Handle* keep = read.data();
  for (const LocatedTensor& t : tensors) {
    if (!t.tensor->defined()) detail::throw_empty("eval", t.site);
    const jit::Handle& h = t.tensor->handle();
    handles.push_back(read.empty() ? &h : &detail::value_of(h, *keep++, t.site));
  }
  jit::evaluate(handles, jit::Cause::eval, tensors.begin()->site);
}

void detail::eval(std::span<const Tensor> tensors, const Site& s) {
  std::vector<const jit::Handle*> handles;
  for (const Tensor& t : tensors) {
    if (!t.defined()) detail::throw_empty("eval", s);
    handles.push_back(&t.handle());
  }
  jit::evaluate(handles, jit::Cause::eval, s);
}

void Tensor::read(const char* op, jit::Cause cause, DType to, void* out, int64_t expected,
                  const Site& s) const {
  (void)node(op, s);
  jit::Handle read_now;
  const jit::Handle& h = detail::value_of(handle_, read_now, s);
  const jit::Node& n = *h.get();
  const int64_t count = lazy::numel(n.shape);
  if (expected >= 0 && count != expected)
    fail<ShapeError>(op, "needs a tensor with one element, not " + to_string(n.shape), s);
  if (is_int(to) && lazy::is_float(n.dtype) && cause != jit::Cause::truth &&
      op != std::string_view(name_of(to)))  // int64_t(x) cuts, as C++ does
    fail<DtypeError>(op,
                     std::string("elements of ") + name_of(n.dtype) + " would lose their fractions as " +
                         name_of(to) + ": convert with astype(" + name_of(to) + ") if that is meant",
                     s);
  if (count == 0) return;
  if (lazy::is_complex(n.dtype) || lazy::is_complex(to)) [[unlikely]]
    return Tensor(h).read_complex(op, cause, to, out, static_cast<size_t>(count), s);
  jit::BufferRef keep;
  detail::convert(n.dtype, jit::contiguous_data(h, cause, s, keep), to, out, static_cast<size_t>(count));
}

void Tensor::read_complex(const char* op, jit::Cause cause, DType to, void* out, size_t count,
                          const Site& s) const {
  const jit::Node& n = *handle_.get();
  if (!lazy::is_complex(to)) {
    if (to != bool_)
      fail<DtypeError>(
          op, std::string("the elements are ") + name_of(n.dtype) + ", not real: read real() or imag()", s);
    const detail::Handle truth = detail::cast(handle_, bool_, s);
    return Tensor(truth).read(op, cause, to, out, -1, s);
  }
  const DType plane = plane_type(to);
  const detail::Handle parts[] = {detail::real_part(handle_), detail::imaginary_part(handle_, s)};
  const detail::Handle* both[] = {&parts[0], &parts[1]};
  jit::evaluate(both, cause, s);
  std::vector<char> of_type[2];
  for (int i : {0, 1}) {
    jit::BufferRef keep;
    of_type[i].resize(count * size_of(plane));
    detail::convert(parts[i]->dtype, jit::contiguous_data(parts[i], cause, s, keep), plane, of_type[i].data(),
                    count);
  }
  detail::interleave(plane, of_type[0].data(), of_type[1].data(), out, count);
}

const void* Tensor::raw_data(DType t, const Site& s) const {
  const jit::Node& n = node("data", s);
  if (n.dtype != t)
    fail<DtypeError>("data", std::string("the elements are ") + name_of(n.dtype) + ", not " + name_of(t), s);
  if (detail::any_recipes() && detail::recipe_of(handle_)) [[unlikely]]
    fail<Error>("data",
                "the parameter has a parametrization, and no elements of its own: copy it to a Tensor", s);
  // Threads may call this on the same Tensor at once; each must get a pointer that stays valid. All Tensors
  // share the lock, so nothing is computed under it: if threads copy the same value, the first one's copy
  // stays.
  static constinit Mutex mutex;
  {
    const Hold lock(mutex);
    if (packed_) return packed_->data();
  }
  jit::BufferRef keep;
  if (lazy::is_complex(t)) [[unlikely]] {
    detail::packed_pairs(handle_, jit::Cause::data, s, keep);
    const Hold lock(mutex);
    if (!packed_) packed_ = std::move(keep);
    return packed_->data();
  }
  const void* p = jit::contiguous_data(handle_, jit::Cause::data, s, keep);
  if (keep.get() == n.buffer.get()) return p;  // the node itself owns it
  const Hold lock(mutex);
  if (!packed_) packed_ = std::move(keep);
  return packed_->data();
}

Tensor::operator bool() const {
  const jit::Node& n = node("bool", Site{});
  bool v = false;
  if (lazy::numel(n.shape) != 1)  // a conversion has no line of its own
    fail<ShapeError>("bool",
                     "needs a tensor with one element, not " + to_string(n.shape) +
                         ", which was made here: any() or all() make one of several, and & or | stand for && "
                         "or || between tensors",
                     n.site);
  read("bool", jit::Cause::truth, bool_, &v, 1, n.site);
  return v;
}

void Tensor::read_one(DType t, void* out) const {
  const jit::Node& n = node(name_of(t), Site{});
  if (lazy::numel(n.shape) != 1)
    fail<ShapeError>(name_of(t),
                     "needs a tensor with one element, not " + to_string(n.shape) + ", which was made here",
                     n.site);
  read(name_of(t), jit::Cause::item, t, out, 1, n.site);
}

double Tensor::item(Site s) const {
  const DType t = node("item", s).dtype;
  if (size_of(t) < 8 || is_float(t) || lazy::is_complex(t)) return item<double>(s);
  const int64_t i = item<int64_t>(s);
  const double d = static_cast<double>(i);
  constexpr double kExact = 9007199254740992;  // 2^53: double holds every integer up to here
  if (std::abs(d) > kExact || (t == uint64 && i < 0))
    fail<DtypeError>("item",
                     std::string("the ") + name_of(t) + " is above 2^53, which double may not hold: write " +
                         (t == uint64 ? "item<uint64_t>()" : "item<int64_t>()"),
                     s);
  return d;
}

}  // namespace lazy

// Here, because a program that has a Tensor links this file.
namespace {

constexpr auto kDTypeNames = [] {
  std::array<const char*, lazy::kAllDTypeCount> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = lazy::kDTypes[i].name;
  return names;
}();
constexpr const char* kOpNames[] = {
#define LAZY_OP(name, ...) #name,
#include "jit/core/ops.def"
#undef LAZY_OP
    "complex",
};

using lazy::jit::Node;
// What private fields can't be asked for follows from sizes and order; tests/gdb prints elements.
constexpr uint32_t kDimsValues = sizeof(int64_t), kBufferData = sizeof(void*);
static_assert(sizeof(lazy::Dims) == kDimsValues + lazy::kMaxRank * sizeof(int64_t));

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Winvalid-offsetof"  // of a class with a base: well defined by the compilers we take
extern "C" [[gnu::visibility("default"), gnu::used, gnu::retain]] const LazyDebugLayout lazy_debug_layout = {
    2,
    sizeof(LazyDebugLayout),
    kDTypeNames.data(),
    kOpNames,
    offsetof(Node, state),
    offsetof(Node, op),
    offsetof(Node, dtype),
    offsetof(Node, device),
    offsetof(Node, contiguous),
    offsetof(Node, site),
    offsetof(Node, shape),
    offsetof(Node, buffer),
    offsetof(Node, offset),
    offsetof(Node, strides),
    kDimsValues,
    kBufferData,
};
#pragma GCC diagnostic pop
