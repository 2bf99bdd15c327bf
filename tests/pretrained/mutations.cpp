// Changes bytes of good files: whatever they say, loading one is an error of the documented kinds, or a
// model.
#include <cstring>
#include <random>

#include "lazy/pretrained/gguf/gguf.hpp"
#include "tests/common/asked.hpp"
#include "tests/pretrained/folders.hpp"

using namespace lazy;
using namespace pretrained_test;

namespace {

/// Changes some bytes: single bits, whole words that sizes could be, cuts, copies from elsewhere.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  constexpr uint64_t kWords[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 32, 0x7fffffff};
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % std::max<size_t>(n, 1)); };
  for (size_t i = 1 + below(4); i > 0 && !bytes.empty(); --i) {
    const size_t at = below(random() % 4 ? std::min<size_t>(bytes.size(), 1500) : bytes.size());
    switch (random() % 6) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: {
        const uint64_t word = kWords[below(std::size(kWords))];
        std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
        break;
      }
      case 3: bytes.resize(at); break;
      case 4: bytes.erase(at, below(9)); break;
      default: bytes.insert(at, bytes.substr(below(bytes.size()), below(9)));
    }
  }
  return bytes;
}

struct Outcome {
  size_t loaded = 0, refused = 0;
};

/// Calls f with mutations of the bytes.
template <class F>
Outcome try_mutations(const std::string& bytes, uint64_t cases, F&& f) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("seed " << seed);
  Outcome o;
  for (uint64_t i = 0; i < test::asked_cases(cases); ++i)
    BOOST_TEST_CONTEXT("LAZY_TEST_SEED=" << seed << ", case " << i) {
      std::mt19937_64 random(seed ^ (i * 0x9e3779b97f4a7c15));
      try {
        f(mutated(bytes, random));
        ++o.loaded;
      } catch (const Error&) {  // all documented ones are
        ++o.refused;
      } catch (const std::exception& e) { BOOST_FAIL("not one of the documented errors: " << e.what()); }
    }
  return o;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pretrained_mutations)

BOOST_AUTO_TEST_CASE(gguf_files) {
  const std::string bytes = read(LAZY_SOURCE_DIR "/tests/golden/gguf/blocks.gguf");
  const Outcome o = try_mutations(bytes, 2000, [](const std::string& changed) {
    const gguf::File f = gguf::load(std::as_bytes(std::span(changed)));
    for (const gguf::TensorInfo& t : f.tensors()) (void)f.tensor(t.name).eval();
    for (const auto& [key, v] : f.metadata())
      if (v.is_list() && v.element_kind() == gguf::Kind::text) (void)v.texts();
      else if (v.is_list()) (void)v.elements();
  });
  BOOST_TEST(o.loaded > 0u);
  BOOST_TEST(o.refused > 0u);
}

BOOST_AUTO_TEST_CASE(gguf_models) {
  const Folder folder;
  const fs::path path = folder.path() / "model.gguf";
  for (const char* name : {"llama_q4_0", "llama_f16"}) {
    const std::string bytes = read(std::string(LAZY_SOURCE_DIR "/tests/golden/gguf/") + name + ".gguf");
    const Outcome o = try_mutations(bytes, 300, [&](const std::string& changed) {
      write(path, changed);
      (void)pretrained::load(path);
    });
    BOOST_TEST(o.refused > 0u);
  }
}

BOOST_AUTO_TEST_CASE(configs) {
  for (const char* name : {"llama_yarn", "bert_texts", "vit_images", "resnet", "gpt2"}) {
    const Folder folder;
    const fs::path from = fs::path(LAZY_SOURCE_DIR "/tests/golden/pretrained") / name;
    fs::copy(from, folder.path());
    const std::string bytes = read(from / "config.json");
    const Outcome o = try_mutations(bytes, 150, [&](const std::string& changed) {
      write(folder.path() / "config.json", changed);
      (void)pretrained::load(folder.path());
    });
    BOOST_TEST(o.refused > 0u);
  }
}

BOOST_AUTO_TEST_CASE(indices_of_shards) {
  const Folder folder;
  const fs::path from = fs::path(LAZY_SOURCE_DIR "/tests/golden/pretrained") / "llama_head_dim";
  fs::copy(from, folder.path());
  const std::string bytes = read(from / "model.safetensors.index.json");
  const Outcome o = try_mutations(bytes, 300, [&](const std::string& changed) {
    write(folder.path() / "model.safetensors.index.json", changed);
    (void)pretrained::load(folder.path());
  });
  BOOST_TEST(o.refused > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
