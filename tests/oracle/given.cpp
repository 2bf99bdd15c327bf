// Reads the arguments of cases.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "tests/oracle/table.hpp"

namespace oracle {
namespace {

int64_t integer_of(std::string_view s) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) throw BadCase("no integer: " + std::string(s));
  return v;
}

double real_of(std::string_view s) {
  const std::string text(s);
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end) throw BadCase("no number: " + text);
  return v;
}

std::vector<int64_t> integers_of(std::string_view s) {
  std::vector<int64_t> v;
  if (s != "-")
    for (const std::string_view w : split_text(s, ',')) v.push_back(integer_of(w));
  return v;
}

std::vector<char> bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<char> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  return bytes;
}

/// Makes a tensor of bytes, of which `strides` and `first` say where the elements are.
Tensor tensor_of(DType t, std::vector<char> bytes, const std::vector<int64_t>& shape,
                 std::vector<int64_t> strides, int64_t first) {
  const auto kept = std::make_shared<std::vector<char>>(std::move(bytes));
  kept->resize(kept->size() + 16);  // an empty tensor needs an address too
  return from_blob(kept->data() + first * static_cast<int64_t>(size_of(t)), ShapeArg(shape), t,
                   std::move(strides), [kept](void*) {});
}

Tensor viewed(const Tensor& x, std::string_view view) {
  const auto parts = split_text(view, ':');
  if (parts[0] == "flip") return flip(x, integer_of(parts.at(1)));
  const std::vector<int64_t> v = parts[0] == "slice" ? std::vector<int64_t>() : integers_of(parts.at(1));
  if (parts[0] == "permute") return permute_dims(x, Axes(Dims(v)));
  if (parts[0] == "broadcast") return broadcast_to(x, v);
  if (parts[0] != "slice") throw BadCase("no view: " + std::string(view));
  const int64_t axis = integer_of(parts.at(1));
  const Slice part = slice(integer_of(parts.at(2)), integer_of(parts.at(3)), integer_of(parts.at(4)));
  return swapaxes(swapaxes(x, 0, axis)(part), 0, axis);
}

}  // namespace

std::vector<std::string_view> split_text(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < s.size();) {
    const size_t end = std::min(s.find(separator, at), s.size());
    parts.push_back(s.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

DType dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  for (const DType t : {complex64, complex128})
    if (name == name_of(t)) return t;
  throw BadCase("no dtype: " + std::string(name));
}

std::string_view Given::next() {
  if (at_ == fields_.size()) throw BadCase("an argument is missing");
  return fields_[at_++];
}

Tensor Given::sample(char kind, std::string_view shape) const {
  const std::vector<int64_t> extents = integers_of(shape);
  if (kind == 'p') {
    const int64_t n = extents.at(0);
    return astype(eye(n) * 3 + (tried_ == bool_ ? 0 : 1), tried_);
  }
  int64_t count = 1;
  for (const int64_t n : extents) count *= n;
  std::vector<int64_t> v(static_cast<size_t>(count));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = kind == 'i' || kind == 'b' || kind == 'u' ? static_cast<int64_t>(i % 2)
                                                     : static_cast<int64_t>(i * 3 % 4 + 1);
  const DType t = kind == 'x' || kind == 'u' ? tried_ : kind == 'f' ? float32 : kind == 'i' ? int64 : bool_;
  return astype(from_span(v, ShapeArg(extents)), t);
}

Tensor Given::tensor() {
  if (!more()) return at_ < fields_.size() ? (++at_, Tensor()) : Tensor();
  const auto words = split_text(next(), ' ');
  const char kind = words[0][0];
  if (kind == 'x' || kind == 'u' || kind == 'f' || kind == 'i' || kind == 'b' || kind == 'p')
    return sample(kind, words.at(1));
  if (kind == 'V') {
    Tensor x = variables_[static_cast<size_t>(integer_of(words.at(1)))];
    for (size_t i = 2; i < words.size(); ++i) x = viewed(x, words[i].substr(1));
    return x;
  }
  if (kind != 'T' && kind != 'B') throw BadCase("no tensor: " + std::string(words[0]));
  const size_t data = kind == 'T' ? 3 : 5;
  const DType t = dtype_named(words.at(1));
  std::vector<char> bytes;
  if (words.size() > data && words[data][0] != '/') bytes = bytes_of(words[data]);
  Tensor x = kind == 'T' ? tensor_of(t, std::move(bytes), integers_of(words.at(2)), {}, 0)
                         : tensor_of(t, std::move(bytes), integers_of(words.at(2)), integers_of(words.at(3)),
                                     integer_of(words.at(4)));
  for (size_t i = data; i < words.size(); ++i)
    if (words[i][0] == '/') x = viewed(x, words[i].substr(1));
  return x;
}

std::vector<Tensor> Given::tensors() {
  const auto words = split_text(next(), ' ');
  if (words[0] != "X") throw BadCase("no list of tensors: " + std::string(words[0]));
  std::vector<Tensor> v;
  for (int64_t n = integer_of(words.at(1)); n > 0; --n) v.push_back(tensor());
  return v;
}

Arg Given::arg() {
  const char k = kind();
  if (k == 'I' || k == 'F' || k == 'O') return Arg(number(), Site::current());
  return Arg(tensor());
}

int64_t Given::integer(int64_t otherwise) {
  if (kind() != 'N' && kind() != 'I') throw BadCase("no integer: " + std::string(fields_[at_]));
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  return integer_of(next().substr(2));
}

double Given::real(double otherwise) {
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  return real_of(next().substr(2));
}

bool Given::flag(bool otherwise) {
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  return next() == "O 1";
}

std::string Given::text(const std::string& otherwise) {
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  return std::string(next().substr(2));
}

std::vector<int64_t> Given::ints() {
  if (!more()) return at_ += at_ < fields_.size(), std::vector<int64_t>();
  return integers_of(next().substr(2));
}

std::vector<double> Given::reals() {
  std::vector<double> v;
  if (!more()) return at_ += at_ < fields_.size(), v;
  const std::string_view list = next().substr(2);
  if (list != "-")
    for (const std::string_view w : split_text(list, ',')) v.push_back(real_of(w));
  return v;
}

MaybeDType Given::dtype() {
  if (!more()) return at_ += at_ < fields_.size(), MaybeDType();
  return dtype_named(next().substr(2));
}

ScalarNumber Given::number(ScalarNumber otherwise) {
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  const std::string_view field = next();
  if (field[0] == 'F') return real_of(field.substr(2));
  if (field[0] == 'O') return field == "O 1";
  if (field[0] == 'I') return integer_of(field.substr(2));
  throw BadCase("no number: " + std::string(field));
}

Axes Given::axes(const Axes& otherwise) {
  if (!more()) return at_ += at_ < fields_.size(), otherwise;
  if (kind() == 'I') return Axes(Dims({integer()}));
  return Axes(Dims(std::span<const int64_t>(ints())));
}

ShapeArg Given::shape() {
  if (kind() == 'I') return ShapeArg(integer());
  return ShapeArg(ints());
}

Bounds Given::bounds() {
  const std::string s = text("check");
  if (s == "check") return Bounds::check;
  if (s == "wrap") return Bounds::wrap;
  if (s == "clip") return Bounds::clip;
  if (s == "mask") return Bounds::mask;
  throw BadCase("no bounds: " + s);
}

Combine Given::combine() {
  const std::string s = text("set");
  if (s == "set") return Combine::set;
  if (s == "add") return Combine::add;
  if (s == "multiply") return Combine::multiply;
  if (s == "min") return Combine::min;
  if (s == "max") return Combine::max;
  throw BadCase("no way to combine: " + s);
}

void Given::end() const {
  if (at_ != fields_.size()) throw BadCase("too many arguments");
}

}  // namespace oracle
