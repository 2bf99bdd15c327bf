// Compares models of small folders with what transformers computed of them (tests/golden/make_pretrained.py).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "lazy/lazy.hpp"
#include "lazy/pretrained/pretrained.hpp"

using namespace lazy;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = LAZY_SOURCE_DIR "/tests/golden/pretrained";

/// Returns the largest difference as a part of the largest magnitude that is expected.
double difference(const Tensor& found, const Tensor& expected) {
  BOOST_TEST_REQUIRE((found.shape() == expected.shape()));
  const Tensor e = expected.astype(float64);
  return max(abs(found.astype(float64) - e)).item<double>() / max(abs(e)).item<double>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pretrained_goldens)

BOOST_AUTO_TEST_CASE(each_architecture_gives_what_transformers_gives) {
  const no_grad scope;
  size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) BOOST_TEST_CONTEXT(entry.path().filename()) {
      pretrained::Model model = pretrained::load(entry.path(), {.dtype = float32});
      const NamedTensors found = model(load_safetensors((entry.path() / "inputs.safetensors").string()));
      const Safetensors expected = load_safetensors((entry.path() / "outputs.safetensors").string());
      BOOST_TEST(found.size() == expected.size());
      for (const auto& [name, t] : found) BOOST_TEST(difference(t, expected.at(name)) < 1e-4, name);
      ++cases;
    }
  BOOST_TEST(cases > 10u);
}

BOOST_AUTO_TEST_SUITE_END()
