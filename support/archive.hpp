// Converts values to bytes and back, for storage on disk. One function lists a struct's fields for both
// directions:
//
//   template <class A> void fields(A& a, Point& p) { a(p.x, p.y, p.name); }
//   Saver s;  s(point);  s.take();        Loader l(bytes);  l(point);  if (!l.done()) ...
//
// Numbers are stored as this machine has them, so bytes are for programs of the same build only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lazy {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Saver {
 public:
  template <class... T>
  void operator()(const T&... v) {
    (put(v), ...);
  }
  void count(size_t n) {
    for (; n >= 0x80; n >>= 7) bytes_.push_back(static_cast<char>(n | 0x80));
    bytes_.push_back(static_cast<char>(n));
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  template <Plain T>
  void put(const T& v) {
    bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void put(std::string_view v) {
    count(v.size());
    bytes_ += v;
  }
  void put(const std::string& v) { put(std::string_view(v)); }
  template <class T>
  void put(const std::vector<T>& v) {
    count(v.size());
    put_all(v.data(), v.size());
  }
  template <class T, size_t N>
  void put(const T (&v)[N]) {
    put_all(v, N);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& v) {
    fields(*this, const_cast<T&>(v));  // a Saver only reads
  }
  template <class T>
  void put_all(const T* v, size_t n) {
    if constexpr (Plain<T>) {
      if (n) bytes_.append(reinterpret_cast<const char*>(v), n * sizeof(T));
    } else {
      for (size_t i = 0; i < n; ++i) put(v[i]);
    }
  }

  std::string bytes_;
};

/// Reads values back. Reading is safe whatever the bytes are: missing data reads as zero or empty, and ok()
/// tells.
class Loader {
 public:
  explicit Loader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  template <class... T>
  void operator()(T&... v) {
    (get(v), ...);
  }
  size_t count() {
    size_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t b = 0;
      get(b);
      n |= static_cast<size_t>(b & 0x7f) << shift;
      if (!(b & 0x80)) return n;
    }
    ok_ = false;
    return 0;
  }
  /// Returns a view of the next `n` bytes, without a copy; empty if there aren't so many.
  std::string_view raw(size_t n) {
    if (n > left()) {
      ok_ = false;
      return {};
    }
    return {std::exchange(at_, at_ + n), n};
  }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  /// True if everything could be read and no bytes are left over.
  bool done() const { return ok_ && at_ == end_; }

 private:
  template <Plain T>
  void get(T& v) {
    if (sizeof v > left()) {
      ok_ = false;
      at_ = end_;
      v = T{};
      return;
    }
    if constexpr (std::is_same_v<T, bool>) {
      v = *at_ != 0;
    } else {
      std::memcpy(&v, at_, sizeof v);
    }
    at_ += sizeof v;
  }
  void get(std::string& v) { v = raw(count()); }
  void get(std::string_view& v) { v = raw(count()); }  // into the bytes that are read
  template <class T>
  void get(std::vector<T>& v) {
    const size_t n = count();
    v.clear();
    if (n > left()) {  // every element takes a byte or more
      ok_ = false;
      return;
    }
    if constexpr (Plain<T> && !std::is_same_v<T, bool>) {
      const std::string_view all = raw(n * sizeof(T));
      if (!ok_) return;
      v.resize(n);
      if (n) std::memcpy(v.data(), all.data(), all.size());
    } else {
      for (size_t i = 0; i < n && ok_; ++i) get(v.emplace_back());
    }
  }
  template <class T, size_t N>
  void get(T (&v)[N]) {
    for (T& e : v) get(e);
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& v) { fields(*this, v); }

  const char *at_, *end_;
  bool ok_ = true;
};

}  // namespace lazy
