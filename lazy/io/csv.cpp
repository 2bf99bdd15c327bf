#include "lazy/io/csv.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "lazy/core/build.hpp"
#include "lazy/io/csv_bytes.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::detail {
namespace {

/// Splits the text into lines of cells.
class Lines {
 public:
  Lines(const FileBytes& f, char delimiter) : f_(f), text_(f.bytes), delimiter_(delimiter) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }
  /// Reads the next line that is not empty into `cells`. False at the end.
  bool next(std::vector<std::string>& cells) {
    for (; at_ < text_.size(); ++lines_) {
      first_ = lines_ + 1;
      cells.clear();
      const size_t begin = at_;
      do cells.push_back(cell());
      while (take(delimiter_));
      const bool empty =
          at_ == begin || text_.substr(begin, at_ - begin).find_first_not_of(" \t") == text_.npos;
      take('\r');
      if (at_ < text_.size() && !take('\n')) bad("expected the end of the line after a cell in quotes");
      if (!empty || cells.size() > 1) return ++lines_, true;
    }
    return false;
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
  std::string cell() {
    skip_blanks();
    if (take('"')) return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' &&
           !(text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n')))
      ++at_;
    size_t end = at_;
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    return std::string(text_.substr(begin, end - begin));
  }
  std::string quoted() {
    std::string c;
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
  size_t lines_ = 0;  // read so far
  size_t first_ = 1;  // the line at which the last row began
};

/// Returns the number that a cell has; NaN if it is missing. False if it is something else.
bool number_of(std::string_view cell, double& v) {
  v = std::numeric_limits<double>::quiet_NaN();
  if (cell.empty() || cell == "NA" || cell == "null") return true;
  if (cell[0] == '+' && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  auto [stop, error] = std::from_chars(cell.data(), end, v);
  if (error == std::errc::result_out_of_range) {
    long double wide = 0;  // becomes 0, a small number or infinity
    const auto again = std::from_chars(cell.data(), end, wide);
    if (again.ec != std::errc{}) return false;
    v = static_cast<double>(wide);
    error = {};
    stop = again.ptr;
  }
  return error == std::errc{} && stop == end;
}

}  // namespace

Csv read_csv(const FileBytes& f, const CsvOptions& options, const MaybeDevice& device) {
  Lines lines(f, options.delimiter);
  std::vector<std::string> cells;
  Csv r;
  if (options.header && lines.next(cells)) r.names = cells;
  size_t columns = r.names.size(), rows = 0;
  std::vector<double> values;
  for (; lines.next(cells); ++rows) {
    if (columns == 0) columns = cells.size();
    if (cells.size() != columns)
      lines.bad("expected " + std::to_string(columns) + " numbers, found " + std::to_string(cells.size()));
    for (const std::string& cell : cells)
      if (!number_of(cell, values.emplace_back())) lines.bad("'" + cell.substr(0, 100) + "' is not a number");
  }
  const Shape shape{static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  r.values = from_elements(f.op, values.data(), values.size(), shape, float64, float64, device, f.site);
  return r;
}

}  // namespace lazy::detail

namespace lazy {

Csv read_csv(const std::string& path, CsvOptions options, MaybeDevice device, Site s) {
  const char d = options.delimiter;
  if (d == '"' || d == '\n' || d == '\r' || d == '.' || d == '+' || d == '-' || (d >= '0' && d <= '9'))
    detail::fail<Error>("read_csv", std::string("'") + d + "' can't separate numbers", s);
  return detail::read_csv(detail::open_file("read_csv", path, s), options, device);
}

}  // namespace lazy
