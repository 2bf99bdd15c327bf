// Runs random programs, fused and op by op: equal to the bit on one backend, with any sizes and settings; and
// the second run with other sizes and scalars compiles nothing.
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>

#include "jit/flush/flush.hpp"
#include "jit/key/report.hpp"
#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"
#include "tests/differential/isas.hpp"
#include "tests/differential/random_graph.hpp"

namespace {

using namespace random_graph;
using lazy::config::Override;

// Adapts rapidcheck's shrinking to our candidates.
rc::Shrinkable<Program> shrinkable(Program p) {
  return rc::shrinkable::shrinkRecur(std::move(p),
                                     [](const Program& q) { return rc::seq::fromContainer(simpler(q)); });
}

rc::Gen<Program> programs(bool exact_only) {
  return rc::Gen<Program>([exact_only](const rc::Random& random, int size) {
    rc::Random r = random;
    const uint64_t seed = r.next();
    return shrinkable(generate(seed, 3 + size % 30, exact_only));
  });
}

struct Result {
  std::vector<Output> outputs;
  std::vector<int64_t> signature;
  std::vector<lazy::jit::FlushReport> flushes;
  bool blobs = false;
};

Result run(const Program& p, Inputs in, bool eager, bool listen = false) {
  const Override mode("LAZY_EAGER", eager ? "1" : "0");
  std::optional<lazy::jit::FlushListener> listener;
  if (listen) listener.emplace();  // explaining misses takes time
  Machine m(p, in);
  Result r;
  r.outputs = m.run();
  if (!m.blobs_untouched()) throw std::runtime_error("memory of the user's was written to");
  r.signature = m.signature();
  r.blobs = m.has_blobs();
  if (listen) r.flushes = std::move(listener->flushes);
  return r;
}

bool has_half(const Program& p) {
  for (const Statement& s : p.statements)
    if (lazy::is_half(s.dtype)) return true;
  return false;
}

// True for a miss that a program of the same key may have: its inputs have another layout.
bool about_layout(const std::string& miss) {
  for (const char* kind : {"contiguous", "unit_stride", "broadcast", "collapsible", "stride_32bit"})
    if (miss.starts_with(std::string("guard ") + kind)) return true;
  return false;
}

std::string check(const Program& p, bool may_recompile) {
  // If a program has learnt not to store a value that another one needs, that is compiled again.
  const Override keep("LAZY_LIVENESS", may_recompile ? "adaptive" : "keep");
  Isas::instance().use(p.isa % Isas::instance().count());
  const Inputs first{false, 1}, other_scalars{false, 2}, other_sizes{true, 3};
  const Result a = run(p, first, false);
  if (std::string d = difference(a.outputs, run(p, first, true).outputs); !d.empty())
    return "fused and eager: " + d;
  const Result again = run(p, other_scalars, false, true);
  if (std::string d = difference(again.outputs, run(p, other_scalars, true).outputs); !d.empty())
    return "other values, fused and eager: " + d;
  const Result sizes = run(p, other_sizes, false, true);
  if (std::string d = difference(sizes.outputs, run(p, other_sizes, true).outputs); !d.empty())
    return "other sizes, fused and eager: " + d;
  if (may_recompile) return {};
  for (const Result* r : {&again, &sizes}) {
    if (r->signature != a.signature) continue;
    for (const auto& f : r->flushes)
      if (!f.hit && !about_layout(f.miss))
        return std::string(r == &again ? "other values" : "other sizes") + " compiled anew: " + f.miss;
  }
  return {};
}

// With LAZY_TEST_FORK=1 each program runs in a separate process, so that one that crashes can be shrunk, too.
using Check = std::function<std::string(const Program&)>;
std::string check_apart(const Program& p, const Check& check) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = lazy::test::fork_child();
  if (child == 0) {
    for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) signal(number, SIG_DFL);
    std::string wrong;
    try {
      wrong = check(p);
    } catch (const std::exception& e) { wrong = std::string("threw: ") + e.what(); }
    _exit(write(ends[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string wrong;
  char part[4096];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) wrong.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) wrong += "died of signal " + std::to_string(WTERMSIG(status));
  return wrong;
}

int cases(int otherwise) {
  return static_cast<int>(lazy::test::asked_cases(static_cast<uint64_t>(otherwise)));
}

void drive_each(const char* name, int count, const Check& check) {
  const uint64_t seed = lazy::test::asked_seed();
  std::cout << name << ": LAZY_TEST_SEED=" << seed << " LAZY_TEST_CASES=" << count << std::endl;
  const bool apart = lazy::test::number_from("LAZY_TEST_FORK", 0) != 0;
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = count;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  std::string kind;
  const auto property = [&] {
    const Program p = *programs(false);
    std::optional<Override> exact;
    // 16-bit floats are rounded after every op that runs alone: only with exact casts does fusing change
    // nothing.
    if (has_half(p)) exact.emplace("LAZY_EXACT_CASTS", "1");
    const auto attempt = [&] {
      try {
        return apart ? check_apart(p, check) : check(p);
      } catch (const std::exception& e) { return std::string("threw: ") + e.what(); }
    };
    if (kind.empty()) {
      const std::string wrong = attempt();
      if (wrong.empty()) return;
      kind = wrong.substr(0, 12);
      std::cout << wrong << "\n" << p << std::endl;
      if (!lazy::test::asked_to_shrink()) BOOST_FAIL(name << ": " << wrong);
    }
    // Other programs in the cache may matter; a shorter program must fail without them, in the same way.
    lazy::jit::clear_program_cache();
    const std::string wrong = attempt();
    if (wrong.starts_with(kind)) RC_FAIL(wrong);
  };
  const auto result = rc::detail::checkTestable(property, metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) {
    BOOST_TEST(kind.empty(), "a program failed, but only after others: see above ("
                                 << kind << "...), LAZY_TEST_SEED=" << seed);
    return;
  }
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  BOOST_ERROR(name << " with LAZY_TEST_SEED=" << seed << "\n" << text.str());
}

void drive(const char* name, int count, bool may_recompile) {
  drive_each(name, count, [=](const Program& p) { return check(p, may_recompile); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_graphs)

BOOST_AUTO_TEST_CASE(fused_equals_eager) { drive("fused_equals_eager", cases(2000), false); }

BOOST_AUTO_TEST_CASE(with_a_tiny_graph_limit) {
  const Override limit("LAZY_MAX_GRAPH", "5");
  drive("with_a_tiny_graph_limit", cases(300), true);
}

BOOST_AUTO_TEST_CASE(block_by_block) {
  const Override block("LAZY_BLOCK_BYTES", "64"), threads("LAZY_NUM_THREADS", "3");
  drive("block_by_block", cases(600), true);
}

// What is computed of inputs that stay is there in the second run.
std::string check_kept(const Program& p) {
  Isas::instance().use(p.isa % Isas::instance().count());
  for (const bool second_sizes : {false, true}) {
    const Result expected = run(p, {second_sizes, 1}, true);
    std::vector<lazy::Tensor> inputs;
    for (int i = 0; i < 3; ++i)
      if (std::string d = difference(run(p, {second_sizes, 1, &inputs}, false).outputs, expected.outputs);
          !d.empty())
        return "run " + std::to_string(i) + " with inputs that stay: " + d;
  }
  return {};
}
BOOST_AUTO_TEST_CASE(with_inputs_that_stay) {
  const uint64_t reused = lazy::metrics().results_reused;
  drive_each("with_inputs_that_stay", cases(500), check_kept);
  BOOST_TEST(lazy::metrics().results_reused > reused);
}
BOOST_AUTO_TEST_CASE(with_inputs_that_stay_block_by_block) {
  const Override block("LAZY_BLOCK_BYTES", "64"), threads("LAZY_NUM_THREADS", "3"), few("LAZY_KEEP_MB", "1");
  drive_each("with_inputs_that_stay_block_by_block", cases(300), check_kept);
}

BOOST_AUTO_TEST_CASE(with_programs_per_shape) {
  const Override dynamic("LAZY_DYNAMIC", "never");
  drive("with_programs_per_shape", cases(300), true);
}

BOOST_AUTO_TEST_CASE(with_the_most_general_program) {
  const Override dynamic("LAZY_DYNAMIC", "never"), limit("LAZY_RECOMPILE_LIMIT", "1");
  drive("with_the_most_general_program", cases(300), true);
}

// Loads from disk what this process compiled, as another process would: no kernel is compiled again, no bit
// differs.
std::string check_from_disk(const Program& p) {
  const Override keep("LAZY_LIVENESS", "keep");
  Isas::instance().use(1 + p.isa % std::max(1, Isas::instance().count() - 1));
  const Inputs first{false, 1}, other_sizes{true, 3};
  lazy::cache::clear();
  const Result a = run(p, first, false), b = run(p, other_sizes, false);
  lazy::cache::clear();
  const uint64_t compiled = lazy::metrics().kernels_compiled;
  const Result c = run(p, first, false), d = run(p, other_sizes, false);
  if (lazy::metrics().kernels_compiled != compiled) return "compiled again what was on disk";
  if (std::string w = difference(a.outputs, c.outputs); !w.empty()) return "compiled and loaded: " + w;
  if (std::string w = difference(b.outputs, d.outputs); !w.empty())
    return "compiled and loaded, other sizes: " + w;
  return {};
}

// Runs often enough for programs to learn what they need not store, then reads everything late: in order, and
// once more with what has been learnt from that.
std::string check_adaptive(const Program& p) {
  Isas::instance().use(p.isa % Isas::instance().count());
  lazy::cache::clear();
  const Inputs in{(p.isa & 1) != 0, 5};
  const auto outputs = [&](bool eager, const std::function<bool(int)>& looked_at) {
    const Override mode("LAZY_EAGER", eager ? "1" : "0");
    Machine m(p, in);
    std::vector<Output> read = m.run(looked_at);
    if (!m.blobs_untouched()) throw std::runtime_error("memory of the user's was written to");
    return read;
  };
  const auto few = [](int r) { return r % 5 == 4; };
  const auto half = [](int r) { return r % 2 == 0; };
  const auto all = [](int) { return true; };
  const std::vector<Output> eager = outputs(true, all);
  const auto compare = [&](const char* when, const std::function<bool(int)>& looked_at) {
    std::vector<Output> expected = eager;
    std::erase_if(expected, [&](const Output& o) { return !looked_at(o.reg); });
    std::vector<Output> got = outputs(false, looked_at);
    std::erase_if(got, [&](const Output& o) { return !looked_at(o.reg); });
    const std::string d = difference(got, expected);
    return d.empty() ? d : when + (": " + d);
  };
  for (int i = 0; i < 6; ++i)
    if (std::string d = compare("few values read", few); !d.empty()) return d;
  for (int i = 0; i < 5; ++i)
    if (std::string d = compare("half of the values read", half); !d.empty()) return d;
  for (int i = 0; i < 3; ++i)
    if (std::string d = compare("all values read", all); !d.empty()) return d;
  return {};
}

BOOST_AUTO_TEST_CASE(adaptive_liveness) {
  const Override smallest("LAZY_LIVENESS_BYTES", "0");
  const uint64_t before = lazy::metrics().values_dropped, late = lazy::metrics().late_values;
  drive_each("adaptive_liveness", cases(400), check_adaptive);
  std::cout << lazy::metrics().values_dropped - before << " values left out, "
            << lazy::metrics().late_values - late << " needed after all" << std::endl;
  BOOST_TEST(lazy::metrics().values_dropped > before + 100);
  BOOST_TEST(lazy::metrics().late_values > late);
}

BOOST_AUTO_TEST_CASE(from_disk) {
  if (lazy::cpu_backend::best_isa() == lazy::cpu_backend::Isa::reference) return;
  const lazy::test::Folder folder;
  const Override on("LAZY_CACHE", "on"), where("LAZY_CACHE_DIR", folder.path());
  drive_each("from_disk", cases(300), check_from_disk);
}

BOOST_AUTO_TEST_SUITE_END()
