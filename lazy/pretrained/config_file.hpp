// Reads a model's config.json: each key with its type and range, errors with the file, the key, what was
// found and what is supported. Internal to lazy/pretrained.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/io/file.hpp"
#include "lazy/models/activation.hpp"

namespace lazy::pretrained {

/// Bounds extents that a config says: products of two of them, and of a few bytes, fit 64 bits.
inline constexpr int64_t kMostExtent = int64_t{1} << 28;
inline constexpr int64_t kMostLayers = 10'000;

/// Holds an object of JSON whose keys are asked for one by one.
class ConfigFile {
 public:
  /// Parses the file. IoError for what is no object of JSON, and for more than 2 MiB.
  explicit ConfigFile(const detail::FileBytes&);
  /// Holds what another reader has found in a file that is no JSON.
  ConfigFile(const detail::FileBytes& file, nlohmann::json object)
      : file_(file), object_(std::move(object)) {}

  /// True if the key is there and not null.
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Returns an integer in a range. Without a fallback the key has to be there: IoError.
  int64_t integer(std::string_view key, std::optional<int64_t> fallback = {}, int64_t least = 1,
                  int64_t most = kMostExtent) const;
  /// Returns a finite number in a range.
  double real(std::string_view key, double fallback, double least, double most) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  std::vector<int64_t> integers(std::string_view key, const std::vector<int64_t>& fallback, int64_t least = 1,
                                int64_t most = kMostExtent) const;
  /// Returns a list of finite numbers above 0; an empty one without the key.
  std::vector<float> factors(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// Returns how many elements a list or an object has; nothing without the key.
  std::optional<int64_t> count(std::string_view key) const;
  /// Returns the object of that key; nothing without it, or if it is null.
  std::optional<ConfigFile> object(std::string_view key) const;
  models::Activation activation(std::string_view key, std::string_view fallback) const;
  /// Returns the number of classes that a head has: num_labels, or that of id2label, or 2.
  int64_t labels() const;

  /// Throws Error unless the key is left out or has this value: others would change what is computed.
  void only(std::string_view key, const nlohmann::json& supported) const;
  /// Throws Error: the key has a value that is not supported.
  [[noreturn]] void unsupported(std::string_view key, const std::string& supported) const;

  const detail::FileBytes& file() const { return file_; }

 private:
  const nlohmann::json* find(std::string_view key) const;
  [[noreturn]] void wrong(std::string_view key, const std::string& expected) const;
  std::string found(std::string_view key) const;

  detail::FileBytes file_;
  nlohmann::json object_;
  std::string path_;  // of the object in the file: "rope_scaling."
};

/// Returns the name that a config has for the activation.
const char* name_of(models::Activation);

}  // namespace lazy::pretrained
