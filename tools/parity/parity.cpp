// parity FOLDER [NAME...]: compares models in full size with what torch computed. `make.py full FOLDER`
// writes the files: weights, arguments, results and gradients, as safetensors. Exits with 1 if one differs by
// more than 1e-4 of its largest number.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/training/models/cases.hpp"

using namespace lazy;

namespace {

constexpr double kTolerance = 1e-4;
constexpr double kNothing = 1e-3;  // share of the largest gradient below which there is only rounding

double largest(const Tensor& x) { return x.size() ? max(abs(x)).item<double>() : 0; }

bool compare(const std::string& folder, const std::string& name) {
  const Safetensors file = load_safetensors(folder + "/" + name + ".safetensors");
  parity::Case c = parity::build(name, true);
  NamedTensors state;
  std::vector<Tensor> arguments;
  double top = 0;
  for (const auto& [key, value] : file) {
    if (key.starts_with("param/")) state.set(key.substr(6), value);
    if (key.starts_with("grad/")) top = std::max(top, largest(value));
  }
  for (int i = 0; file.contains("in/" + std::to_string(i)); ++i)
    arguments.push_back(file.at("in/" + std::to_string(i)));
  const nn::IncompatibleKeys keys = c.model->load_state_dict(state, false);
  for (const std::string& k : keys.unexpected_keys) std::printf("  %s is not in the model\n", k.c_str());
  bool good = keys.unexpected_keys.empty();
  for (const std::string& k : keys.missing_keys)
    if (!k.ends_with("num_batches_tracked"))
      std::printf("  %s is not in the file\n", k.c_str()), good = false;
  c.model->train();
  const Tensor out = c.run(arguments);
  parity::loss_of(out).backward();
  std::vector<Tensor> all{out};
  for (const auto& [key, p] : c.model->named_parameters())
    if (p->grad().defined()) all.push_back(p->grad());
  eval(all);
  const Tensor& expected = file.at("out");
  const double result = largest(out - expected) / largest(expected);
  double worst = 0, total = 0, norm = 0;
  std::string where;
  size_t gradients = 0;
  for (const auto& [key, p] : c.model->named_parameters()) {
    if (!file.contains("grad/" + key)) continue;
    ++gradients;
    const Tensor& g = file.at("grad/" + key);
    const double absolute = largest(p->grad() - g), error = absolute / std::max(largest(g), kNothing * top);
    if (!(error <= worst)) worst = error, where = key;
    total += sum(square((p->grad() - g).astype(float64))).item<double>();
    norm += sum(square(g.astype(float64))).item<double>();
  }
  good = good && result <= kTolerance && worst <= kTolerance;
  std::printf("%-20s %10lld parameters, result %.1e, %zu gradients: all %.1e, worst %.1e (%s)%s\n",
              name.c_str(), static_cast<long long>(c.model->num_parameters()), result, gradients,
              std::sqrt(total / norm), worst, where.c_str(), good ? "" : "  DIFFERS");
  std::fflush(stdout);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("parity FOLDER [NAME...]"), 2;
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty()) names = parity::kNames;
  bool good = true;
  for (const std::string& name : names) good = compare(argv[1], name) && good;
  return good ? 0 : 1;
}
