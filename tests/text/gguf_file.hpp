// Writes the metadata of a file in the GGUF format, without tensors.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace text_test {

/// Holds keys and values; a key that is set again has the last value.
class GgufFile {
 public:
  GgufFile& text(const std::string& key, const std::string& v) {
    return set(key, number<uint32_t>(8) + sized(v));
  }
  GgufFile& integer(const std::string& key, uint32_t v) { return set(key, number<uint32_t>(4) + number(v)); }
  GgufFile& flag(const std::string& key, bool v) {
    return set(key, number<uint32_t>(7) + number<uint8_t>(v));
  }
  GgufFile& texts(const std::string& key, const std::vector<std::string>& all) {
    std::string v = list<uint64_t>(8, all.size());
    for (const std::string& t : all) v += sized(t);
    return set(key, v);
  }
  GgufFile& integers(const std::string& key, const std::vector<int32_t>& all) {
    std::string v = list<uint64_t>(5, all.size());
    for (const int32_t i : all) v += number(i);
    return set(key, v);
  }
  GgufFile& reals(const std::string& key, const std::vector<float>& all) {
    std::string v = list<uint64_t>(6, all.size());
    for (const float f : all) v += number(f);
    return set(key, v);
  }
  std::string bytes() const {
    std::string out = "GGUF" + number<uint32_t>(3) + number<uint64_t>(0) + number<uint64_t>(values_.size());
    for (const auto& [key, v] : values_) out += sized(key) + v;
    return out;
  }

 private:
  template <class T>
  static std::string number(T v) {
    return {reinterpret_cast<const char*>(&v), sizeof v};
  }
  template <class T>
  static std::string list(uint32_t kind, T count) {
    return number<uint32_t>(9) + number(kind) + number(count);
  }
  static std::string sized(const std::string& t) { return number<uint64_t>(t.size()) + t; }
  GgufFile& set(const std::string& key, std::string v) {
    values_[key] = std::move(v);
    return *this;
  }
  std::map<std::string, std::string> values_;
};

}  // namespace text_test
