// Reads the metadata of a model in the GGUF format. Internal to lazy/pretrained.
#pragma once
#include <optional>
#include <string>

#include "lazy/pretrained/config_file.hpp"
#include "lazy/pretrained/gguf/gguf.hpp"
#include "support/text.hpp"

namespace lazy::pretrained {

/// Reads the metadata of one architecture: its keys, without the architecture's name before them.
class GgufKeys {
 public:
  GgufKeys(const char* op, const gguf::File& f, std::string architecture, const Site& s)
      : op_(op), file_(f), architecture_(std::move(architecture)), site_(s) {}

  bool has(const std::string& key) const { return file_.contains(full(key)); }
  int64_t integer(const std::string& key, std::optional<int64_t> fallback = {},
                  int64_t most = kMostExtent) const {
    if (!has(key)) {
      if (fallback) return *fallback;
      throw IoError(where(key) + ": the key is missing", site_);
    }
    const int64_t v = file_.at(full(key), site_).integer(site_);
    if (v < 1 || v > most)
      throw IoError(where(key) + ": expected an integer from 1 to " + std::to_string(most) + ", found " +
                        std::to_string(v),
                    site_);
    return v;
  }
  double real(const std::string& key, double fallback, double least, double most) const {
    if (!has(key)) return fallback;
    const double v = file_.at(full(key), site_).real(site_);
    if (!(v >= least && v <= most))
      throw IoError(where(key) + ": expected a number from " + text::formatted("%g", least) + " to " +
                        text::formatted("%g", most) + ", found " + text::formatted("%g", v),
                    site_);
    return v;
  }
  std::string text_of(const std::string& key, const char* fallback) const {
    return has(key) ? std::string(file_.at(full(key), site_).text(site_)) : fallback;
  }
  [[noreturn]] void unsupported(const std::string& key, const std::string& found,
                                const std::string& supported) const {
    throw Error(where(key) + " is " + found + ", which is not supported; supported: " + supported, site_);
  }
  const gguf::File& file() const { return file_; }

 private:
  std::string full(const std::string& key) const { return architecture_ + "." + key; }
  std::string where(const std::string& key) const {
    return std::string(op_) + ": " + file_.path() + ": " + full(key);
  }
  const char* op_;
  const gguf::File& file_;
  std::string architecture_;
  Site site_;
};

}  // namespace lazy::pretrained
