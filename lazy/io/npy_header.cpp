#include "lazy/io/npy_header.hpp"

#include <charconv>

namespace lazy::detail {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr uint64_t kMostHeader = uint64_t{1} << 20;  // a real one has some hundred bytes
constexpr size_t kAlignment = 64;                    // of the elements in the file
constexpr size_t kGrowth = 21;                       // room that NumPy leaves for the first extent to grow

/// Reads the one form of Python literal that headers have.
class Literal {
 public:
  Literal(const FileBytes& file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}

  /// Throws IoError at the current place.
  [[noreturn]] void expected(const std::string& what) const {
    file_.bad(at_, "expected " + what + " in the header");
  }
  char peek() {
    while (at_ < end_ && (file_.bytes[at_] == ' ' || file_.bytes[at_] == '\n' || file_.bytes[at_] == '\t' ||
                          file_.bytes[at_] == '\r'))
      ++at_;
    return at_ < end_ ? file_.bytes[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= end_) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) expected(std::string("'") + c + "'");
  }
  std::string text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') expected("a string");
    const uint64_t begin = ++at_;
    while (at_ < end_ && file_.bytes[at_] != quote && file_.bytes[at_] != '\\') ++at_;
    if (at_ >= end_ || file_.bytes[at_] != quote) expected("the end of a string without escapes");
    return std::string(file_.bytes.substr(begin, at_++ - begin));
  }
  bool truth() {
    peek();
    const std::string_view rest = file_.bytes.substr(at_, end_ - at_);
    for (const std::string_view word : {"True", "False"})
      if (rest.starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    expected("True or False");
  }
  std::vector<int64_t> integers() {
    need('(');
    std::vector<int64_t> all;
    while (!take(')')) {
      all.push_back(integer());
      if (!take(',') && peek() != ')') expected("',' or ')'");
    }
    return all;
  }
  bool at_end() {
    peek();
    return at_ >= end_;
  }
  uint64_t at() const { return at_; }

 private:
  int64_t integer() {
    peek();
    int64_t v = 0;
    const auto [stop, error] = std::from_chars(file_.bytes.data() + at_, file_.bytes.data() + end_, v);
    if (error != std::errc{} || v < 0) expected("an extent from 0 to 2^63 - 1");
    at_ = static_cast<uint64_t>(stop - file_.bytes.data());
    if (at_ < end_ && file_.bytes[at_] == 'L') ++at_;  // Python 2 wrote longs so
    return v;
  }

  const FileBytes& file_;
  uint64_t at_, end_;
};

struct Descr {
  const char* text;  // without the byte order
  DType dtype;
};
constexpr Descr kDescrs[] = {{"b1", bool_},   {"i1", int8},      {"i2", int16},      {"i4", int32},
                             {"i8", int64},   {"u1", uint8},     {"u2", uint16},     {"u4", uint32},
                             {"u8", uint64},  {"f2", float16},   {"V2", bfloat16},   {"f4", float32},
                             {"f8", float64}, {"c8", complex64}, {"c16", complex128}};

/// Finds the dtype of a descr such as "<f4".
void set_dtype(NpyHeader& h, const std::string& descr, const FileBytes& f, uint64_t at) {
  if (!descr.empty())
    for (const Descr& d : kDescrs)
      if (descr.substr(1) == d.text && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
        h.dtype = d.dtype;
        h.swapped = descr[0] == '>' && size_of(d.dtype) > 1;
        return;
      }
  f.fail<DtypeError>(at, "no tensor has elements of NumPy's dtype '" + descr + "'");
}

/// Returns where the header's text lies, which may be more than there is.
std::pair<uint64_t, uint64_t> text_of_header(const FileBytes& f) {
  f.need(0, 10, "a .npy header");
  if (!f.bytes.starts_with(kMagic)) {
    if (f.bytes.starts_with("PK")) f.bad(0, "expected a .npy file, found a ZIP file: load_npz reads these");
    f.bad(0, "expected a .npy file, which begins with \\x93NUMPY");
  }
  const int version = f.bytes[6];
  if (version < 1 || version > 3 || f.bytes[7] != 0)
    f.bad(6, "expected version 1.0, 2.0 or 3.0 of .npy files");
  if (version > 1) f.need(8, 4, "the header's length");
  const uint64_t begin = version == 1 ? 10 : 12;
  const uint64_t length = version == 1 ? f.little<uint16_t>(8) : f.little<uint32_t>(8);
  if (length > kMostHeader) f.bad(8, "a header of " + std::to_string(length) + " bytes is above 1 MiB");
  return {begin, begin + length};
}

}  // namespace

uint64_t npy_header_end(const FileBytes& f) { return text_of_header(f).second; }

NpyHeader read_npy_header(const FileBytes& f) {
  const auto [begin, end] = text_of_header(f);
  f.need(begin, end - begin, "the header");
  NpyHeader h;
  h.data = end;
  Literal text(f, begin, end);
  text.need('{');
  bool descr = false, order = false, shape = false;
  while (!text.take('}')) {
    const uint64_t at = text.at();
    const std::string key = text.text();
    text.need(':');
    bool* const seen = key == "descr"           ? &descr
                       : key == "fortran_order" ? &order
                       : key == "shape"         ? &shape
                                                : nullptr;
    if (!seen || *seen) f.bad(at, "expected descr, fortran_order and shape once each, found '" + key + "'");
    *seen = true;
    if (seen == &descr) {
      if (text.peek() == '[') f.fail<DtypeError>(text.at(), "no tensor has records for elements");
      const uint64_t value = text.at();
      set_dtype(h, text.text(), f, value);
    } else if (seen == &order) {
      h.columns_first = text.truth();
    } else {
      h.shape = text.integers();
    }
    if (!text.take(',') && text.peek() != '}') text.expected("',' or '}'");
  }
  if (!descr || !order || !shape) text.expected("descr, fortran_order and shape");
  if (!text.at_end()) text.expected("nothing after '}'");
  return h;
}

std::string npy_header(DType t, const Shape& shape) {
  std::string text = "{'descr': '";
  for (const Descr& d : kDescrs)
    if (d.dtype == t) (text += size_of(t) == 1 ? '|' : '<') += d.text;
  text += "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]) + (shape.size() == 1 ? "," : "");
  text += "), }";
  if (shape.size()) text.append(kGrowth - std::to_string(shape[0]).size(), ' ');
  constexpr size_t kBefore = 10;  // magic number, version, length
  text.append(kAlignment - (kBefore + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  put_little(header, static_cast<uint16_t>(text.size()));
  return header + text;
}

Tensor read_npy(const FileBytes& f, const MaybeDevice& device) {
  const NpyHeader h = read_npy_header(f);
  const uint64_t bytes = checked_bytes(f, h.data, h.shape, h.dtype);
  const Shape shape{std::span<const int64_t>(h.shape)};
  f.check_within(h.data, bytes, ("elements of " + to_string(shape) + " " + name_of(h.dtype)).c_str());
  return copied_value(f, h.data, h.dtype, shape, h.columns_first, h.swapped, device);
}

}  // namespace lazy::detail
