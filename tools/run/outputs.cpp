#include "tools/run/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numeric>

#include "lazy/lazy.hpp"
#include "support/text.hpp"
#include "tools/run/names.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

/// Returns a number that JSON has, or its name.
Json json_of(double v) {
  return std::isfinite(v) ? Json(v) : Json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}
std::string text_of(const Json& v) {
  return v.is_number() ? text::formatted("%.6g", v.get<double>()) : v.get<std::string>();
}

/// Returns the place of an element, "[1, 0, 3]".
std::string place(const Shape& shape, size_t i) {
  std::vector<int64_t> at(static_cast<size_t>(shape.size()));
  for (int d = shape.size(); d-- > 0;) {
    at[static_cast<size_t>(d)] = static_cast<int64_t>(i) % shape[d];
    i /= static_cast<size_t>(shape[d]);
  }
  std::string text = "[";
  for (const int64_t n : at) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw UsageError("--labels: cannot read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns what a text says of outputs: name and file, for an archive every entry.
std::vector<std::pair<std::string, Tensor>> expected_of(const Model& model, const std::string& text) {
  if (!names_one(text) && has_ending(text, ".npz")) {
    const NamedTensors all = load_npz(text);
    for (const auto& [name, t] : all) find(model.outputs(), name, "output");
    return {all.begin(), all.end()};
  }
  const auto [name, path] = split(model.outputs(), text, "output");
  if (has_ending(path, ".npy")) return {{name, load(path)}};
  if (!has_ending(path, ".npz"))
    throw UsageError("--check: " + text::quoted(path) + " is no .npy or .npz file");
  const NamedTensors all = load_npz(path);
  if (!all.contains(name) && all.size() != 1) throw UsageError(path + " has no entry '" + name + "'");
  return {{name, all.contains(name) ? all.at(name) : all.begin()->second}};
}

Json compared(const std::string& name, const Tensor& found, const Tensor& expected, const OutputOptions& o) {
  Json c = {{"name", name}, {"holds", false}};
  if (found.shape() != expected.shape()) {
    c["reason"] = "the shape is " + to_string(found.shape()) + ", expected " + to_string(expected.shape());
    return c;
  }
  if (found.dtype() != expected.dtype()) {
    c["reason"] =
        std::string("the dtype is ") + name_of(found.dtype()) + ", expected " + name_of(expected.dtype());
    return c;
  }
  const std::vector<double> a = found.to_vector<double>(), b = expected.to_vector<double>();
  size_t differ = 0, worst = 0;
  double most = -1, largest = 0;  // of the excess over what is allowed, and of the differences
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double difference = std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) difference = INFINITY;
    largest = std::max(largest, difference);
    const double excess = difference - (std::isfinite(b[i]) ? o.absolute + o.relative * std::fabs(b[i]) : 0);
    if (!(excess <= 0)) ++differ;
    if (most < 0 ? difference > 0 && (excess > most || largest == difference) : excess > most)
      most = std::max(most, excess), worst = i;
  }
  c["holds"] = differ == 0;
  c["elements"] = a.size();
  c["differ"] = differ;
  c["largest_difference"] = json_of(largest);
  if (largest > 0) {
    c["worst"] = {
        {"at", place(found.shape(), worst)}, {"found", json_of(a[worst])}, {"expected", json_of(b[worst])}};
  }
  return c;
}

}  // namespace

Json summarise(const NamedTensors& outputs) {
  Json all = Json::array();
  for (const auto& [name, t] : outputs) {
    Json s = {{"name", name}, {"dtype", name_of(t.dtype())}, {"shape", Json::array()}};
    const Shape shape = t.shape();
    for (int i = 0; i < shape.size(); ++i) s["shape"].push_back(shape[i]);
    if (t.size() > 0) {
      const std::vector<double> v = t.to_vector<double>();
      // NaN is neither less nor greater than others, and is said as such.
      const bool nan = std::any_of(v.begin(), v.end(), [](double x) { return std::isnan(x); });
      const auto [least, greatest] = std::minmax_element(v.begin(), v.end());
      s["min"] = json_of(nan ? NAN : *least);
      s["mean"] = json_of(std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size()));
      s["max"] = json_of(nan ? NAN : *greatest);
    }
    all.push_back(std::move(s));
  }
  return all;
}

Json differences(const NamedTensors& found, const NamedTensors& expected) {
  Json all = Json::array();
  for (const auto& [name, t] : found) {
    const std::vector<double> a = t.to_vector<double>(), b = expected.at(name).to_vector<double>();
    double apart = 0, norm = 0, own = 0, product = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double d = a[i] - b[i];
      apart += d * d, norm += b[i] * b[i], own += a[i] * a[i], product += a[i] * b[i];
      if (!(std::abs(d) <= largest)) largest = std::abs(d);
    }
    all.push_back({{"output", name},
                   {"relative", norm > 0 ? std::sqrt(apart / norm) : std::sqrt(apart)},
                   {"largest", largest},
                   {"cosine", norm > 0 && own > 0 ? product / std::sqrt(norm * own) : double(norm == own)}});
  }
  return all;
}

void print_summary(const Json& all) {
  for (const Json& s : all) {
    std::cout << text::printable(s["name"].get<std::string>()) << "  " << s["dtype"].get<std::string>()
              << " [";
    const char* comma = "";
    for (const Json& n : s["shape"]) std::cout << comma << n, comma = ", ";
    std::cout << "]";
    if (s.contains("min"))
      std::cout << "  min " << text_of(s["min"]) << ", mean " << text_of(s["mean"]) << ", max "
                << text_of(s["max"]);
    std::cout << '\n';
  }
}

void print_top(const NamedTensors& outputs, int64_t count, const std::string& labels) {
  constexpr int64_t kMostRows = 8;
  const std::vector<std::string> names = labels.empty() ? std::vector<std::string>() : lines_of(labels);
  for (const auto& [name, t] : outputs) {
    if (t.ndim() == 0 || t.size() == 0) continue;
    const int64_t length = t.size(-1), rows = t.size() / length;
    const std::vector<double> v = t.to_vector<double>();
    for (int64_t r = 0; r < std::min(rows, kMostRows); ++r) {
      const double* const row = v.data() + r * length;
      std::vector<int64_t> order(static_cast<size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      const int64_t most = std::min(count, length);
      std::partial_sort(order.begin(), order.begin() + most, order.end(),
                        [&](int64_t a, int64_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
      std::cout << text::printable(name) << (rows > 1 ? ", row " + std::to_string(r) : "") << '\n';
      for (int64_t i = 0; i < most; ++i) {
        const auto k = static_cast<size_t>(order[static_cast<size_t>(i)]);
        std::cout << "  " << text::formatted("%10.6g", row[k]) << "  " << k;
        if (k < names.size()) std::cout << "  " << text::printable(names[k]);
        std::cout << '\n';
      }
    }
    if (rows > kMostRows) std::cout << "  and " << rows - kMostRows << " rows more\n";
  }
}

void check_options(const Model& model, const OutputOptions& o) {
  for (const std::string& text : o.files) {
    if (!names_one(text) && has_ending(text, ".npz")) continue;
    const std::string path = split(model.outputs(), text, "output").second;
    if (!has_ending(path, ".npy") && !has_ending(path, ".npz"))
      throw UsageError("--output: " + text::quoted(path) + " is no .npy or .npz file");
  }
  for (const std::string& text : o.checks)
    if (names_one(text) || !has_ending(text, ".npz")) split(model.outputs(), text, "output");
}

void write(const Model& model, const NamedTensors& outputs, const OutputOptions& o) {
  for (const std::string& text : o.files) {
    if (!names_one(text) && has_ending(text, ".npz")) {
      save_npz(text, outputs);
      continue;
    }
    const auto [name, path] = split(model.outputs(), text, "output");
    if (has_ending(path, ".npy")) save(path, outputs.at(name));
    else save_npz(path, {{name, outputs.at(name)}});
  }
}

Json check(const Model& model, const NamedTensors& outputs, const OutputOptions& o) {
  Json all = Json::array();
  for (const std::string& text : o.checks)
    for (const auto& [name, expected] : expected_of(model, text))
      all.push_back(compared(name, outputs.at(name), expected, o));
  return all;
}

void print_checks(const Json& all) {
  for (const Json& c : all) {
    const bool holds = c["holds"];
    std::ostream& out = holds ? std::cout : std::cerr;
    out << "check " << text::printable(c["name"].get<std::string>()) << ": ";
    if (c.contains("reason")) {
      out << c["reason"].get<std::string>() << '\n';
      continue;
    }
    if (holds) out << "holds";
    else out << c["differ"] << " of " << c["elements"] << " elements differ";
    out << ", largest difference " << text_of(c["largest_difference"]);
    if (c.contains("worst"))
      out << ", worst at " << c["worst"]["at"].get<std::string>() << ": found "
          << text_of(c["worst"]["found"]) << ", expected " << text_of(c["worst"]["expected"]);
    out << '\n';
  }
}

}  // namespace lazy::tool
