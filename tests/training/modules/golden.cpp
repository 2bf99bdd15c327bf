// Compares layers with torch's: what they print, the names and shapes of their state, what they return, the
// gradients of arguments and parameters, and what becomes of buffers. tests/golden/make_modules.py wrote what
// to expect.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "layers.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

namespace {

using namespace lazy;

/// Holds one case of the file.
struct Case {
  std::string name, repr;
  bool train = false;
  std::vector<std::pair<std::string, Tensor>> state, after, grads;
  std::vector<Tensor> arguments;
  std::vector<bool> fixed;
  Tensor output, cotangent, samples;
};

/// Reads "DTYPE SHAPE x ..." from a word on.
Tensor read_tensor(const std::vector<std::string>& words, size_t at) {
  const DType t = golden::dtype_named(words[at]);
  Shape shape;
  if (words[at + 1] != "-")
    for (const std::string& extent : golden::words(words[at + 1], ',')) shape.push_back(std::stoll(extent));
  std::vector<double> v;
  for (size_t i = at + 2; i < words.size(); ++i) v.push_back(std::stod(words[i]));
  return from_span(v, shape).astype(t);
}

std::vector<Case> read_cases() {
  std::ifstream in(LAZY_SOURCE_DIR "/tests/golden/modules.txt");
  BOOST_REQUIRE(in);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> w = golden::words(line);
    const std::string& kind = w[0];
    if (kind == "case") {
      cases.emplace_back().name = w[1];
      cases.back().train = w[2] == "train";
      continue;
    }
    Case& c = cases.back();
    if (kind == "repr") c.repr += (c.repr.empty() ? "" : "\n") + line.substr(5);
    else if (kind == "state") c.state.emplace_back(w[1], read_tensor(w, 2));
    else if (kind == "after") c.after.emplace_back(w[1], read_tensor(w, 2));
    else if (kind == "grad") c.grads.emplace_back(w[1], read_tensor(w, 2));
    else if (kind == "output") c.output = read_tensor(w, 1);
    else if (kind == "cotangent") c.cotangent = read_tensor(w, 1);
    else if (kind == "samples") c.samples = read_tensor(w, 1);
    else if (kind == "input" || kind == "fixed") {
      c.arguments.push_back(read_tensor(w, 1));
      c.fixed.push_back(kind == "fixed");
    }
  }
  return cases;
}

/// Returns what a module prints, without the notes behind `#` and the last line.
std::string tree(const nn::Module& m) {
  std::ostringstream out;
  out << m;
  std::istringstream in(out.str());
  std::string r;
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '#') continue;
    r += (r.empty() ? "" : "\n") + line.substr(0, line.find("  #"));
  }
  return r;
}

void near(const std::string& what, const Tensor& x, const Tensor& expected) {
  BOOST_TEST_CONTEXT(what) {
    BOOST_REQUIRE(x.defined());
    BOOST_TEST(to_string(x.shape()) == to_string(expected.shape()));
    BOOST_TEST(name_of(x.dtype()) == std::string(name_of(expected.dtype())));
    check::close(x, expected.to_vector<double>(), 4e-6);
  }
}

void check_state(const Case& c, nn::Module& m) {
  const NamedTensors state = m.state_dict();
  std::string ours, theirs;
  for (const auto& [name, t] : state)
    ours += name + " " + to_string(t.shape()) + " " + name_of(t.dtype()) + "\n";
  NamedTensors given;
  for (const auto& [name, t] : c.state) {
    theirs += name + " " + to_string(t.shape()) + " " + name_of(t.dtype()) + "\n";
    given.set(name, t);
  }
  BOOST_TEST(ours == theirs);
  m.load_state_dict(given);
}

/// Holds a parameter as half of it: the value is the same to the bit.
struct Doubled final : nn::utils::parametrize::Parametrization {
  Tensor forward(const std::vector<Tensor>& x, Site) override { return x[0] * 2; }
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& x, Site) override {
    return std::vector<Tensor>{x * 0.5};
  }
};

using Parameters = std::vector<std::pair<std::string, ParameterRef>>;

void check_gradients(const Case& c, const Parameters& parameters, bool parametrized,
                     const std::vector<Tensor>& arguments, const Tensor& y) {
  y.backward(c.cotangent);
  std::map<std::string, Tensor> found;
  for (size_t i = 0; i < arguments.size(); ++i) found[std::to_string(i)] = arguments[i].grad();
  for (const auto& [name, p] : parameters) {
    found[name] = p->grad();
    if (parametrized && found[name].defined()) found[name] = found[name] * 0.5;
  }
  for (const auto& [name, expected] : c.grads) near("gradient of " + name, found[name], expected);
}

void run(const Case& c, bool parametrized = false) {
  const auto builder = layers::builders().find(c.name);
  BOOST_REQUIRE_MESSAGE(builder != layers::builders().end(), "no layer for " + c.name);
  layers::Layer layer = builder->second();
  nn::Module& m = *layer.module;
  BOOST_TEST(tree(m) == c.repr);
  check_state(c, m);
  const Parameters parameters = m.named_parameters();
  if (parametrized)
    for (const auto& [name, p] : parameters) nn::utils::parametrize::register_parametrization(*p, Doubled());
  if (auto* pool = dynamic_cast<nn::FractionalMaxPool2d*>(&m)) pool->options.random_samples = c.samples;
  if (auto* pool = dynamic_cast<nn::FractionalMaxPool3d*>(&m)) pool->options.random_samples = c.samples;
  m.train(c.train);
  std::vector<Tensor> arguments = c.arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (is_float(arguments[i].dtype()) && !c.fixed[i]) arguments[i].requires_grad_();
  const Tensor y = layer.call(arguments, c.train);
  near("output", y, c.output);
  if (c.cotangent.defined()) check_gradients(c, parameters, parametrized, arguments, y);
  if (parametrized)
    for (const auto& [name, p] : m.named_parameters())
      BOOST_TEST(name.find("parametrizations.") != name.npos, name << " has none");
  if (parametrized)
    for (const auto& [name, p] : parameters) nn::utils::parametrize::remove_parametrizations(m, name);
  const NamedTensors state = m.state_dict();
  std::map<std::string, Tensor> expected(c.state.begin(), c.state.end());
  for (const auto& [name, t] : c.after) expected[name] = t;
  for (const auto& [name, t] : expected) near(name + " after", state.at(name), t);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_golden)

BOOST_AUTO_TEST_CASE(layers_are_torchs) {
  size_t count = 0;
  for (const Case& c : read_cases()) {
    BOOST_TEST_CONTEXT(c.name) {
      try {
        run(c);
      } catch (const Error& e) { BOOST_ERROR(e.what()); }
    }
    ++count;
  }
  BOOST_TEST(count == layers::builders().size());
}

// Layers don't know how their parameters come about.
BOOST_AUTO_TEST_CASE(parametrized_layers_are_torchs) {
  for (const Case& c : read_cases()) BOOST_TEST_CONTEXT(c.name) {
      try {
        run(c, true);
      } catch (const Error& e) { BOOST_ERROR(e.what()); }
    }
}

// A layer that no case prints is not compared with torch's.
BOOST_AUTO_TEST_CASE(none_is_left_out) {
  std::set<std::string> printed;
  const std::regex name("(?:^|: )(\\w+)\\(");
  for (const Case& c : read_cases()) {
    std::istringstream lines(c.repr);
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, found, name)) printed.insert(found[1]);
  }
  const std::set<std::string> elsewhere = {"attention.hpp", "members.hpp", "module.hpp", "recurrent.hpp",
                                           "transformer.hpp"};
  // Names of structs, of layers by their number of axes, and of those that macros make.
  const std::regex declared(
      "^(?:struct (\\w+) : (?:Module|Upsample|detail::\\w+) \\{|using (\\w+\\dd) "
      "=|LAZY_(?:ACTIVATION|LOSS)\\((\\w+),)");
  size_t layers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAZY_SOURCE_DIR "/lazy/nn/modules")) {
    if (entry.path().extension() != ".hpp" || elsewhere.contains(entry.path().filename())) continue;
    std::ifstream in(entry.path());
    std::smatch found;
    for (std::string line; std::getline(in, line);) {
      if (!std::regex_search(line, found, declared)) continue;
      const std::string layer = found[1].str() + found[2].str() + found[3].str();
      if (layer.find("Base") != layer.npos || layer.find("Nd") != layer.npos || layer == "Function" ||
          layer == "RunningNorm" || layer == "TransposedLinear")  // no layer of torch
        continue;
      ++layers;
      BOOST_TEST(printed.contains(layer), layer << " of " << entry.path().filename() << " has no case");
    }
  }
  BOOST_TEST(layers > 110u);
}

BOOST_AUTO_TEST_SUITE_END()
