#include "tools/run/describe.hpp"

#include <sstream>

#include "support/text.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const Json& shape) {
  if (shape.is_null()) return "of any shape";
  std::string text = "[";
  for (const Json& n : shape)
    text += (text.size() > 1 ? ", " : "") + (n.is_string() ? n.get<std::string>() : n.dump());
  return text + "]";
}

void print_values(std::ostream& out, const char* title, const Json& values) {
  out << title << '\n';
  for (const Json& v : values)
    out << "  " << text::printable(v["name"].get<std::string>()) << "  " << v["dtype"].get<std::string>()
        << ' ' << text::printable(shape_text(v["shape"]))
        << (v.value("optional", false) ? ", may be left out" : "") << '\n';
}

/// Prints what is a number or a text.
void print_config(std::ostream& out, const Json& config) {
  out << "config\n";
  for (const auto& [key, v] : config.items())
    if (v.is_primitive())
      out << "  " << text::one_line(key) << "  "
          << text::one_line(v.dump(-1, ' ', false, Json::error_handler_t::replace)) << '\n';
}

}  // namespace

std::string description_text(const Json& d) {
  std::ostringstream out;
  out << d["file"].get<std::string>() << ": " << text::human_size(d["file_bytes"].get<uint64_t>());
  if (d.contains("architecture")) out << ", " << text::one_line(d["architecture"].get<std::string>());
  if (d.contains("producer") && !d["producer"].get<std::string>().empty())
    out << ", by " << text::one_line(d["producer"].get<std::string>());
  const char* comma = ", opset ";
  if (d.contains("opsets"))
    for (const auto& [domain, version] : d["opsets"].items()) {
      out << comma << (domain == "ai.onnx" ? "" : text::one_line(domain) + " ") << version;
      comma = ", ";
    }
  out << '\n';
  print_values(out, "inputs", d["inputs"]);
  print_values(out, "outputs", d["outputs"]);
  const Json& p = d["parameters"];
  out << "parameters\n  " << p["elements"] << " numbers in " << p["tensors"] << " tensors, "
      << text::human_size(p["bytes"].get<uint64_t>()) << '\n';
  if (p.contains("dtypes"))
    for (const auto& [dtype, bytes] : p["dtypes"].items())
      out << "  " << text::human_size(bytes.get<uint64_t>()) << " of " << dtype << '\n';
  if (d.contains("config")) print_config(out, d["config"]);
  if (!d.contains("operators")) return out.str();
  int64_t nodes = 0;
  for (const auto& [name, count] : d["operators"].items()) nodes += count.get<int64_t>();
  out << "operators\n  " << nodes << " nodes";
  comma = ": ";
  for (const auto& [name, count] : d["operators"].items()) {
    out << comma << count << ' ' << text::one_line(name);
    comma = ", ";
  }
  out << '\n';
  return out.str();
}

}  // namespace lazy::tool
