#include "lazy/data/array.hpp"

#include <cstring>

#include "lazy/io/file.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::data {
namespace {

constexpr std::align_val_t kAlignment{64};  // what the widest vectors like

/// Returns memory for a batch; it is not cleared.
std::shared_ptr<char> memory(size_t bytes) {
  return {static_cast<char*>(::operator new(bytes + 1, kAlignment)),
          [](char* p) { ::operator delete(p, kAlignment); }};
}

std::string described(const Array& a) {
  return a.defined() ? to_string(a.shape()) + " " + name_of(a.dtype()) : std::string("nothing");
}

}  // namespace

Array::Array(const Tensor& x, Site s) {
  const auto keep = std::make_shared<jit::BufferRef>();
  const auto held = std::make_shared<const std::pair<Tensor, std::shared_ptr<jit::BufferRef>>>(x, keep);
  const Tensor& value = held->first;
  const std::string_view bytes = lazy::detail::host_bytes("Array", value, s, *keep);
  values_ = std::shared_ptr<const void>(held, bytes.empty() ? static_cast<const void*>("") : bytes.data());
  shape_ = value.shape(s);
  dtype_ = value.dtype(s);
}

Array Array::operator[](int64_t i) const {
  if (shape_.empty() || i < 0 || i >= shape_[0])
    throw IndexError("Array: index " + std::to_string(i) + " of shape " + to_string(shape_));
  Array row;
  row.shape_ = Shape(std::span<const int64_t>(shape_.begin() + 1, shape_.end()));
  row.dtype_ = dtype_;
  const auto* const at = static_cast<const char*>(values_.get()) + static_cast<size_t>(i) * row.nbytes();
  row.values_ = std::shared_ptr<const void>(values_, at);
  return row;
}

Tensor Array::tensor(MaybeDevice device, Site s) const {
  if (!defined()) throw Error("Array: it holds nothing", s);
  return from_blob(
      const_cast<void*>(values_.get()), ShapeArg(shape_), dtype_, {}, [own = values_](void*) {}, device, s);
}

void Array::check_count(size_t count, const Site& s) const {
  if (count != static_cast<size_t>(numel(shape_)))
    throw ShapeError("Array: " + std::to_string(count) + " elements for shape " + to_string(shape_), s);
}

void Array::check_dtype(DType asked, const Site& s) const {
  if (asked != dtype_ || !defined())
    throw DtypeError("values: expected " + std::string(name_of(asked)) + ", the array is " + described(*this),
                     s);
}

Tensor stack(std::span<const Array> arrays, Site s) {
  if (arrays.empty()) throw ShapeError("stack: no arrays", s);
  const Array& first = arrays[0];
  if (!first.defined()) return {};
  Shape shape{static_cast<int64_t>(arrays.size())};
  if (first.shape().size() == kMaxRank)
    throw ShapeError("stack: arrays of " + std::to_string(kMaxRank) + " axes leave none for the batch", s);
  for (const int64_t extent : first.shape()) shape.push_back(extent);
  const size_t each = first.nbytes();
  const auto own = memory(each * arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Array& a = arrays[i];
    if (!a.defined() || a.shape() != first.shape())
      throw ShapeError("stack: example " + std::to_string(i) + " of the batch is " + described(a) +
                           ", the first one " + described(first),
                       s);
    if (a.dtype() != first.dtype())
      throw DtypeError("stack: example " + std::to_string(i) + " of the batch is " + described(a) +
                           ", the first one " + described(first),
                       s);
    if (each) std::memcpy(own.get() + i * each, a.bytes(), each);
  }
  return from_blob(
      own.get(), ShapeArg(shape), first.dtype(), {}, [own](void*) {}, {}, s);
}

}  // namespace lazy::data
