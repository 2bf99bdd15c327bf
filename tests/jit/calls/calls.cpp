// Tests calls: ops that are not loop nests, with some that only this test registers.
#include "jit/built_in/registry.hpp"
#include "jit/calls/call.hpp"

#include <thread>

#include "jit/graph/record.hpp"
#include "lazy/insight/insight.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/fresh.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;
using fresh::contains;
using fresh::numbers;
using fresh::Override;
using jit::CallDefinition;
using jit::CallOutput;
using jit::CallRun;
using jit::CallSpec;
using jit::Meta;

namespace {

// Counts what the calls did, for the tests to read.
std::atomic<int> runs{0};
std::vector<int> noted;
bool saw_null[2];
bool refuses = false;

const float* input(const CallRun& r, size_t i) { return reinterpret_cast<const float*>(r.in[i]); }

/// Defines five operands of one shape: their sum, and (int64) which is the largest.
std::vector<CallOutput> infer_five(const CallSpec&, std::span<const Meta> m) {
  if (m.size() != 5) throw ShapeError("five: five operands are needed");
  for (const Meta& o : m)
    if (!(o.shape == m[0].shape)) throw ShapeError("five: shapes differ");
  return {CallOutput::like(0, m[0], float32), CallOutput::like(2, m[2], int64)};
}
void run_five(const CallRun& r) {
  ++runs;
  saw_null[0] = !r.out[0];
  saw_null[1] = !r.out[1];
  for (int64_t i = 0; i < numel(r.operands[0].shape); ++i) {
    float sum = 0;
    int64_t largest = 0;
    for (size_t k = 0; k < 5; ++k) {
      sum += input(r, k)[i];
      if (input(r, k)[i] > input(r, static_cast<size_t>(largest))[i]) largest = static_cast<int64_t>(k);
    }
    if (r.out[0]) reinterpret_cast<float*>(r.out[0])[i] = sum;
    if (r.out[1]) reinterpret_cast<int64_t*>(r.out[1])[i] = largest;
  }
}
constinit const CallDefinition five{
    .name = "test.five", .traits = jit::call_trait::kNoThrow, .infer = infer_five, .run = run_five};

/// Defines a call that notes its attribute, and returns its operand if it has one.
std::vector<CallOutput> infer_note(const CallSpec&, std::span<const Meta> m) {
  if (m.empty()) return {};
  return {CallOutput::like(0, m[0], m[0].dtype)};
}
void run_note(const CallRun& r) {
  noted.push_back(r.spec.as<int32_t>());
  if (!r.operands.empty() && r.out[0])
    std::memcpy(r.out[0], r.in[0], static_cast<size_t>(numel(r.operands[0].shape)) * 4);
}
int stream_of(const CallSpec& s) { return s.as<int32_t>() >= 100; }
constinit const CallDefinition note{.name = "test.note",
                                    .traits = jit::call_trait::kEffect | jit::call_trait::kVaries,
                                    .infer = infer_note,
                                    .run = run_note,
                                    .stream = stream_of};

/// Defines a call that fills the shape of its operand with the number of its runs.
std::vector<CallOutput> infer_draw(const CallSpec&, std::span<const Meta> m) {
  return {CallOutput::like(0, m[0], float32)};
}
void run_draw(const CallRun& r) {
  ++runs;
  std::fill_n(reinterpret_cast<float*>(r.out[0]), numel(r.operands[0].shape), static_cast<float>(runs));
}
constinit const CallDefinition draw{.name = "test.draw",
                                    .traits = jit::call_trait::kNoRecompute | jit::call_trait::kVaries,
                                    .infer = infer_draw,
                                    .run = run_draw};

/// Defines a call that returns its operand, with work memory, in place where possible; throws while
/// `refuses`.
size_t work_of_same(const CallSpec&, std::span<const Meta> m) {
  return static_cast<size_t>(numel(m[0].shape)) * 4;
}
void run_same(const CallRun& r) {
  ++runs;
  const size_t bytes = static_cast<size_t>(numel(r.operands[0].shape)) * 4;
  BOOST_REQUIRE_GE(r.workspace_bytes, bytes);
  if (refuses) throw IndexError("same: refused", r.site);
  if (!r.out[0]) return;
  std::memcpy(r.workspace, r.in[0], bytes);
  std::memcpy(r.out[0], r.workspace, bytes);
}
int operand_in_place(const CallSpec&, int) { return 0; }
constinit const CallDefinition same{.name = "test.same",
                                    .infer = infer_draw,
                                    .run = run_same,
                                    .workspace = work_of_same,
                                    .in_place = operand_in_place};
constinit const CallDefinition calm{.name = "test.calm",
                                    .traits = jit::call_trait::kNoThrow,
                                    .infer = infer_draw,
                                    .run = run_same,
                                    .workspace = work_of_same,
                                    .in_place = operand_in_place};

/// Defines an exchange that returns its operand, and throws while its peer is gone.
bool peer_is_gone = false;
void run_exchange(const CallRun& r) {
  ++runs;
  if (peer_is_gone) throw DeviceError("exchange: the peer is gone", r.site);
  if (r.out[0]) std::memcpy(r.out[0], r.in[0], static_cast<size_t>(numel(r.operands[0].shape)) * 4);
}
constinit const CallDefinition exchange{
    .name = "test.exchange",
    .traits = jit::call_trait::kEffect | jit::call_trait::kMayPass | jit::call_trait::kNoThrow,
    .infer = infer_draw,
    .run = run_exchange};
constinit const CallDefinition standing_exchange{
    .name = "test.standing_exchange",
    .traits = jit::call_trait::kEffect | jit::call_trait::kNoThrow,
    .infer = infer_draw,
    .run = run_exchange};

std::vector<Tensor> call(const CallSpec& spec, const std::vector<Tensor>& operands,
                         Site s = Site::current()) {
  std::vector<const jit::Handle*> handles;
  for (const Tensor& t : operands) handles.push_back(&t.handle());
  std::vector<Tensor> out;
  for (jit::Handle& h : jit::record_call(spec, handles, s)) out.emplace_back(std::move(h));
  return out;
}
std::vector<Tensor> call(const CallDefinition& d, const std::vector<Tensor>& operands,
                         Site s = Site::current()) {
  return call(jit::intern_call(d, std::string_view()), operands, s);
}
void tell(int32_t what, Site s = Site::current()) { call(jit::intern_call(note, what), {}, s); }

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }
std::vector<int64_t> longs(const Tensor& t) { return t.to_vector<int64_t>(); }

struct Calls : fresh::Fixture {
  Calls() {
    for (const CallDefinition* d : {&five, &note, &draw, &same, &calm, &exchange, &standing_exchange})
      jit::register_call(*d);
    jit::run_effects(Site::current());  // effects of an earlier test
    runs = 0;
    noted.clear();
    refuses = peer_is_gone = false;
  }
};

/// Returns five operands made in five ways from a matrix.
std::vector<Tensor> operands_of(const Tensor& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  return {x * 2 + 1, transpose(x).copy().T(), broadcast_to(tensor(3.5f), x.shape()),
          x.reshape({rows * columns}).reshape(x.shape()),
          astype(arange(columns), float32) + zeros(x.shape())};
}
void check_five(const Tensor& x) {
  const std::vector<Tensor> in = operands_of(x);
  std::vector<std::vector<float>> values;
  const std::vector<Tensor> out = call(five, in);
  const Tensor after = out[0] * 2 + x;
  const std::vector<float> sums = floats(out[0]), more = floats(after), xs = floats(x);
  const std::vector<int64_t> largest = longs(out[1]);
  for (const Tensor& t : in) values.push_back(floats(t));
  for (size_t i = 0; i < sums.size(); ++i) {
    float sum = 0;
    size_t at = 0;
    for (size_t k = 0; k < 5; ++k) {
      sum += values[k][i];
      if (values[k][i] > values[at][i]) at = k;
    }
    BOOST_TEST(sums[i] == sum);
    BOOST_TEST(more[i] == sum * 2 + xs[i]);
    BOOST_TEST(largest[i] == static_cast<int64_t>(at));
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(calls, Calls)

BOOST_AUTO_TEST_CASE(five_operands_and_two_outputs) {
  for (const Shape& s : {Shape{3, 5}, Shape{7, 2}, Shape{0, 4}, Shape{40, 31}}) check_five(numbers(s));
  reset_metrics();
  check_five(numbers({9, 11}));
  BOOST_TEST(metrics().calls == 1u);
  BOOST_TEST(metrics().program_misses == 0u);  // no size is part of the program
  check_five(numbers({1, 6}));                 // but extents of 1 are part of it
  check_five(numbers({4, 4}).T());
  check_five(numbers({6, 8})(slice(0, 6, 2), slice(7, -9, -1)));
}

BOOST_AUTO_TEST_CASE(outputs_that_nobody_reads) {
  const Tensor x = numbers({4, 3});
  const Tensor first = call(five, operands_of(x))[0];
  floats(first);
  BOOST_TEST(!saw_null[0]);
  BOOST_TEST(saw_null[1]);
  const Tensor second = call(five, operands_of(x))[1];
  longs(second);
  BOOST_TEST(saw_null[0]);
  BOOST_TEST(!saw_null[1]);
  runs = 0;
  (void)call(five, operands_of(x));
  (x + 1).eval();
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(equal_calls_are_one) {
  const Tensor x = numbers({4, 3});
  const std::vector<Tensor> in = operands_of(x);
  const Tensor y = call(five, in)[0] + call(five, in)[0];
  const std::vector<float> twice = floats(y);
  BOOST_TEST(runs == 1);
  BOOST_TEST((twice == floats(call(five, in)[0] * 2)));
  runs = 0;
  const Tensor a = call(draw, {x})[0], b = call(draw, {x})[0];
  BOOST_TEST((a + b).to_vector<float>()[0] == 3);
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(effects_run_in_order_though_nobody_reads_them) {
  tell(1);
  tell(2);
  tell(3);
  BOOST_TEST(noted.empty());
  jit::run_effects(Site::current());
  BOOST_TEST((noted == std::vector{1, 2, 3}));
  jit::run_effects(Site::current());
  tell(4);
  BOOST_TEST(noted.size() == 3u);
  const Tensor x = numbers({3});
  const Tensor passed = call(jit::intern_call(note, int32_t{5}), {x * 2})[0];
  tell(101);
  tell(6);
  BOOST_TEST((floats(passed + 1) == std::vector{3.f, 5.f, 7.f}));  // with all of its stream
  BOOST_TEST((noted == std::vector{1, 2, 3, 4, 5, 6}));
  jit::run_effects(Site::current());
  BOOST_TEST((noted == std::vector{1, 2, 3, 4, 5, 6, 101}));
}

BOOST_AUTO_TEST_CASE(many_effects_in_one_flush) {
  std::vector<int> wanted;
  for (int i = 0; i < 99; ++i) tell(i), wanted.push_back(i);
  jit::run_effects(Site::current());
  BOOST_TEST((noted == wanted));
  noted.clear();
  const Override limit("LAZY_MAX_GRAPH", "20");
  for (int i = 0; i < 99; ++i) tell(i);
  jit::run_effects(Site::current());
  BOOST_TEST((noted == wanted));
}

BOOST_AUTO_TEST_CASE(what_throws_leaves_all_as_it_was) {
  Tensor x = numbers({5});
  tell(1);
  const Tensor y = call(jit::intern_call(note, int32_t{2}), {x + 1})[0];
  refuses = true;
  const int line = __LINE__ + 1;
  Tensor z = call(same, {y * 2})[0];
  z = z + x;
  for (int attempt = 0; attempt < 2; ++attempt) try {
      z.eval();
      BOOST_ERROR("nothing was thrown");
    } catch (const IndexError& e) { BOOST_TEST(static_cast<int>(e.where().line()) == line); }
  BOOST_TEST((noted == std::vector{1, 2}));  // once, though the flush failed twice
  BOOST_TEST((floats(y) == std::vector{2.f, 3.f, 4.f, 5.f, 6.f}));
  refuses = false;
  tell(3);
  BOOST_TEST((floats(z) == std::vector{5.f, 8.f, 11.f, 14.f, 17.f}));
  jit::run_effects(Site::current());
  BOOST_TEST((noted == std::vector{1, 2, 3}));
}

// An index out of range elsewhere in the flush: what can be computed is, and each effect runs once.
BOOST_AUTO_TEST_CASE(effects_run_once_though_an_index_is_wrong) {
  const Tensor at = tensor({1, 7}).eval();
  for (const bool first : {true, false}) {
    noted.clear(), runs = 0;
    const Tensor x = numbers({5}) * 1;  // pending, so that all is one flush
    Tensor wrong;
    if (first) wrong = take(x, at);
    tell(1);
    const Tensor passed = call(jit::intern_call(note, int32_t{2}), {x * 3})[0], drawn = call(draw, {x})[0];
    if (!first) wrong = take(x * 2, at);
    const Tensor y = passed + drawn;
    BOOST_TEST((floats(y) == std::vector{4.f, 7.f, 10.f, 13.f, 16.f}));
    BOOST_TEST((noted == std::vector{1, 2}));
    BOOST_TEST(runs == 1);
    BOOST_CHECK_THROW(wrong.eval(), IndexError);
    jit::run_effects(Site::current());
    BOOST_TEST((noted == std::vector{1, 2}));
    BOOST_TEST(runs == 1);
  }
}

// An effect must not see what an index out of range left where a value should be. Its stream has come to an
// end: it is a thread's of its own here.
BOOST_AUTO_TEST_CASE(an_effect_does_not_run_on_what_an_index_out_of_range_gave) {
  int thrown = 0;
  std::vector<float> rest;
  std::thread([&] {
    const Tensor x = numbers({5}) * 1, wrong = take(x, tensor({1, 7})) + 1, other = x * 2;
    const Tensor passed = call(jit::intern_call(note, int32_t{3}), {wrong})[0];
    tell(4);
    for (int i = 0; i < 2; ++i) try {
        passed.eval();
      } catch (const IndexError&) { ++thrown; }
    rest = floats(other);
  }).join();
  BOOST_TEST(thrown == 2);
  BOOST_TEST((rest == std::vector{2.f, 4.f, 6.f, 8.f, 10.f}));
  BOOST_TEST(noted.empty());
}

/// Returns the message of the error that a value's evaluation throws; an empty one if it throws none.
std::string failure_of(const Tensor& t) {
  try {
    t.eval();
  } catch (const Error& e) { return e.what(); }
  return {};
}

// Each of eight exchanged values is read once: a flush keeps one or two of them at a time.
BOOST_AUTO_TEST_CASE(outputs_that_may_pass_give_their_memory) {
  constexpr int64_t kCount = 1 << 18;
  const auto bytes = [&](const CallDefinition& d) {
    std::vector<Tensor> sums;
    Tensor last = tensor(0.0f);
    for (int i = 0; i < 8; ++i) {  // each waits for the one before
      last = sum(call(d, {broadcast_to(last, {kCount})})[0] * 0 + 1);
      sums.push_back(last);
    }
    const uint64_t before = metrics().bytes_live;
    reset_metrics();
    jit::run_effects(Site::current());
    BOOST_TEST(floats(sums[7])[0] == kCount);
    return metrics().bytes_peak - before;
  };
  BOOST_TEST(bytes(standing_exchange) >= 8 * kCount * 4u);
  BOOST_TEST(bytes(exchange) < 5 * kCount * 4u);
  const Override verify("LAZY_VERIFY", "on");  // which compares with what passed
  BOOST_TEST(bytes(exchange) >= 8 * kCount * 4u);
}

// What has passed is lost if the flush fails after it. The call doesn't run again, and the program goes on.
BOOST_AUTO_TEST_CASE(what_has_passed_is_lost_if_the_flush_fails) {
  refuses = true;
  const Tensor x = numbers({5}) * 1;
  const Tensor fails = call(same, {call(exchange, {x})[0] * 3})[0];
  BOOST_TEST(contains(failure_of(fails), "refused"));
  refuses = false;
  for (int i = 0; i < 2; ++i) BOOST_TEST(contains(failure_of(fails), "was not kept"), failure_of(fails));
  BOOST_TEST(runs == 2);
  BOOST_TEST((floats(call(exchange, {x * 2})[0]) == std::vector{2.f, 4.f, 6.f, 8.f, 10.f}));
  BOOST_TEST(runs == 3);

  const Tensor passed = call(exchange, {x * 4})[0], kept = passed + 1,
               wrong = take(passed * 2, tensor({1, 7}));
  BOOST_TEST((floats(kept) == std::vector{5.f, 9.f, 13.f, 17.f, 21.f}));  // its user has it: it stands
  BOOST_TEST(contains(failure_of(wrong), "out of"), failure_of(wrong));
  BOOST_TEST(runs == 4);
}

// A call that may only fail for what nothing can be begun anew after lets inputs be overwritten before it.
BOOST_AUTO_TEST_CASE(a_peer_that_is_gone_costs_what_was_overwritten) {
  peer_is_gone = true;
  std::string first, again, fresh;
  std::thread([&] {  // its stream ends with it
    Tensor x = numbers({64, 64}) + 1;
    x.eval();
    reset_metrics();
    x = cumsum(x * 2, 0);
    const Tensor y = x + call(exchange, {cumsum(x, 1)})[0];
    x = Tensor();
    first = failure_of(y), again = failure_of(y);
    peer_is_gone = false;
    fresh = failure_of(numbers({3}) + 1);
  })
      .join();
  BOOST_TEST(contains(first, "the peer is gone"), first);
  BOOST_TEST(!again.empty());
  BOOST_TEST(fresh.empty(), fresh);
}

// Effects of one number keep their order on each device.
BOOST_AUTO_TEST_CASE(a_thread_that_ends_warns_of_effects_that_never_ran) {
  std::thread([] { tell(7); }).join();
  jit::run_effects(Site::current());
  BOOST_TEST(noted.empty());  // no other thread runs them
}

BOOST_AUTO_TEST_CASE(no_input_is_overwritten_before_the_last_step_that_may_throw) {
  const auto make = [](const CallDefinition& d) {
    Tensor x = numbers({64, 64});
    x += 1;
    x.eval();
    x = x * 2;  // in place of x
    const Tensor y = call(d, {cumsum(x, 0)})[0];
    x = x + y;
    return x;
  };
  reset_metrics();
  const std::vector<float> wanted = floats(make(calm));
  BOOST_TEST(metrics().bytes_donated > 0u);
  refuses = true;
  const Tensor x = make(same);
  BOOST_CHECK_THROW(x.eval(), IndexError);
  refuses = false;
  BOOST_TEST((floats(x) == wanted));
}

BOOST_AUTO_TEST_CASE(a_dying_operand_gives_its_memory_to_the_output) {
  const Tensor x = numbers({128, 8});
  for (const CallDefinition* d : {&calm, &same}) {
    reset_metrics();
    const Tensor y = call(*d, {cumsum(x, 0)})[0];
    BOOST_TEST((floats(y) == floats(cumsum(x, 0))));
    BOOST_TEST(metrics().bytes_donated == 128u * 8 * 4);
  }
  reset_metrics();
  const Tensor kept = cumsum(x, 0);
  BOOST_TEST((floats(call(calm, {kept})[0]) == floats(kept)));
  BOOST_TEST(metrics().bytes_donated == 0u);
}

BOOST_AUTO_TEST_CASE(never_computed_twice) {
  const Override bytes("LAZY_LIVENESS_BYTES", "1");
  const Tensor x = numbers({4096});
  for (int i = 0; i < 20; ++i) {
    const int before = runs;
    const Tensor drawn = call(draw, {x})[0], named = drawn * 2 + x;
    const Tensor y = sum(named);
    y.eval();
    BOOST_TEST(runs == before + 1);
    if (i % 3) continue;
    BOOST_TEST(floats(named)[0] == static_cast<float>(runs) * 2 + 1);
    BOOST_TEST(floats(drawn)[9] == static_cast<float>(runs));
    BOOST_TEST(runs == before + 1);
  }
}

BOOST_AUTO_TEST_CASE(eager_and_verified) {
  {
    const Override eager("LAZY_EAGER", "1");
    check_five(numbers({4, 6}));
    tell(7);
    BOOST_TEST(noted.size() == 1u);
  }
  const Override verify("LAZY_VERIFY", "1");
  reset_metrics();
  check_five(numbers({4, 6}));
  const Tensor x = numbers({8});
  const Tensor drawn = call(draw, {x + 1})[0] + x;
  const std::vector<float> got = floats(drawn);
  BOOST_TEST(got[1] == static_cast<float>(runs) + 2);
  BOOST_TEST(metrics().verify_runs > 1u);
  BOOST_TEST(metrics().verify_failures == 0u);
  tell(8);
  jit::run_effects(Site::current());
  BOOST_TEST(noted.size() == 2u);
}

BOOST_AUTO_TEST_CASE(reports_name_it) {
  const Tensor x = numbers({4, 3});
  jit::FlushListener listener;
  floats(call(five, operands_of(x))[0] + 1);
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  std::string texts;
  for (const std::string& t : listener.flushes[0].kernel_texts) texts += t + "\n";
  BOOST_TEST(contains(texts, "call_test.five_calls.cpp_"), texts);
  BOOST_TEST(contains(texts, "call test.five, "), texts);
  const Explanation e = explain([&] { longs(call(five, operands_of(numbers({4, 1})))[1]); });
  BOOST_TEST(contains(to_string(e), "call_test.five"), to_string(e));
}

BOOST_AUTO_TEST_CASE(kept_on_disk_by_name_and_attributes, *test::needs("a backend that stores programs", [] {
                       return !jit::backend_of(jit::default_device(Site{}), Site{}).target().empty();
                     })) {
  const test::Folder folder;
  const Override dir("LAZY_CACHE_DIR", folder.path()), on("LAZY_CACHE", "on");
  const auto make = [] {
    const Tensor x = numbers({6, 5}) * 1;
    const Tensor y = call(five, operands_of(x))[0] - x;
    tell(9);
    return floats(call(jit::intern_call(note, int32_t{11}), {y})[0] + 1);
  };
  const std::vector<float> wanted = make();
  BOOST_TEST(metrics().disk_writes > 0u);
  for (const char* verify : {"off", "on"}) {
    const Override check("LAZY_CACHE_VERIFY", verify);
    noted.clear();
    cache::clear();
    reset_metrics();
    BOOST_TEST((make() == wanted));
    BOOST_TEST((noted == std::vector{9, 11}));
    BOOST_TEST(metrics().program_misses == 0u);
    BOOST_TEST(metrics().disk_hits > 0u);
  }
}

BOOST_AUTO_TEST_CASE(what_a_call_does_not_take) {
  const Tensor x = numbers({3});
  BOOST_CHECK_THROW(call(five, {x, x}), ShapeError);
  try {
    call(five, {x, x, x, x, numbers({4})});
    BOOST_ERROR("nothing was thrown");
  } catch (const ShapeError& e) { BOOST_TEST(e.where().line() != 0u); }
  static constinit const CallDefinition impostor{.name = "test.five", .infer = infer_five};
  BOOST_CHECK_THROW(jit::register_call(impostor), Error);
  const std::string long_one(70000, 'x');
  BOOST_CHECK_THROW(jit::intern_call(five, std::string_view(long_one)), Error);
}

BOOST_AUTO_TEST_CASE(many_operands) {
  const Tensor x = numbers({2, 3});
  std::vector<Tensor> parts;
  for (int i = 0; i < 300; ++i) parts.push_back(i % 3 ? x : x + i);
  const Tensor joined = concat(parts);
  const std::vector<float> v = floats(joined);
  for (int i = 0; i < 300; ++i)
    for (size_t k = 0; k < 6; ++k)
      BOOST_TEST(v[static_cast<size_t>(i) * 6 + k] ==
                 static_cast<float>(k + 1) + static_cast<float>(i % 3 ? 0 : i));
}

BOOST_AUTO_TEST_CASE(on_several_threads) {
  const Tensor x = numbers({16, 3}) * 1;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto [values, indices] = sort(x * -1, 0);
        wrong += floats(values)[0] != -46 || longs(indices)[0] != 15;
      }
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
