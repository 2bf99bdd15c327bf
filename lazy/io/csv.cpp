#include "lazy/io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <optional>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "lazy/io/csv_bytes.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {
namespace {

constexpr size_t kMostNames = size_t{1} << 22;  // of a header: a name takes 32 times the memory of a comma

/// Splits the text into lines of cells.
class Lines {
 public:
  Lines(const FileBytes& f, char delimiter) : f_(f), text_(f.bytes), delimiter_(delimiter) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }
  /// Calls f with each cell of the next line that is not empty; the text is valid for the call. False at the
  /// end.
  template <class F>
  bool next(F&& f) {
    while (skip_empty_line()) {}
    if (at_ >= text_.size()) return false;
    first_ = lines_ + 1;
    do f(cell());
    while (take(delimiter_));
    take('\r');
    if (at_ < text_.size() && !take('\n')) bad("expected the end of the line after a cell in quotes");
    return ++lines_, true;
  }
  /// Throws IoError for the line that next() read last.
  [[noreturn]] void bad(const std::string& what) const {
    throw IoError(std::string(f_.op) + ": " + f_.name + ": line " + std::to_string(first_) + ": " + what,
                  f_.site);
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t') && text_[at_] != delimiter_) ++at_;
  }
  /// True if a line ends at a place.
  bool line_ends(size_t at) const {
    if (at < text_.size() && text_[at] == '\r') ++at;
    return at >= text_.size() || text_[at] == '\n';
  }
  /// Skips a line of blanks. False if there is none.
  bool skip_empty_line() {
    const size_t begin = at_;
    skip_blanks();
    if (begin >= text_.size() || !line_ends(at_)) return at_ = begin, false;
    take('\r');
    take('\n');
    return ++lines_, true;
  }
  std::string_view cell() {
    skip_blanks();
    if (take('"')) return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && !(ends_cell(text_[at_]) && line_ends(at_)))
      ++at_;
    size_t end = at_;
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    return text_.substr(begin, end - begin);
  }
  static bool ends_cell(char c) { return c == '\n' || c == '\r'; }
  std::string_view quoted() {
    std::string& c = quoted_;
    c.clear();
    for (;;) {
      if (at_ >= text_.size()) bad("a quote is not closed");
      const char next = text_[at_++];
      if (next == '"' && !take('"')) break;
      lines_ += next == '\n';
      c += next;
    }
    skip_blanks();
    return c;
  }
  const FileBytes& f_;
  std::string_view text_;
  char delimiter_;
  size_t at_ = 0;
  std::string quoted_;  // the latest cell in quotes, without them
  size_t lines_ = 0;    // read so far
  size_t first_ = 1;    // the line at which the last row began
};

/// Returns what a decimal number stands for that float64 has no number for: infinity, or 0 if it is small.
double out_of_range(std::string_view number) {
  constexpr int64_t kFar = int64_t{1} << 60;  // more than a file has digits
  const bool negative = number.starts_with('-');
  number.remove_prefix(negative);
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, e);
  std::string_view digits = number.substr(std::min(e + 1, number.size()));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t exponent = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec ==
      std::errc::result_out_of_range)
    exponent = digits.starts_with('-') ? -kFar : kFar;
  exponent = std::clamp(exponent, -kFar, kFar);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size())),
             first = static_cast<int64_t>(std::min(mantissa.find_first_of("123456789"), mantissa.size()));
  const double v = point - first + exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
  return negative ? -v : v;
}

/// Returns the number that a cell has; NaN if it is missing. False if it is something else.
bool number_of(std::string_view cell, double& v) {
  v = std::numeric_limits<double>::quiet_NaN();
  if (cell.empty() || cell == "NA" || cell == "null") return true;
  if (cell[0] == '+' && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, v);
  if (stop != end) return false;
  if (error == std::errc::result_out_of_range) v = out_of_range(cell);
  else if (error != std::errc{}) return false;
  return true;
}

}  // namespace

Csv read_csv(const FileBytes& f, const CsvOptions& options, const MaybeDevice& device) {
  const FloatEnvironment environment;
  Lines lines(f, options.delimiter);
  Csv r;
  if (options.header)
    lines.next([&](std::string_view cell) {
      if (r.names.size() == kMostNames)
        lines.bad("a header of more than " + std::to_string(kMostNames) + " names");
      r.names.emplace_back(cell);
    });
  size_t columns = r.names.size(), rows = 0;
  std::deque<double> values;  // gives its memory back as it is read
  for (;; ++rows) {
    size_t found = 0;
    std::optional<std::string> wrong;  // the first cell that is no number
    if (!lines.next([&](std::string_view cell) {
          ++found;
          if (!wrong && !number_of(cell, values.emplace_back())) wrong = cell.substr(0, 100);
        }))
      break;
    if (columns == 0) columns = found;
    if (found != columns)
      lines.bad("expected " + std::to_string(columns) + " numbers, found " + std::to_string(found));
    if (wrong) lines.bad("'" + *wrong + "' is not a number");
  }
  const Shape shape{static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  const auto next = [&](char* to, uint64_t, uint64_t bytes) {
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(double));
    std::copy(values.begin(), end, reinterpret_cast<double*>(to));
    values.erase(values.begin(), end);
  };
  r.values = Tensor(jit::from_pieces(next, float64, shape,
                                     device.given ? device.value : jit::default_device(f.site), f.site));
  return r;
}

}  // namespace lazy::detail

namespace lazy {
namespace {

void check_delimiter(const char* name, char d, const Site& s) {
  if (d == '"' || d == '\n' || d == '\r' || d == '.' || d == '+' || d == '-' || (d >= '0' && d <= '9'))
    detail::fail<Error>(name, std::string("'") + d + "' can't separate numbers", s);
}

/// Returns the name as a cell.
std::string quoted(const std::string& name, char delimiter) {
  const bool plain = name.find_first_of(std::string("\"\r\n") + delimiter) == name.npos && !name.empty() &&
                     name.front() != ' ' && name.back() != ' ';
  if (plain) return name;
  std::string cell = "\"";
  for (const char c : name) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

}  // namespace

Csv read_csv(const std::string& path, CsvOptions options, MaybeDevice device, Site s) {
  check_delimiter("read_csv", options.delimiter, s);
  return detail::read_csv(detail::open_file("read_csv", path, s), options, device);
}

void write_csv(const std::string& path, TensorArg x, const std::vector<std::string>& names, char delimiter) {
  using namespace detail;
  constexpr const char* kName = "write_csv";
  const Operand h(kName, x);
  const Site& s = x.site();
  check_delimiter(kName, delimiter, s);
  const Shape shape = h->shape;
  if (shape.size() != 1 && shape.size() != 2)
    fail<ShapeError>(kName, "a table is (rows, columns) or (rows), not " + to_string(shape), s);
  const int64_t rows = shape[0], columns = shape.size() == 2 ? shape[1] : 1;
  if (!names.empty() && static_cast<int64_t>(names.size()) != columns)
    fail<ShapeError>(kName,
                     std::to_string(names.size()) + " names for " + std::to_string(columns) + " columns", s);
  if (is_complex(h->dtype))
    fail<DtypeError>(kName, "complex numbers: write the columns of view_as_real()", s);
  const FloatEnvironment environment;
  // Each dtype is written from one that holds its values exactly.
  const bool wide = h->dtype == float64, floats = is_float(h->dtype), large = h->dtype == uint64;
  const DType t = wide ? float64 : floats ? float32 : large ? uint64 : int64;
  jit::BufferRef keep;
  const std::string_view bytes = host_bytes(kName, Tensor(cast(h, t, s)), s, keep);
  NewFile file(kName, path, s);
  std::string text;
  for (const std::string& name : names) {
    if (&name != &names.front()) text += delimiter;
    text += quoted(name, delimiter);
  }
  if (!names.empty()) text += '\n';
  const auto put = [&]<class T>(T, int64_t at) {
    T v;
    std::memcpy(&v, bytes.data() + static_cast<size_t>(at) * sizeof v, sizeof v);
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  };
  constexpr size_t kPiece = size_t{1} << 20;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < columns; ++c) {
      if (c > 0) text += delimiter;
      const int64_t at = row * columns + c;
      if (wide) put(double{}, at);
      else if (floats) put(float{}, at);
      else if (large) put(uint64_t{}, at);
      else put(int64_t{}, at);
    }
    text += '\n';
    if (text.size() >= kPiece) file.put(std::exchange(text, {}));
  }
  file.put(text);
  file.finish();
}

}  // namespace lazy
