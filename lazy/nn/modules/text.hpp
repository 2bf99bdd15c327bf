// Writes what stands between the parentheses of printed modules, in Python's notation. Internal to lazy/.
#pragma once
#include <string>
#include <string_view>

#include "lazy/core/tensor.hpp"
#include "lazy/nn/functional/padding.hpp"

namespace lazy::nn::detail {

/// Returns the shortest text that is exactly this number, as Python's repr() does: 1.0, 0.1, 1e-05.
std::string text(double);
/// Returns "(3, 3)"; of one number "(3,)".
std::string text(const Dims&);
/// Returns the number that stands for all axes, or text() of one for each.
std::string text_of_each(const Dims&);
std::string text(PadMode);  // torch's: zeros, reflect, replicate, circular

/// Adds "name=value" for each value, separated by commas.
class Repr {
 public:
  Repr& positional(std::string_view value) { return add("", value); }
  Repr& add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ", ";
    text_ += name;
    if (!name.empty()) text_ += '=';
    text_ += value;
    return *this;
  }
  Repr& each(std::string_view name, const Dims& value) { return add(name, text_of_each(value)); }
  Repr& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  Repr& add(std::string_view name, bool value) { return add(name, value ? "True" : "False"); }
  Repr& add(std::string_view name, int64_t value) { return add(name, std::to_string(value)); }
  Repr& add(std::string_view name, double value) { return add(name, text(value)); }
  Repr& add(std::string_view name, const Dims& value) { return add(name, text(value)); }
  std::string str() const { return text_; }

 private:
  static std::string text(double v) { return detail::text(v); }
  static std::string text(const Dims& v) { return detail::text(v); }
  std::string text_;
};

}  // namespace lazy::nn::detail
