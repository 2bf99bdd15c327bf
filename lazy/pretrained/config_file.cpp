#include "lazy/pretrained/config_file.hpp"

#include <cmath>

#include "support/text.hpp"

namespace lazy::pretrained {
namespace {
using nlohmann::json;

struct ActivationName {
  const char* name;
  models::Activation activation;
};
// The first name of an activation is the one that is written.
constexpr ActivationName kActivations[] = {
    {"gelu", models::Activation::gelu},           {"gelu_new", models::Activation::gelu_tanh},
    {"gelu_fast", models::Activation::gelu_tanh}, {"gelu_pytorch_tanh", models::Activation::gelu_tanh},
    {"gelu_python", models::Activation::gelu},    {"quick_gelu", models::Activation::quick_gelu},
    {"relu", models::Activation::relu},           {"silu", models::Activation::silu},
    {"swish", models::Activation::silu},          {"tanh", models::Activation::tanh},
    {"sigmoid", models::Activation::sigmoid},     {"mish", models::Activation::mish}};

json parsed(const detail::FileBytes& f) {
  constexpr uint64_t kMost = uint64_t{2} << 20;  // bytes; a tree of JSON takes up to twenty times its text
  if (f.bytes.size() > kMost)
    f.bad(kMost, "a config of " + std::to_string(f.bytes.size()) + " bytes is above 2 MiB");
  if (const size_t nul = f.bytes.find('\0'); nul != f.bytes.npos)
    f.bad(nul, "expected JSON in UTF-8, found a byte 0");
  // Writing what was found, for an error, takes a frame of the stack for each level.
  constexpr int kMostDepth = 32;
  const auto check = [&](int depth, json::parse_event_t, const json&) {
    if (depth > kMostDepth) f.bad(0, "values lie in each other more than 32 deep");
    return true;
  };
  try {
    json all = json::parse(f.bytes.begin(), f.bytes.end(), check);
    if (!all.is_object()) f.bad(0, std::string("expected an object of JSON, found ") + all.type_name());
    return all;
  } catch (const json::parse_error& e) {
    f.bad(e.byte > 0 ? std::min<uint64_t>(e.byte - 1, f.bytes.size()) : 0, "expected JSON in UTF-8");
  } catch (const json::out_of_range&) { f.bad(0, "a number is beyond what a double holds"); }
}

}  // namespace

const char* name_of(models::Activation a) {
  for (const ActivationName& row : kActivations)
    if (row.activation == a) return row.name;
  return "";
}

ConfigFile::ConfigFile(const detail::FileBytes& f) : file_(f), object_(parsed(f)) {}

const json* ConfigFile::find(std::string_view key) const {
  const auto at = object_.find(key);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::string ConfigFile::found(std::string_view key) const {
  const json* v = find(key);
  return v ? text::one_line(v->dump(-1, ' ', true, json::error_handler_t::replace)) : "nothing";
}

void ConfigFile::wrong(std::string_view key, const std::string& expected) const {
  throw IoError(std::string(file_.op) + ": " + file_.name + ": expected " + path_ + std::string(key) +
                    " to be " + expected + ", found " + found(key),
                file_.site);
}

void ConfigFile::unsupported(std::string_view key, const std::string& supported) const {
  throw Error(std::string(file_.op) + ": " + file_.name + ": " + path_ + std::string(key) + " is " +
                  found(key) + ", which is not supported; supported: " + supported,
              file_.site);
}

int64_t ConfigFile::integer(std::string_view key, std::optional<int64_t> fallback, int64_t least,
                            int64_t most) const {
  const std::string range = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  const json* v = find(key);
  if (!v && fallback) return *fallback;
  if (!v || !v->is_number_integer()) wrong(key, range);
  if (v->is_number_unsigned() && v->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) wrong(key, range);
  const auto n = v->get<int64_t>();
  if (n < least || n > most) wrong(key, range);
  return n;
}

double ConfigFile::real(std::string_view key, double fallback, double least, double most) const {
  const json* v = find(key);
  if (!v) return fallback;
  const std::string range =
      "a number from " + text::formatted("%g", least) + " to " + text::formatted("%g", most);
  if (!v->is_number()) wrong(key, range);
  const auto n = v->get<double>();
  if (!(n >= least && n <= most)) wrong(key, range);
  return n;
}

bool ConfigFile::flag(std::string_view key, bool fallback) const {
  const json* v = find(key);
  if (!v) return fallback;
  if (!v->is_boolean()) wrong(key, "true or false");
  return v->get<bool>();
}

std::string ConfigFile::text(std::string_view key, std::string_view fallback) const {
  const json* v = find(key);
  if (!v) return std::string(fallback);
  if (!v->is_string()) wrong(key, "a text");
  return v->get<std::string>();
}

std::vector<int64_t> ConfigFile::integers(std::string_view key, const std::vector<int64_t>& fallback,
                                          int64_t least, int64_t most) const {
  const json* v = find(key);
  if (!v) return fallback;
  const std::string expected =
      "a list of integers from " + std::to_string(least) + " to " + std::to_string(most);
  if (!v->is_array()) wrong(key, expected);
  std::vector<int64_t> all;
  for (const json& e : *v) {
    if (!e.is_number_integer() ||
        (e.is_number_unsigned() && e.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
      wrong(key, expected);
    all.push_back(e.get<int64_t>());
    if (all.back() < least || all.back() > most) wrong(key, expected);
  }
  return all;
}

std::vector<float> ConfigFile::factors(std::string_view key) const {
  const json* v = find(key);
  if (!v) return {};
  constexpr const char* kExpected = "a list of numbers above 0";
  if (!v->is_array()) wrong(key, kExpected);
  std::vector<float> all;
  for (const json& e : *v) {
    if (!e.is_number()) wrong(key, kExpected);
    all.push_back(e.get<float>());
    if (!(all.back() > 0) || !std::isfinite(all.back())) wrong(key, kExpected);
  }
  return all;
}

std::vector<std::string> ConfigFile::texts(std::string_view key) const {
  const json* v = find(key);
  if (!v) return {};
  if (!v->is_array()) wrong(key, "a list of texts");
  std::vector<std::string> all;
  for (const json& e : *v) {
    if (!e.is_string()) wrong(key, "a list of texts");
    all.push_back(e.get<std::string>());
  }
  return all;
}

std::optional<int64_t> ConfigFile::count(std::string_view key) const {
  const json* v = find(key);
  if (!v) return {};
  if (!v->is_array() && !v->is_object()) wrong(key, "a list or an object");
  return static_cast<int64_t>(v->size());
}

std::optional<ConfigFile> ConfigFile::object(std::string_view key) const {
  const json* v = find(key);
  if (!v) return {};
  if (!v->is_object()) wrong(key, "an object");
  ConfigFile r(file_, *v);
  r.path_ = path_ + std::string(key) + ".";
  return r;
}

models::Activation ConfigFile::activation(std::string_view key, std::string_view fallback) const {
  const std::string name = text(key, fallback);
  std::string all;
  for (const ActivationName& row : kActivations) {
    if (name == row.name) return row.activation;
    all += (all.empty() ? "" : ", ") + std::string(row.name);
  }
  unsupported(key, all);
}

int64_t ConfigFile::labels() const {
  if (has("num_labels")) return integer("num_labels");
  const std::optional<int64_t> named = count("id2label");
  return named && *named > 0 ? *named : 2;
}

void ConfigFile::only(std::string_view key, const json& supported) const {
  const json* v = find(key);
  if (v && *v != supported) unsupported(key, supported.dump());
}

}  // namespace lazy::pretrained
