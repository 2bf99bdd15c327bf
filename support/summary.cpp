#include "support/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "support/text.hpp"

namespace lazy {
namespace {

std::string milliseconds(double ms) {
  char s[32];
  if (ms >= 10000) std::snprintf(s, sizeof s, "%.1f s", ms / 1000);
  else if (ms >= 10) std::snprintf(s, sizeof s, "%.0f ms", ms);
  else if (ms >= 0.01) std::snprintf(s, sizeof s, "%.2f ms", ms);
  else std::snprintf(s, sizeof s, "%.0f us", ms * 1000);
  return s;
}
std::string percent(double part, double whole) {
  return whole > 0 ? std::to_string(std::lround(100 * part / whole)) + "%" : "-";
}

double bytes_of(const SummaryRow& r) {
  double bytes = 0;
  for (const SummaryKernel& k : r.kernels) bytes += k.bytes;
  return bytes;
}

std::string kernel_text(const SummaryKernel& k, const SummaryRow& r) {
  std::string s = k.name + " " + milliseconds(k.ms) + " (" + percent(k.ms, r.flush_ms) + ")";
  if (k.least_ms > 0 && k.ms > 0)
    s += ", " + percent(std::min(k.least_ms, k.ms), k.ms) + " of the machine's limit";
  return s;
}

std::string row_text(const SummaryRow& r, double wall_ms) {
  std::string s = r.at + " " + r.cause + ": " + milliseconds(r.flush_ms) + " (" +
                  percent(r.flush_ms, wall_ms) + ") in " + text::counted(r.flushes, "flush") + " of " +
                  std::to_string(r.fewest_ops);
  if (r.most_ops != r.fewest_ops) s += " to " + std::to_string(r.most_ops);
  s += r.most_ops == 1 ? " op" : " ops";
  if (r.compiled || r.loaded) {
    s += "; ";
    if (r.compiled) s += std::to_string(r.compiled) + " compiled";
    if (r.loaded) s += std::string(r.compiled ? ", " : "") + std::to_string(r.loaded) + " loaded from disk";
    s += " in " + milliseconds(r.compile_ms);
  }
  s += "; " + milliseconds(r.after_ms) + " from them to the next";
  if (const double bytes = bytes_of(r); bytes > 0)
    s += "; " + text::human_size(static_cast<uint64_t>(bytes)) + " moved";
  if (!r.kernels.empty()) s += "\n  mostly " + kernel_text(r.kernels[0], r);
  if (r.compiled + r.loaded > 1 && !r.miss.empty())
    s += std::string("\n  the latest ") + (r.compiled ? "compiled" : "was loaded") + " because " + r.miss;
  return s;
}

std::string json_text(const std::string& s) {
  std::string q = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') q += '\\', q += c;
    else if (u < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", u);
      q += escape;
    } else q += c;
  }
  return q + "\"";
}
std::string json_number(double v) {
  char s[40];
  std::snprintf(s, sizeof s, "%.6g", v);
  return s;
}

/// Collects the fields of a JSON object.
class Object {
 public:
  Object& field(const char* name, const std::string& json) {
    text_ += (text_.empty() ? "" : ", ") + json_text(name) + ": " + json;
    return *this;
  }
  Object& field(const char* name, double v) { return field(name, json_number(v)); }
  Object& field(const char* name, uint64_t v) { return field(name, std::to_string(v)); }
  std::string take() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

template <class T, class F>
std::string list(const std::vector<T>& all, F&& json) {
  std::string s;
  for (const T& x : all) s += (s.empty() ? "" : ", ") + json(x);
  return "[" + s + "]";
}

}  // namespace

void sort(Summary& s) {
  for (SummaryRow& r : s.rows)
    std::stable_sort(r.kernels.begin(), r.kernels.end(),
                     [](const auto& a, const auto& b) { return a.ms > b.ms; });
  std::stable_sort(s.rows.begin(), s.rows.end(),
                   [](const auto& a, const auto& b) { return a.flush_ms > b.flush_ms; });
}

std::string to_string(const Summary& s, size_t most_rows) {
  uint64_t flushes = 0;
  double in_flushes = 0, compiling = 0;
  for (const SummaryRow& r : s.rows)
    flushes += r.flushes, in_flushes += r.flush_ms, compiling += r.compile_ms;
  std::string text = milliseconds(s.wall_ms) + " in all: " + milliseconds(in_flushes) + " (" +
                     percent(in_flushes, s.wall_ms) + ") in " + text::counted(flushes, "flush") +
                     ", of which " + milliseconds(compiling) + " compiling and loading\n";
  SummaryRow rest;
  for (size_t i = 0; i < s.rows.size(); ++i) {
    if (i < most_rows) text += row_text(s.rows[i], s.wall_ms) + "\n";
    else rest.flushes += s.rows[i].flushes, rest.flush_ms += s.rows[i].flush_ms;
  }
  if (rest.flushes)
    text += std::to_string(s.rows.size() - most_rows) + " more lines: " + milliseconds(rest.flush_ms) +
            " in " + text::counted(rest.flushes, "flush") + "\n";
  for (const std::string& h : s.hints) text += "hint: " + h + "\n";
  return text;
}

std::ostream& operator<<(std::ostream& out, const Summary& s) { return out << to_string(s); }

std::string to_json(const Summary& s) {
  const auto kernel = [](const SummaryKernel& k) {
    return Object()
        .field("name", json_text(k.name))
        .field("launches", k.launches)
        .field("ms", k.ms)
        .field("bytes", k.bytes)
        .field("flops", k.flops)
        .field("least_ms", k.least_ms)
        .take();
  };
  const auto row = [&](const SummaryRow& r) {
    return Object()
        .field("cause", json_text(r.cause))
        .field("at", json_text(r.at))
        .field("flushes", r.flushes)
        .field("hits", r.hits)
        .field("loaded", r.loaded)
        .field("compiled", r.compiled)
        .field("flush_ms", r.flush_ms)
        .field("compile_ms", r.compile_ms)
        .field("after_ms", r.after_ms)
        .field("fewest_ops", r.fewest_ops)
        .field("most_ops", r.most_ops)
        .field("miss", json_text(r.miss))
        .field("kernels", list(r.kernels, kernel))
        .take();
  };
  return Object()
             .field("wall_ms", s.wall_ms)
             .field("rows", list(s.rows, row))
             .field("hints", list(s.hints, json_text))
             .take() +
         "\n";
}

}  // namespace lazy
