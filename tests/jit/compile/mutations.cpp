// Tests stored programs that someone has changed, under right checksums: they are refused, or they are right.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>

#include "cache/process_store.hpp"
#include "cache/store.hpp"
#include "jit/compile/disk.hpp"
#include "jit/compile/rebuild.hpp"
#include "jit/key/recordable.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/fresh.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;

namespace {

struct Folder {
  std::string path = "/tmp/lazy-mutations-XXXXXX";
  Folder() { BOOST_REQUIRE(::mkdtemp(path.data())); }
  ~Folder() { std::filesystem::remove_all(path); }
};

struct Settings {
  const char* dynamic = "auto";
  const char* contract = "off";
  const char* limit = "8";
};
struct Sample {
  std::function<Tensor()> f;
  Settings settings{};
};

Tensor strided() {
  static std::vector<float> memory = [] {
    std::vector<float> m(300);
    for (size_t i = 0; i < m.size(); ++i) m[i] = static_cast<float>(i % 17) - 5;
    return m;
  }();
  return from_blob(memory.data(), {5, 9}, float32, {20, 2});
}

/// Returns programs of all kinds of steps, bindings, guards and tile groups.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    const Tensor a = fresh::numbers({6, 8}), b = fresh::numbers({6, 8}) * 0.5f + 1,
                 c = fresh::numbers({8, 5}), long_row = fresh::numbers({3, 300}),
                 image = fresh::numbers({1, 7, 7, 2}), i = fresh::numbers({40}, int32),
                 h = fresh::numbers({20}).astype(float16).eval();
    const std::vector<std::function<Tensor()>> f{
        [=] { return a + b; },
        [=] { return a - b; },
        [=] { return b - a; },
        [=] { return a * b + 3; },
        [=] { return sum(a * b, 0); },
        [=] { return sum(a * b, 1); },
        [=] { return max(a, 1) + min(b, 1); },
        [=] { return argmax(b, 0); },
        [=] { return cumsum(long_row, 1) * 2; },
        [=] { return matmul(a, c); },
        [=] { return matmul(a, c) + sum(c, 0); },
        [=] { return matmul(a.T(), b); },
        [=] { return a.T() + 1; },
        [=] { return exp(long_row * 0.01f - max(long_row, 1, KeepDims(true)) * 0.01f); },
        [=] {
          const Tensor e = exp(long_row * 0.01f - max(long_row, 1, KeepDims(true)) * 0.01f);
          return e / sum(e, 1, KeepDims(true));
        },
        [=] {
          Tensor x = a.copy();
          x(slice(1, 3)) = b(slice(0, 2)) * 2;
          return x;
        },
        [=] { return a(slice(none, none, 2)) - b(slice(0, 3)); },
        [=] { return a(slice(none), slice(none, none, -1)) * 2; },
        [=] {
          return reshape(a + 1, {4, 12}) * 3;
        },
        [=] { return reshape(a.T() * 2, {48}) + 1; },
        [=] { return where(a > b, a, 0 - b) + arange(8).astype(float32); },
        [=] { return i * 3 % 7 + left_shift(i, 1); },
        [=] { return (h * 2 + 1).astype(float32); },
        [=] { return strided() * 2 + 1; },
        [=] { return sum(strided(), 1); },
        [=] {
          Tensor x = a;
          for (int k = 0; k < 40; ++k) x = x * 0.9f + b;
          return x;
        },
        [=] { return mean(a) + var(b); },
        [=] { return tanh(a) + pow(b, 2) + atan2(a, b); },
        [=] {
          return conv2d(image, ones({4, 7, 3, 2}));
        },
    };
    std::vector<Sample> made;
    for (const auto& g : f) made.push_back({g});
    for (size_t k = 0; k < f.size(); k += 3) made.push_back({f[k], {.dynamic = "never"}});
    for (size_t k = 1; k < f.size(); k += 4) made.push_back({f[k], {.limit = "1"}});
    made.push_back({f[3], {.contract = "on"}});
    return made;
  }();
  return all;
}

std::string bytes_of(const Sample& s) {
  const fresh::Override dynamic("LAZY_DYNAMIC", s.settings.dynamic),
      contract("LAZY_FP_CONTRACT", s.settings.contract), limit("LAZY_RECOMPILE_LIMIT", s.settings.limit);
  const auto v = s.f().astype(float64).to_vector<double>();
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]};
}

struct Kept {
  std::string key, value;
  uint64_t label;
};

/// Returns the records that are stored after each sample ran, in a folder.
std::vector<Kept> all_kept(const std::string& folder) {
  cache::Store store({folder});
  std::vector<Kept> kept;
  store.for_each([&](const cache::Store::Listed& l) {
    if (!l.key.starts_with("machine")) kept.push_back({std::string(l.key), std::string(l.value), l.label});
  });
  return kept;
}

bool accepted(const Kept& k, std::string& why) {
  jit::StoredProgram s;
  return jit::take_apart(k.key, k.value, s, why) && jit::label_of(s.program) == k.label &&
         jit::recompiles_alike(s, *jit::backends().main, why);
}

using Random = std::mt19937_64;

/// Changes a few bytes, or a few thousand.
void change(std::string& bytes, size_t from, Random& random) {
  const auto place = [&](size_t n) { return from + random() % (bytes.size() - from - n + 1); };
  if (bytes.size() < from + 16) return;
  switch (random() % 9) {
    case 0: bytes[place(1)] ^= static_cast<char>(1u << random() % 8); break;
    case 1: bytes[place(1)] = static_cast<char>(random()); break;
    case 2: bytes[place(1)] += 1; break;
    case 3: bytes[place(1)] -= 1; break;
    case 4: {
      const size_t n = 1 + random() % 8, at = place(n);
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), n, random() % 2 ? '\0' : '\xff');
      break;
    }
    case 5: {  // exchanges numbers
      const size_t a = place(4), b = place(4);
      for (size_t i = 0; i < 4; ++i) std::swap(bytes[a + i], bytes[b + i]);
      break;
    }
    case 6: {
      const size_t n = 1 + random() % 32, a = place(std::min(n, bytes.size() - from)),
                   b = place(std::min(n, bytes.size() - from));
      for (size_t i = 0; i < n && std::max(a, b) + i < bytes.size(); ++i) bytes[a + i] = bytes[b + i];
      break;
    }
    case 7: bytes.resize(bytes.size() - random() % 16); break;
    default: bytes.insert(place(1), bytes.substr(place(8), 1 + random() % 16));
  }
}

/// Changes one of the records: its value, its key, or replaces its value by another's.
Kept changed(const std::vector<Kept>& all, Random& random) {
  Kept k = all[random() % all.size()];
  const size_t key_begins = k.key.find('\0', k.key.find('\0') + 1) + 1;
  const uint64_t kind = random() % 16;
  if (kind == 0) {
    const Kept& other = all[random() % all.size()];
    k.value = other.value;
    k.label = other.label;
  } else if (kind <= 3) {
    change(k.key, key_begins, random);
  } else {
    for (uint64_t n = 1 + random() % 3 / 2; n > 0; --n) change(k.value, 0, random);
  }
  jit::StoredProgram s;
  std::string why;
  if (jit::take_apart(k.key, k.value, s, why)) k.label = jit::label_of(s.program);
  return k;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kept_programs, fresh::Fixture)

BOOST_AUTO_TEST_CASE(changed_ones_are_refused_or_right, *test::needs("a backend that stores programs", [] {
                       return !jit::backends().main->target().empty();
                     })) {
  const uint64_t seed = test::asked_seed();
  const uint64_t cases = test::asked_cases(6000);
  std::cout << "changed_ones_are_refused_or_right: LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << cases
            << std::endl;
  std::vector<std::string> expected;
  for (const Sample& s : samples()) {
    expected.push_back(bytes_of(s));
    lazy::cache::clear();
  }
  const Folder original;
  {
    const fresh::Override on("LAZY_CACHE", "on"), dir("LAZY_CACHE_DIR", original.path);
    for (const Sample& s : samples()) {
      BOOST_TEST((bytes_of(s) == expected[static_cast<size_t>(&s - samples().data())]));
      lazy::cache::clear();
    }
    cache::process_store()->close();
  }
  const std::vector<Kept> all = all_kept(original.path);
  BOOST_REQUIRE(all.size() > samples().size() * 3 / 4);
  for (const Kept& k : all) {
    std::string why;
    BOOST_TEST(accepted(k, why), why);
  }
  Random random(seed);
  uint64_t taken = 0, with_changes = 0;
  for (uint64_t done = 0; done < cases;) {
    // Records that are accepted are run.
    const Folder folder;
    bool any = false;
    {
      cache::Store store({folder.path});
      for (int i = 0; i < 2000 && done < cases; ++i, ++done) {
        const Kept k = changed(all, random);
        std::string why;
        if (!accepted(k, why)) continue;
        ++taken;
        const auto same = [&](const Kept& o) { return o.key == k.key && o.value == k.value; };
        if (std::any_of(all.begin(), all.end(), same)) continue;
        ++with_changes;
        any |= store.add(cache::KeyView(k.key.data(), k.key.size()), k.label, k.value);
      }
      store.close();
    }
    if (!any) continue;
    const fresh::Override on("LAZY_CACHE", "readonly"), dir("LAZY_CACHE_DIR", folder.path);
    for (size_t s = 0; s < samples().size(); ++s) {
      lazy::cache::clear();
      BOOST_TEST((bytes_of(samples()[s]) == expected[s]), "sample " << s << " after " << done << " changes");
    }
  }
  BOOST_TEST_MESSAGE(taken << " accepted, of which " << with_changes << " differ from what was kept");
}

BOOST_AUTO_TEST_CASE(exchanged_values_are_refused, *test::needs("a backend that stores programs", [] {
                       return !jit::backends().main->target().empty();
                     })) {
  const Folder folder;
  const fresh::Override on("LAZY_CACHE", "on"), dir("LAZY_CACHE_DIR", folder.path);
  const Tensor a = fresh::numbers({9}), b = fresh::numbers({9}) * 3;
  b.eval();
  lazy::cache::clear();
  (void)(a + b).to_vector<float>();
  (void)(a - b).to_vector<float>();
  cache::process_store()->close();
  std::vector<Kept> all = all_kept(folder.path);
  std::erase_if(all, [](const Kept& k) {
    jit::StoredProgram s;
    std::string why;
    return !jit::take_apart(k.key, k.value, s, why) || s.program.steps.at(0).ops != 1 ||
           s.program.results.size() != 1 || s.program.steps[0].operands.size() != 3;
  });
  BOOST_REQUIRE(all.size() >= 2u);
  for (const Kept& x : all)
    for (const Kept& y : all) {
      std::string why;
      BOOST_TEST(accepted({x.key, y.value, y.label}, why) == (&x == &y), why);
    }
  // A program that finds a record there and has to check it compiles the program itself.
  const Folder exchanged;
  {
    cache::Store store({exchanged.path});
    for (size_t i = 0; i < all.size(); ++i) {
      const Kept& other = all[(i + 1) % all.size()];
      store.add(cache::KeyView(all[i].key.data(), all[i].key.size()), other.label, other.value);
    }
    store.close();
  }
  const fresh::Override there("LAZY_CACHE_DIR", exchanged.path), verify("LAZY_CACHE_VERIFY", "on");
  lazy::cache::clear();
  std::string said = fresh::standard_error_of([&] {
    BOOST_TEST((a + b).to_vector<float>()[8] == 36.f);
    BOOST_TEST((a - b).to_vector<float>()[8] == -18.f);
  });
  BOOST_TEST(fresh::contains(said, "is not used"), said);
}

BOOST_AUTO_TEST_SUITE_END()
