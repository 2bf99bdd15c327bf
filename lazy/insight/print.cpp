#include "lazy/insight/print.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <ostream>

#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/insight/print_float.hpp"
#include "support/float_mode.hpp"
#include "support/lock.hpp"

namespace lazy {
namespace {

constinit Mutex mutex;
PrintOptions current;

/// Says how many indices along an axis are shown.
struct Shown {
  int64_t leading, trailing;  // all of them in `trailing` when nothing is dropped
  bool cut;
};
Shown shown(int64_t n, bool summary, int64_t edge) {
  if (summary && edge < n && edge < n - edge) return {edge, edge, true};
  return {0, n, false};
}

using Format = std::function<std::string(int64_t)>;  // text of the element at a row-major position

/// Visits the positions that will be printed.
template <class F>
void visit(const Shape& shape, const Dims& strides, int axis, int64_t at, bool summary, int64_t edge, F&& f) {
  if (axis == shape.size()) return f(at);
  const int64_t n = shape[axis];
  const Shown s = shown(n, summary, edge);
  for (int64_t i = 0; i < s.leading; ++i)
    visit(shape, strides, axis + 1, at + i * strides[axis], summary, edge, f);
  for (int64_t i = n - s.trailing; i < n; ++i)
    visit(shape, strides, axis + 1, at + i * strides[axis], summary, edge, f);
}

std::string right_trimmed(std::string s) {
  s.resize(s.find_last_not_of(' ') + 1);
  return s;
}

/// Lays rows of words out in lines no wider than the limit.
class Layout {
 public:
  Layout(const Shape& shape, const Dims& strides, const Format& format, const PrintOptions& options,
         bool summary)
      : shape_(shape), strides_(strides), format_(format), options_(options), summary_(summary) {}

  std::string text(int axis, int64_t at, const std::string& indent, int width) const {
    const int64_t n = shape_[axis];
    const Shown s = shown(n, summary_, options_.edgeitems);
    std::string out = axis + 1 == shape_.size() ? row(axis, at, indent, width - 1, s)
                                                : rows(axis, at, indent, width - 1, s);
    return "[" + out.substr(indent.size()) + "]";
  }

 private:
  std::string row(int axis, int64_t at, const std::string& indent, int width, const Shown& s) const {
    std::string out, line = indent;
    const auto add = [&](const std::string& word) {
      if (static_cast<int>(line.size() + word.size()) > width && line.size() > indent.size()) {
        out += right_trimmed(line) + "\n";
        line = indent;
      }
      line += word;
    };
    const auto element = [&](int64_t i) { return format_(at + i * strides_[axis]); };
    for (int64_t i = 0; i < s.leading; ++i) {
      add(element(i));
      line += ' ';
    }
    if (s.cut) {
      add("...");
      if (s.trailing > 0) line += ' ';
    }
    for (int64_t i = shape_[axis] - s.trailing; i < shape_[axis]; ++i) {
      add(element(i));
      if (i + 1 < shape_[axis]) line += ' ';
    }
    return out + line;
  }

  std::string rows(int axis, int64_t at, const std::string& indent, int width, const Shown& s) const {
    const std::string separator(static_cast<size_t>(shape_.size() - axis - 1), '\n');
    std::string out;
    const auto add = [&](int64_t i) {
      out += indent + text(axis + 1, at + i * strides_[axis], indent + " ", width);
    };
    for (int64_t i = 0; i < s.leading; ++i) {
      add(i);
      out += separator;
    }
    if (s.cut) out += indent + "..." + (s.trailing > 0 ? separator : "");
    for (int64_t i = shape_[axis] - s.trailing; i < shape_[axis]; ++i) {
      add(i);
      if (i + 1 < shape_[axis]) out += separator;
    }
    return out;
  }

  const Shape& shape_;
  const Dims& strides_;
  const Format& format_;
  const PrintOptions& options_;
  bool summary_;
};

std::string integer_text(const void* data, DType t, int64_t at, char sign) {
  return detail::with_type(t, [&](auto tag) -> std::string {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const T v = static_cast<const T*>(data)[at];
      return (sign != '-' && v >= T(0) ? std::string(1, sign) : "") + std::to_string(v);
    } else {
      return {};
    }
  });
}

double float_at(const void* data, DType t, int64_t at) {
  double v = 0;
  detail::convert(t, static_cast<const char*>(data) + at * static_cast<int64_t>(size_of(t)), float64, &v, 1);
  return v;
}

/// Returns a complex number as Python writes it: "(1+2j)", and "2j" where the real part is 0.
std::string complex_text(double re, double im, DType plane) {
  const auto text = [&](double v, char sign) {
    std::string s = detail::scalar_text(v, plane, sign);
    if (s.ends_with(".0")) s.resize(s.size() - 2);
    if (sign == '+' && s[0] != '-' && s[0] != '+') s.insert(0, 1, '+');
    return s;
  };
  if (re == 0 && !std::signbit(re)) return text(im, '-') + "j";
  return '(' + text(re, '-') + text(im, '+') + "j)";
}

/// Puts the j behind the number, before the spaces that fill its column.
std::string with_unit(std::string number) {
  const size_t end = number.find_last_not_of(' ') + 1;
  return number.insert(end, 1, 'j');
}

std::string padded(const std::string& s, size_t width) {
  return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
}

}  // namespace

void set_printoptions(const PrintOptions& options, Site s) {
  if (options.precision < 0 || options.threshold < 0 || options.edgeitems < 1 || options.linewidth < 1 ||
      (options.sign != '-' && options.sign != '+' && options.sign != ' '))
    throw Error(
        "set_printoptions: precision and threshold are at least 0, edgeitems and linewidth at least 1, sign "
        "is '-', '+' or ' '",
        s);
  const Hold hold(mutex);
  current = options;
}

PrintOptions get_printoptions() {
  const Hold hold(mutex);
  return current;
}

std::string format(const void* data, DType t, const Shape& shape, const PrintOptions& options) {
  const FloatEnvironment environment;
  const int64_t n = numel(shape);
  if (shape.empty()) {
    if (is_bool(t)) return *static_cast<const bool*>(data) ? "True" : "False";
    if (is_complex(t))
      return complex_text(float_at(data, plane_type(t), 0), float_at(data, plane_type(t), 1), plane_type(t));
    return is_float(t) ? detail::scalar_text(float_at(data, t, 0), t, '-') : integer_text(data, t, 0, '-');
  }
  if (n == 0) return "[]";

  const bool summary = n > options.threshold;
  const Dims strides = contiguous_strides(shape);
  const auto each = [&](auto f) { visit(shape, strides, 0, 0, summary, options.edgeitems, f); };
  Format word;
  if (is_bool(t)) {
    word = [&](int64_t at) -> std::string { return static_cast<const bool*>(data)[at] ? " True" : "False"; };
  } else if (is_complex(t)) {
    const DType plane = plane_type(t);
    std::vector<double> re, im;
    each([&](int64_t at) {
      re.push_back(float_at(data, plane, 2 * at));
      im.push_back(float_at(data, plane, 2 * at + 1));
    });
    PrintOptions with_sign = options;
    with_sign.sign = '+';
    word = [&, plane, of_re = detail::FloatFormat(re, plane, options),
            of_im = detail::FloatFormat(im, plane, with_sign)](int64_t at) {
      return of_re(float_at(data, plane, 2 * at)) + with_unit(of_im(float_at(data, plane, 2 * at + 1)));
    };
  } else if (is_float(t)) {
    std::vector<double> values;
    each([&](int64_t at) { values.push_back(float_at(data, t, at)); });
    word = [&, f = detail::FloatFormat(values, t, options)](int64_t at) { return f(float_at(data, t, at)); };
  } else {
    char sign = options.sign;
    if (sign == ' ')
      each([&](int64_t at) {
        if (integer_text(data, t, at, '-')[0] == '-') sign = '-';
      });
    size_t width = 0;
    each([&](int64_t at) { width = std::max(width, integer_text(data, t, at, sign).size()); });
    word = [&, sign, width](int64_t at) { return padded(integer_text(data, t, at, sign), width); };
  }
  return Layout(shape, strides, word, options, summary).text(0, 0, " ", options.linewidth);
}

std::string format(const void* data, DType t, const Shape& shape) {
  return format(data, t, shape, get_printoptions());
}

std::string to_string(const Tensor& x, Site s) {
  if (!x.defined()) return "<empty tensor>";
  jit::BufferRef keep;
  const Arg value(x, s);
  const jit::Handle& h = value.handle();
  const void* data = is_complex(h->dtype) ? detail::packed_pairs(h, jit::Cause::print, s, keep)
                                          : jit::contiguous_data(h, jit::Cause::print, s, keep);
  return format(data, value.handle()->dtype, value.handle()->shape);
}

void print(LocatedTensor x) {
  const std::string text = to_string(*x.tensor, x.site) + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}
void Tensor::print(Site s) const { lazy::print({*this, s}); }

std::ostream& operator<<(std::ostream& out, LocatedTensor x) { return out << to_string(*x.tensor, x.site); }
std::ostream& operator<<(std::ostream& out, const Selection& x) {
  return out << to_string(x.read(x.site_), x.site_);
}
std::ostream& operator<<(std::ostream& out, const Dims& d) { return out << to_string(d); }
std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }
std::ostream& operator<<(std::ostream& out, Device d) { return out << to_string(d); }

}  // namespace lazy
