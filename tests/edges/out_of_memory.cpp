// Makes memory run out anywhere: each allocation of recording, compiling and running fails in turn. Nothing
// may end the program, what is computed afterwards is right, and nothing leaks.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "jit/flush/recompiles.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "support/log_sink.hpp"
#include "tests/common/folder.hpp"
#include "tests/edges/failing_allocations.hpp"

using namespace lazy;

namespace {

using failing::and_later, failing::blocks, failing::failures;
using Values = std::vector<float>;

struct Program {
  const char* name;
  std::function<void()> prepare;  // called before each try, while there is memory
  std::function<Tensor()> record;
  std::function<Values(const Tensor&)> read;
  bool threads = false;  // several threads work, and may fail
};

Values all_of(const Tensor& t) { return t.to_vector<float>(); }

bool wrong(const char* name, long at, const char* what) {
  std::printf("%s, allocation %ld%s: %s\n", name, at, and_later ? " and later" : "", what);
  return false;
}

/// Runs the program with allocation `at` failing. False if something is wrong; `some` is set if one failed.
bool one_failure(const Program& p, const Values& expected, long at, bool& some) {
  p.prepare();
  const uint64_t live = metrics().bytes_live;
  const long before = failures;
  bool good = true;
  {
    Tensor t;
    Values got;
    const auto run = [&] {
      if (!t.defined()) t = p.record();
      got = p.read(t);
    };
    bool thrown = false;
    try {
      const failing::Armed scope(at, p.threads);
      run();
    } catch (const std::exception&) { thrown = true; }
    some = failures != before;
    if (!some && thrown) good = wrong(p.name, at, "an exception though nothing failed");
    if (thrown) try {
        run();
      } catch (const std::exception& e) {
        // An input that nothing else referred to was overwritten when the run failed: the error says so, and
        // it is computed anew.
        if (!std::strstr(e.what(), "was overwritten by an earlier run")) good = wrong(p.name, at, e.what());
        t = Tensor();
        run();
      }
    if (got != expected) good = wrong(p.name, at, "wrong values");
  }
  if (metrics().bytes_live != live)
    good = wrong(p.name, at,
                 (std::to_string(metrics().bytes_live - live) + " bytes of values are left").c_str());
  return good;
}

bool each_failure(const Program& p) {
  p.prepare();
  const Values expected = p.read(p.record());
  bool good = true;
  long tried = 0;
  long left[3] = {};
  // Runs twice: caches are filled after the first time, and grow no more in the second.
  for (int round = 0; round < 2; ++round) {
    for (const bool later : {false, true}) {
      and_later = later;
      bool some = true;
      for (long at = 0; some; ++at, ++tried) good &= one_failure(p, expected, at, some);
    }
    p.prepare();
    jit::forget_compiles();  // what hints go by is kept for as long as the programs
    left[round + 1] = blocks;
  }
  if (left[2] > left[1]) {
    std::printf("%s: %ld blocks are left over\n", p.name, left[2] - left[1]);
    good = false;
  }
  std::printf("%-28s %5ld failures\n", p.name, tried);
  std::fflush(stdout);
  return good;
}

}  // namespace

int main() {
  ::alarm(280);
  config::set("LAZY_CACHE", "off");
  config::set("LAZY_NUM_THREADS", "1");
  const auto warm = [] {};
  const auto cold = [] { cache::clear(); };
  const Tensor x = (arange(0, 60, 1, float32) * 0.5f).copy().eval();
  const auto chain = [&] {
    Tensor y = x;
    for (int i = 0; i < 6; ++i) y = y * 2 - x;
    return y;
  };
  bool good = true;
  const auto test = [&](const Program& p) { good &= each_failure(p); };

  test({"a chain", warm, chain, all_of});
  test({"a chain, cold", cold, chain, all_of});
  test({"views", warm, [&] { return reshape(x, {6, 10}).T()(slice(1, 7, 2)) + x(slice(0, 6)); }, all_of});
  test({"a strided value's data", warm,
        [&] {
          return reshape(x, {6, 10}).T();
        },
        [](const Tensor& t) {
          const float* const p = t.data<float>();
          return Values(p, p + t.size());
        }});
  test({"an update in place", warm,
        [&] {
          Tensor y = x.copy().eval();
          y(slice(3, 9)) = 5;
          y(20) = y(19) * 2;
          return y;
        },
        all_of});
  test({"overwritten inputs, 3 kernels", warm,
        [&] {
          Tensor y = x.copy().eval();
          Tensor s = sum(reshape(y, {6, 10}), {1});
          y = y + 1;
          return concat({y * 3, cumsum(s)});
        },
        all_of});
  test({"reductions, cold", cold,
        [&] {
          const Tensor m = reshape(x, {6, 10});
          return sum(m, {1}) + max(m, {1}) * mean(exp(m * -0.01f));
        },
        all_of});
  test({"a product, cold", cold,
        [&] {
          return matmul(reshape(x, {6, 10}), reshape(x, {10, 6})) * 0.5f;
        },
        all_of});
  {
    // What is kept of weights that stay: made by the first product, found by the second.
    Tensor w;
    const auto product = [&] {
      const Tensor scaled = cumsum(reshape(w, {6, 10}), 0);
      return matmul(reshape(x, {6, 10}), scaled.T()) + matmul(reshape(x, {6, 10}), reshape(w, {6, 10}).T());
    };
    test({"results that are kept", warm,
          [&] {
            w = (x + 1).eval();
            detail::mark_unchanging(w);
            return product();
          },
          [&](const Tensor& t) {
            Values v = all_of(t);
            const Values again = all_of(product());
            v.insert(v.end(), again.begin(), again.end());
            w = Tensor();
            return v;
          }});
    w = Tensor();
  }
  test({"more than one value", warm,
        [&] {
          const Tensor a = x * 2, b = a + 1, c = exp(b * 0.01f);
          eval(a, b, c);
          return a + b + c;
        },
        all_of});
  {
    // Intermediates that nobody reads are dropped after a few flushes; then they are needed late.
    Tensor a, b;
    const auto several = [&] {
      a = b = Tensor();
      a = x * 3 - 1;
      b = a * a;
      return Tensor(b + 2);
    };
    const auto learned = [&] {
      for (int i = 0; i < 20; ++i) several().eval();
      a = b = Tensor();
    };
    test({"values left out", learned, several, [&](const Tensor& t) {
            Values v = all_of(t);
            const Values late = all_of(a);
            v.insert(v.end(), late.begin(), late.end());
            a = b = Tensor();
            return v;
          }});
    a = b = Tensor();
  }
  test({"values from lists", warm,
        [&] {
          return tensor({1.0f, 2.0f, 3.0f}) * tensor({3.0f, 2.0f, 1.0f});
        },
        all_of});
  test({"memory of the user's", warm,
        [&] {
          static float mine[60];
          for (int i = 0; i < 60; ++i) mine[i] = static_cast<float>(i);
          return from_blob(mine, {60}, float32, {}, [](void*) {}) + x;
        },
        all_of});
  test({"printing", warm, chain, [](const Tensor& t) {
          std::ostringstream out;
          out.exceptions(std::ios::badbit);
          out << t;
          return all_of(t);
        }});
  test({"an explanation", cold, chain, [](const Tensor& t) {
          Values v;
          (void)to_string(explain([&] { v = all_of(t); }));
          return v;
        }});
  {
    const config::Override eager("LAZY_EAGER", "1");
    test({"op by op", warm, chain, all_of});
  }
  {
    const config::Override small("LAZY_MAX_GRAPH", "3");
    test({"a limit", warm, chain, all_of});
  }
  {
    const config::Override verify("LAZY_VERIFY", "on");
    test({"verified", warm, [&] { return x * 2 + 1; }, all_of});
  }
  {
    const config::Override log("LAZY_LOG", "all");
    logging::set_sink([](logging::Channel, std::string_view) {});
    test({"logged, cold", cold, chain, all_of});
    logging::set_sink({});
  }
  {
    const config::Override threads("LAZY_NUM_THREADS", "2");
    const Tensor big = arange(0, 300000, 1, float32).copy().eval(),
                 tall = reshape(big, {600, 500}).copy().eval();
    const auto few = [](const Tensor& t) { return all_of(t(slice(0, 5))); };
    test({"two threads", warm, [&] { return exp(big * -0.001f) + 1; }, few, true});
    test({"two threads, a sum", warm, [&] { return sum(big * 2) + x; }, few, true});
    test({"two threads, a product", warm, [&] { return matmul(tall.T(), tall)(0); }, few, true});
    test({"two threads, rows", warm,
          [&] { return reshape(exp(tall - max(tall, {1}, keepdims)) * 2, {300000}); }, few, true});
  }
  {
    const test::Folder folder;
    config::set("LAZY_CACHE_DIR", folder.path());
    config::set("LAZY_CACHE", "on");
    test({"from disk", cold, chain, all_of});
    test({"kept on disk", cold,
          [&] {
            static int size = 10;  // the graph differs each time
            Tensor y = x;
            for (int i = 0; i < size % 100; ++i) y = y * 1;
            size = size + 1;
            return y * 2 - x;
          },
          all_of});
    config::set("LAZY_CACHE", "off");
  }
  std::printf("%s\n", good ? "good" : "BAD");
  return good ? 0 : 1;
}
