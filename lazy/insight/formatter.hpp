// Lets std::format and std::print write tensors, shapes, dtypes and devices, where the standard library has
// them (g++ 13, clang 17, Visual C++ 2019): `std::format("{:.3f}", loss)`.
#pragma once
#include <version>

#ifdef __cpp_lib_format
#include <concepts>
#include <format>
#include <sstream>
#include <string>
#include <string_view>

#include "lazy/indexing/indexing.hpp"
#include "lazy/insight/print.hpp"

namespace lazy::detail {

/// Formats the text that operator<< writes; takes what a string's specification says: fill, alignment, width,
/// the longest text.
template <class T>
struct FormatterOfText : std::formatter<std::string> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    std::ostringstream out;
    out << value;
    return std::formatter<std::string>::format(out.str(), context);
  }
};

/// Formats a tensor as operator<< does. Of one element it takes what that number's specification says
/// (`{:8.3f}`); any other tensor with a specification is a std::format_error. Evaluates.
struct FormatterOfTensor {
  constexpr auto parse(std::format_parse_context& context) {
    auto end = context.begin();
    while (end != context.end() && *end != '}') ++end;
    specification_ = std::string_view(context.begin(), end);
    return end;
  }
  template <class Context>
  auto format(const Tensor& x, Context& context) const {
    return put(text(x), context);
  }
  template <class Context>
  auto format(const Selection& x, Context& context) const {
    const Tensor selected = x;
    return put(text(selected), context);
  }

 private:
  std::string text(const Tensor& x) const {
    if (specification_.empty()) return to_string(x);
    if (x.numel() != 1)
      throw std::format_error(
          "only a tensor of one element takes a format specification: write {}, or format its elements");
    const std::string field = "{:" + std::string(specification_) + "}";
    const auto number = [&](auto value) { return std::vformat(field, std::make_format_args(value)); };
    if (x.dtype() == DType::bool_) return number(x.template item<bool>());
    if (x.is_complex()) return number(to_string(x));
    if (x.is_floating_point()) return number(x.template item<double>());
    return x.dtype() == DType::uint64 ? number(x.template item<uint64_t>())
                                      : number(x.template item<int64_t>());
  }
  template <class Context>
  static auto put(const std::string& text, Context& context) {
    return std::formatter<std::string_view>().format(text, context);
  }
  std::string_view specification_;  // points into the format string, which outlives the call
};

}  // namespace lazy::detail

template <std::derived_from<lazy::Tensor> T>
struct std::formatter<T, char> : lazy::detail::FormatterOfTensor {};
template <>
struct std::formatter<lazy::Selection> : lazy::detail::FormatterOfTensor {};
template <>
struct std::formatter<lazy::Dims> : lazy::detail::FormatterOfText<lazy::Dims> {};
template <>
struct std::formatter<lazy::DType> : lazy::detail::FormatterOfText<lazy::DType> {};
template <>
struct std::formatter<lazy::Device> : lazy::detail::FormatterOfText<lazy::Device> {};
#endif
