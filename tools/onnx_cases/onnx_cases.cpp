// onnx_cases FOLDER [--only TEXT] [--not-passed FILE] [--verbose]: runs the cases of a folder of the ONNX
// format's package (onnx/backend/test/data/node): each has model.onnx and test_data_set_*/input_*.pb and
// output_*.pb. A folder of light models (light_*.onnx with light_*_output_0.pb, their inputs made by a rule)
// is run, too. Prints what passes by operator; exits with 1 if what does not pass is not what the file lists.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "lazy/lazy.hpp"
#include "lazy/onnx/onnx.hpp"

using namespace lazy;
namespace fs = std::filesystem;

namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-5;

enum class Outcome { passed, failed, unsupported };
struct Result {
  Outcome outcome = Outcome::passed;
  std::string reason;
};

/// Returns why two tensors differ; an empty text if they don't.
std::string difference(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype())
    return std::string("dtype ") + name_of(found.dtype()) + ", expected " + name_of(expected.dtype());
  if (found.shape() != expected.shape())
    return "shape " + to_string(found.shape()) + ", expected " + to_string(expected.shape());
  if (!is_float(expected.dtype())) {
    if (array_equal(found, expected).item<bool>()) return {};
    return "elements differ, " + std::to_string(sum(not_equal(found, expected)).item<int64_t>()) + " of " +
           std::to_string(expected.size());
  }
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  double worst = 0;
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double error = std::fabs(a[i] - b[i]);
    if (error <= kAbsolute + kRelative * std::fabs(b[i])) continue;
    ++count;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  if (!count) return {};
  std::ostringstream out;
  out << count << " of " << a.size() << " elements differ by up to " << worst;
  return out.str();
}

std::string first_lines(const std::string& text) {
  std::string all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with("imported:")) continue;
    const size_t from = line.find_first_not_of(' ');
    if (from == line.npos) continue;
    if (!all.empty()) all += "; ";
    all += line.substr(from);
  }
  return all;
}

std::vector<fs::path> sorted(const fs::path& folder, const std::string& prefix) {
  std::vector<std::pair<int, fs::path>> all;
  for (const auto& e : fs::directory_iterator(folder)) {
    const std::string name = e.path().filename().string();
    if (name.starts_with(prefix)) all.emplace_back(std::atoi(name.c_str() + prefix.size()), e.path());
  }
  std::sort(all.begin(), all.end());
  std::vector<fs::path> paths;
  for (auto& [number, path] : all) paths.push_back(std::move(path));
  return paths;
}

/// Loads a tensor; NumPy, which wrote it, knows no bfloat16 and has its bits as uint16.
Tensor load_as(const fs::path& path, DType dtype) {
  Tensor t = onnx::load_tensor(path);
  if (dtype != bfloat16 || t.dtype() != uint16) return t;
  auto bits = std::make_shared<std::vector<uint16_t>>(t.to_vector<uint16_t>());
  return from_blob(static_cast<void*>(bits->data()), t.shape(), bfloat16, {}, [bits](void*) {});
}

Result compare(const std::vector<Tensor>& found, const std::vector<fs::path>& expected) {
  if (found.size() != expected.size()) return {Outcome::failed, "another number of outputs"};
  for (size_t i = 0; i < found.size(); ++i)
    if (std::string why = difference(found[i], load_as(expected[i], found[i].dtype())); !why.empty())
      return {Outcome::failed, "output " + std::to_string(i) + ": " + why};
  return {};
}

Result run_case(const fs::path& folder) {
  onnx::Model model;
  try {
    model = onnx::load(folder / "model.onnx");
  } catch (const Error& e) { return {Outcome::unsupported, first_lines(e.what())}; }
  for (const fs::path& set : sorted(folder, "test_data_set_")) {
    NamedTensors inputs;
    const auto files = sorted(set, "input_");
    for (size_t i = 0; i < files.size(); ++i)
      inputs.set(model.inputs()[i].name, load_as(files[i], model.inputs()[i].dtype));
    std::vector<Tensor> found;
    for (const auto& [name, t] : model(inputs)) found.push_back(t);
    if (Result r = compare(found, sorted(set, "output_")); r.outcome != Outcome::passed) return r;
  }
  return {};
}

/// Runs a model whose weights and inputs are made by rules: input element i is i / (number of elements).
Result run_light(const fs::path& path) {
  onnx::Model model;
  try {
    model = onnx::load(path);
  } catch (const Error& e) { return {Outcome::unsupported, first_lines(e.what())}; }
  NamedTensors inputs;
  for (const onnx::ValueInfo& v : model.inputs()) {
    Shape shape;
    for (const onnx::Extent& e : *v.shape) shape.push_back(std::get<int64_t>(e));
    const int64_t n = numel(shape);
    inputs.set(v.name, reshape(arange(n, float64) / static_cast<double>(n), shape).astype(v.dtype));
  }
  std::vector<Tensor> found;
  for (const auto& [name, t] : model(inputs)) found.push_back(t);
  std::string output = path.string();
  output.resize(output.size() - 5);
  return compare(found, {output + "_output_0.pb"});
}

std::map<std::string, std::string> listed(const std::string& file, const std::string& section) {
  std::map<std::string, std::string> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == line.npos) continue;
    const std::string name = line.substr(0, colon);
    if (name.starts_with(section + "/")) all[name.substr(section.size() + 1)] = line.substr(colon + 2);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("onnx_cases FOLDER [--only TEXT] [--not-passed FILE] [--verbose]"), 2;
  const fs::path folder = argv[1];
  std::string only, file;
  bool verbose = false;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--verbose") verbose = true;
    if (a == "--only" && i + 1 < argc) only = argv[++i];
    if (a == "--not-passed" && i + 1 < argc) file = argv[++i];
  }
  std::map<std::string, Result> results;
  std::set<fs::path> paths;
  for (const auto& e : fs::directory_iterator(folder)) paths.insert(e.path());
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    if (name.find(only) == name.npos) continue;
    const bool light = name.ends_with(".onnx");
    if (!light && !fs::exists(path / "model.onnx")) continue;
    try {
      results[name] = light ? run_light(path) : run_case(path);
    } catch (const std::exception& e) { results[name] = {Outcome::failed, first_lines(e.what())}; }
    if (verbose) std::cerr << name << '\n';
  }
  std::map<Outcome, int> counts;
  for (const auto& [name, r] : results) {
    ++counts[r.outcome];
    if (r.outcome != Outcome::passed)
      std::cout << (r.outcome == Outcome::failed ? "FAILED      " : "UNSUPPORTED ") << name << ": "
                << r.reason << '\n';
  }
  std::cout << counts[Outcome::passed] << " passed, " << counts[Outcome::failed] << " failed, "
            << counts[Outcome::unsupported] << " unsupported\n";
  if (file.empty()) return counts[Outcome::failed] ? 1 : 0;
  int wrong = 0;
  const auto expected = listed(file, folder.filename().string());
  for (const auto& [name, r] : results)
    if ((r.outcome == Outcome::passed) == expected.contains(name))
      ++wrong, std::cout << name
                         << (expected.contains(name) ? " is listed, but passes\n"
                                                     : " is not listed, and does not pass\n");
  return wrong ? 1 : 0;
}
