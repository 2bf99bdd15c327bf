#include "lazy/core/build.hpp"
#include "lazy/pretrained/gguf/state.hpp"

namespace lazy::gguf {
namespace {

constexpr const char* kKindNames[] = {"uint8", "int8", "uint16", "int16",  "uint32", "int32",  "float32",
                                      "bool",  "text", "list",   "uint64", "int64",  "float64"};

bool is_integer(Kind k) { return k <= Kind::int32 || k == Kind::uint64 || k == Kind::int64; }
bool is_number(Kind k) { return is_integer(k) || k == Kind::float32 || k == Kind::float64; }

/// Calls f with the number at a place, of its own type.
template <class F>
auto with_number(const lazy::detail::FileBytes& f, Kind k, uint64_t at, F&& call) {
  switch (k) {
    case Kind::uint8: return call(f.little<uint8_t>(at));
    case Kind::int8: return call(f.little<int8_t>(at));
    case Kind::uint16: return call(f.little<uint16_t>(at));
    case Kind::int16: return call(f.little<int16_t>(at));
    case Kind::uint32: return call(f.little<uint32_t>(at));
    case Kind::int32: return call(f.little<int32_t>(at));
    case Kind::float32: return call(f.little<float>(at));
    case Kind::uint64: return call(f.little<uint64_t>(at));
    case Kind::int64: return call(f.little<int64_t>(at));
    default: return call(f.little<double>(at));
  }
}

uint64_t width_of(Kind k) {
  constexpr uint64_t kWidths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kWidths[static_cast<size_t>(k)];
}

std::string_view text_at(const lazy::detail::FileBytes& f, uint64_t at) {
  return f.bytes.substr(at + sizeof(uint64_t), f.little<uint64_t>(at));
}

/// Returns where what is at a place ends. The reader has checked all sizes.
uint64_t end_of(const lazy::detail::FileBytes& f, Kind k, uint64_t at) {
  if (k == Kind::text) return at + sizeof(uint64_t) + f.little<uint64_t>(at);
  if (k != Kind::list) return at + width_of(k);
  const auto element = static_cast<Kind>(f.little<uint32_t>(at));
  const auto count = f.little<uint64_t>(at + sizeof(uint32_t));
  at += sizeof(uint32_t) + sizeof(uint64_t);
  if (const uint64_t width = width_of(element)) return at + count * width;
  for (uint64_t i = 0; i < count; ++i) at = end_of(f, element, at);
  return at;
}

/// Returns a number as int64; nothing if it is beyond.
std::optional<int64_t> integer_at(const lazy::detail::FileBytes& f, Kind k, uint64_t at) {
  return with_number(f, k, at, [](auto v) -> std::optional<int64_t> {
    if (std::is_same_v<decltype(v), uint64_t> && static_cast<uint64_t>(v) > static_cast<uint64_t>(INT64_MAX))
      return {};
    return static_cast<int64_t>(v);
  });
}

double real_at(const lazy::detail::FileBytes& f, Kind k, uint64_t at) {
  return with_number(f, k, at, [](auto v) { return static_cast<double>(v); });
}

}  // namespace

void Value::wrong(const char* expected, const Site& s) const {
  const std::string found = is_list() ? "a list of " + std::string(kKindNames[static_cast<size_t>(element_)])
                                      : std::string(kKindNames[static_cast<size_t>(kind_)]);
  lazy::detail::fail<Error>(
      "gguf", of_->file.name + ": expected " + key_ + " to be " + expected + ", found " + found, s);
}

int64_t Value::integer(Site s) const {
  if (!is_integer(kind_)) wrong("an integer", s);
  const std::optional<int64_t> v = integer_at(of_->file, kind_, begin_);
  if (!v) wrong("an integer below 2^63", s);
  return *v;
}
double Value::real(Site s) const {
  if (!is_number(kind_)) wrong("a number", s);
  return real_at(of_->file, kind_, begin_);
}
bool Value::flag(Site s) const {
  if (kind_ != Kind::boolean) wrong("a bool", s);
  return of_->file.bytes[begin_] != 0;
}
std::string_view Value::text(Site s) const {
  if (kind_ != Kind::text) wrong("a text", s);
  return text_at(of_->file, begin_);
}

template <class F>
void Value::each(F&& f) const {
  uint64_t at = begin_;
  for (uint64_t i = 0; i < count_; ++i) {
    f(at);
    at = end_of(of_->file, element_, at);
  }
}

std::vector<int64_t> Value::integers(Site s) const {
  if (!is_list() || !is_integer(element_)) wrong("a list of integers", s);
  std::vector<int64_t> all;
  all.reserve(count_);
  each([&](uint64_t at) {
    const std::optional<int64_t> v = integer_at(of_->file, element_, at);
    if (!v) wrong("a list of integers below 2^63", s);
    all.push_back(*v);
  });
  return all;
}
std::vector<double> Value::reals(Site s) const {
  if (!is_list() || !is_number(element_)) wrong("a list of numbers", s);
  std::vector<double> all;
  all.reserve(count_);
  each([&](uint64_t at) { all.push_back(real_at(of_->file, element_, at)); });
  return all;
}
std::vector<std::string_view> Value::texts(Site s) const {
  if (!is_list() || element_ != Kind::text) wrong("a list of texts", s);
  std::vector<std::string_view> all;
  all.reserve(count_);
  each([&](uint64_t at) { all.push_back(text_at(of_->file, at)); });
  return all;
}

std::vector<Value> Value::elements(Site s) const {
  if (!is_list()) wrong("a list", s);
  std::vector<Value> all;
  uint64_t i = 0;
  each([&](uint64_t at) {
    Value v;
    v.of_ = of_;
    v.key_ = key_ + "[" + std::to_string(i++) + "]";
    v.kind_ = element_;
    v.begin_ = at;
    if (element_ == Kind::list) {
      v.element_ = static_cast<Kind>(of_->file.little<uint32_t>(at));
      v.count_ = of_->file.little<uint64_t>(at + sizeof(uint32_t));
      v.begin_ = at + sizeof(uint32_t) + sizeof(uint64_t);
    }
    all.push_back(std::move(v));
  });
  return all;
}

}  // namespace lazy::gguf
