// Tests DataLoader: what batches have, in which order, whatever the number of workers; errors; going on in
// the middle of an epoch.
#include "lazy/data/loader.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "tests/common/check.hpp"
#include "tests/common/child.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using data::DataLoader;

namespace {

/// Has the number of each example as x, and its square as y.
struct Squares {
  int64_t n;
  int64_t size() const { return n; }
  data::Example get(int64_t i) const {
    if (i % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // workers overtake each other
    return {i, static_cast<float>(i * i)};
  }
};

template <class Loader>
std::vector<std::vector<int64_t>> epoch_of(Loader& loader) {
  std::vector<std::vector<int64_t>> all;
  for (const auto& [x, y] : loader) {
    const auto i = x.template to_vector<int64_t>();
    const auto squares = y.template to_vector<float>();
    BOOST_REQUIRE_EQUAL(i.size(), squares.size());
    for (size_t k = 0; k < i.size(); ++k) BOOST_TEST(squares[k] == static_cast<float>(i[k] * i[k]));
    all.push_back(i);
  }
  return all;
}

struct Faulty {
  int64_t bad;
  int64_t size() const { return 40; }
  int64_t get(int64_t i) const {
    if (i == bad) throw IoError("get: example " + std::to_string(i) + " is damaged");
    return i;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(data_loader)

BOOST_AUTO_TEST_CASE(batches_in_order) {
  DataLoader loader(Squares{7}, {.batch_size = 3});
  BOOST_TEST(loader.size() == 3);
  BOOST_TEST((epoch_of(loader) == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}}));
  BOOST_TEST((epoch_of(loader) == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}}));
  DataLoader whole(Squares{7}, {.batch_size = 3, .drop_last = true});
  BOOST_TEST(whole.size() == 2);
  BOOST_TEST((epoch_of(whole) == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}}));
  DataLoader none(Squares{0}, {.batch_size = 3, .workers = 2});
  BOOST_TEST(epoch_of(none).empty());
}

BOOST_AUTO_TEST_CASE(order_does_not_depend_on_workers) {
  std::vector<std::vector<std::vector<int64_t>>> first;
  for (const int workers : {0, 1, 2, 5}) BOOST_TEST_CONTEXT(workers << " workers") {
      Generator g(11);
      DataLoader loader(
          Squares{101},
          {.batch_size = 8, .shuffle = true, .workers = workers, .prefetch = 3, .generator = &g});
      std::vector<std::vector<std::vector<int64_t>>> epochs;
      for (int e = 0; e < 3; ++e) epochs.push_back(epoch_of(loader));
      BOOST_TEST((epochs[0] != epochs[1]));
      std::vector<int64_t> all;
      for (const auto& b : epochs[1]) all.insert(all.end(), b.begin(), b.end());
      std::sort(all.begin(), all.end());
      BOOST_TEST(all.size() == 101u);
      for (size_t i = 0; i < all.size(); ++i) BOOST_TEST(all[i] == static_cast<int64_t>(i));
      if (first.empty()) first = epochs;
      BOOST_TEST((epochs == first));
      BOOST_TEST(g.position() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(errors_of_workers) {
  for (const int workers : {0, 2}) BOOST_TEST_CONTEXT(workers << " workers") {
      DataLoader loader(Faulty{21}, {.batch_size = 4, .workers = workers});
      int batches = 0;
      const auto walk = [&](auto& all) {
        for (const Tensor& x : all) batches += x.size() == 4;
      };
      const int line = __LINE__ - 2;
      check::throws<IoError>([&] { walk(loader); }, "get: example 21 is damaged", line);
      BOOST_TEST(batches == 5);
      BOOST_TEST(loader.state().batch == 5u);
      batches = 0;
      for (const Tensor& x : loader) {
        batches += x.size() == 4;
        if (batches == 5) break;
      }
      BOOST_TEST(batches == 5);
    }
}

BOOST_AUTO_TEST_CASE(other_exceptions) {
  struct Odd {
    int64_t size() const { return 9; }
    int64_t get(int64_t i) const { return i == 4 ? throw std::out_of_range("odd") : i; }
  };
  DataLoader loader(Odd{}, {.batch_size = 2, .workers = 3});
  BOOST_CHECK_THROW(for (const Tensor& x : loader) x.eval(), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(leaving_in_the_middle) {
  std::atomic<int> calls{0};
  struct Counting {
    std::atomic<int>* calls;
    int64_t size() const { return 100000; }
    int64_t get(int64_t i) const { return ++*calls, i; }
  };
  DataLoader loader(Counting{&calls}, {.batch_size = 10, .workers = 3, .prefetch = 2});
  for (int round = 0; round < 20; ++round) {
    calls = 0;
    int64_t seen = 0;
    for (const Tensor& x : loader)
      if (seen += x.size(); seen == 50) break;
    // Threads have ended: what was made ahead is bounded.
    BOOST_TEST(calls.load() <= 50 + 10 * (3 * 2 + 1));
    const int before = calls.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_TEST(calls.load() == before);
  }
  auto outer = loader.begin();
  auto inner = loader.begin();  // ends the other
  BOOST_TEST((++outer == loader.end()));
  BOOST_TEST((inner != loader.end()));
}

BOOST_AUTO_TEST_CASE(goes_on_where_it_was) {
  Generator g(3);
  const auto options = [](Generator& generator, int workers) {
    return data::LoaderOptions{.batch_size = 4, .shuffle = true, .workers = workers, .generator = &generator};
  };
  DataLoader whole(Squares{18}, options(g, 0));
  std::vector<data::LoaderState> states{whole.state()};
  std::vector<uint64_t> positions{g.position()};
  std::vector<std::vector<int64_t>> all;
  for (int e = 0; e < 3; ++e)
    for (const auto& [x, y] : whole) {
      all.push_back(x.to_vector<int64_t>());
      g.advance();  // as a draw of the step would
      states.push_back(data::LoaderState::from_tensor(whole.state().to_tensor()));
      positions.push_back(g.position());
      BOOST_TEST((states.back() == whole.state()));
    }
  BOOST_TEST(all.size() == 15u);
  BOOST_TEST(states[7].epoch == 1u);
  BOOST_TEST(states[7].batch == 2u);
  BOOST_TEST(states[10].epoch == 2u);
  BOOST_TEST(!states[10].begun);
  for (size_t from = 0; from < states.size(); ++from) BOOST_TEST_CONTEXT("after batch " << from) {
      Generator again(3);
      again.set_position(positions[from]);
      DataLoader loader(Squares{18}, options(again, from % 2 ? 2 : 0));
      loader.load_state(states[from]);
      size_t at = from;
      for (uint64_t e = states[from].epoch; e < 3; ++e)
        for (const auto& [x, y] : loader) {
          BOOST_REQUIRE(at < all.size());
          BOOST_TEST(x.to_vector<int64_t>() == all[at++], boost::test_tools::per_element());
          again.advance();
        }
      BOOST_TEST(at == all.size());
      BOOST_TEST(again.position() == g.position());
    }
}

// The state has what later orders depend on: nobody has to keep the generator beside it.
BOOST_AUTO_TEST_CASE(its_state_is_enough) {
  const auto check = [](auto&& make) {
    auto whole = make();
    epoch_of(whole);
    std::optional<data::LoaderState> middle;
    std::vector<std::vector<int64_t>> expected;
    for (int e = 0; e < 3; ++e)
      for (const auto& [x, y] : whole) {
        if (middle) expected.push_back(x.template to_vector<int64_t>());
        else middle = data::LoaderState::from_tensor(whole.state().to_tensor());
      }
    auto other = make();
    other.load_state(*middle);
    std::vector<std::vector<int64_t>> got;
    for (int e = 0; e < 3; ++e)
      for (const auto& batch : epoch_of(other)) got.push_back(batch);
    BOOST_TEST((got == expected));
  };
  const Generator before = default_generator();
  check([] {
    manual_seed(11);
    return DataLoader(Squares{18}, {.batch_size = 4, .shuffle = true});
  });
  default_generator() = before;
  std::vector<std::unique_ptr<Generator>> own;
  const auto made = [&]() -> Generator& { return *own.emplace_back(std::make_unique<Generator>(5)); };
  check([&] {
    return DataLoader(Squares{18}, {.batch_size = 4,
                                    .sampler = std::make_shared<data::WeightedRandomSampler>(
                                        std::vector<double>(18, 1.0), 18, made())});
  });
  check([] {
    return DataLoader(Squares{18}, {.batch_size = 4,
                                    .sampler = std::make_shared<data::DistributedSampler>(
                                        18, 0, 2, data::DistributedOptions{.seed = 3})});
  });
  // States of before had no generator's: it stays as it is.
  Generator g(9);
  g.set_position(4);
  DataLoader loader(Squares{18}, {.batch_size = 4, .shuffle = true, .generator = &g});
  loader.load_state(data::LoaderState::from_tensor(from_span(std::vector<uint64_t>{2, 1, 1, 9, 0})));
  BOOST_TEST(g.position() == 4u);
  BOOST_TEST(epoch_of(loader).size() == 4u);
}

// A child has none of its parent's threads, and may be forked while they are at a batch.
BOOST_AUTO_TEST_CASE(forked_in_a_loop) {
  for (const bool leaves : {false, true}) BOOST_TEST_CONTEXT("the child leaves the loop: " << leaves) {
      DataLoader loader(Squares{100}, {.batch_size = 3, .shuffle = true, .workers = 3});
      std::vector<int64_t> seen;
      pid_t child = -1;
      for (const auto& [x, y] : loader) {
        for (const int64_t i : x.to_vector<int64_t>()) seen.push_back(i);
        if (seen.size() == 9) child = test::fork_child();
        if (child == 0) alarm(60);
        if (child == 0 && leaves) break;
      }
      if (child == 0) {
        if (leaves) {
          seen.clear();
          for (const auto& [x, y] : loader)  // the next epoch, by threads of its own
            for (const int64_t i : x.to_vector<int64_t>()) seen.push_back(i);
        }
        std::sort(seen.begin(), seen.end());
        bool all = seen.size() == 100;
        for (size_t i = 0; all && i < seen.size(); ++i) all = seen[i] == static_cast<int64_t>(i);
        _exit(all ? 0 : 1);
      }
      BOOST_TEST(seen.size() == 100u);
      int status = 0;
      waitpid(child, &status, 0);
      BOOST_TEST(status == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_loop_that_was_left_is_not_resumed_by_itself) {
  DataLoader loader(Squares{6}, {.batch_size = 2});
  for (const auto& batch : loader) {
    BOOST_TEST(batch.x.size() == 2);
    break;
  }
  const data::LoaderState left = loader.state();
  BOOST_TEST(left.batch == 1u);
  BOOST_TEST(epoch_of(loader).size() == 3u);
  BOOST_TEST(loader.state().epoch == 2u);
  loader.load_state(left);
  BOOST_TEST((epoch_of(loader) == std::vector<std::vector<int64_t>>{{2, 3}, {4, 5}}));
}

BOOST_AUTO_TEST_CASE(loading_records_nothing) {
  const Tensor x = reshape(arange(0, 60, 1, float32), {20, 3}).eval();
  DataLoader loader(data::TensorDataset(x, arange(20)), {.batch_size = 6, .shuffle = true, .workers = 2});
  const Tensor pending = x + 1;
  const auto before = metrics();
  int batches = 0;
  for (const auto& [inputs, labels] : loader)
    batches += inputs.shape() == Shape{6, 3} && labels.dtype() == int64;
  BOOST_TEST(batches == 3);
  const auto after = metrics();
  BOOST_TEST(after.nodes_recorded == before.nodes_recorded);
  BOOST_TEST(after.flushes == before.flushes);
  check::equal(pending(0), float32, {3}, {1, 2, 3});
}

BOOST_AUTO_TEST_CASE(wrong_options) {
  THROWS(ShapeError, DataLoader(Squares{4}, {.batch_size = 0}),
         "DataLoader: a batch has at least one example, not 0");
  THROWS(ShapeError, DataLoader(Squares{4}, {.workers = -1}), "DataLoader: -1 workers");
  THROWS(ShapeError, DataLoader(Squares{4}, {.prefetch = 0}), "DataLoader: 0 batches ahead for each worker");
  THROWS(ShapeError, data::LoaderState::from_tensor(zeros({4}, uint64)),
         "from_tensor: a loader's state has shape [8] or [6], not [4]");
  THROWS(DtypeError, data::LoaderState::from_tensor(zeros({5})),
         "from_tensor: a loader's state is uint64, not float32");
  DataLoader loader(Squares{4});
  loader.load_state({.batch = 9, .begun = true});
  THROWS(IndexError, loader.begin(), "DataLoader: its state says batch 9, an epoch has 4");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(collating)

BOOST_AUTO_TEST_CASE(by_type) {
  struct Many {
    int64_t size() const { return 4; }
    auto get(int64_t i) const {
      return std::tuple(i, std::pair(static_cast<float>(i), i % 2 == 0),
                        std::vector<int32_t>(2, static_cast<int>(i)), std::array<double, 2>{1, 0.5},
                        full({2, 1}, i));
    }
  };
  DataLoader loader(Many{}, {.batch_size = 3});
  const auto it = loader.begin();
  const auto& [i, pair, list, array, tensors] = *it;
  check::equal(i, int64, {3}, {0, 1, 2});
  check::equal(pair.first, float32, {3}, {0, 1, 2});
  check::equal(pair.second, bool_, {3}, {1, 0, 1});
  check::equal(list, int32, {3, 2}, {0, 0, 1, 1, 2, 2});
  check::equal(array, float64, {3, 2}, {1, 0.5, 1, 0.5, 1, 0.5});
  check::equal(tensors, int64, {3, 2, 1}, {0, 0, 1, 1, 2, 2});
}

BOOST_AUTO_TEST_CASE(by_a_function) {
  struct Word {
    std::string text;
  };
  struct Words {
    int64_t size() const { return 3; }
    Word get(int64_t i) const { return {std::string(static_cast<size_t>(i + 1), 'a')}; }
  };
  const auto lengths = [](const std::vector<Word>& words) {
    std::vector<int64_t> n;
    for (const Word& w : words) n.push_back(static_cast<int64_t>(w.text.size()));
    return from_span(n);
  };
  DataLoader loader(Words{}, {.batch_size = 2, .workers = 1}, lengths);
  check::equal(*loader.begin(), int64, {2}, {1, 2});
}

BOOST_AUTO_TEST_CASE(examples_that_differ) {
  struct Growing {
    int64_t size() const { return 3; }
    std::vector<float> get(int64_t i) const { return std::vector<float>(static_cast<size_t>(i + 1)); }
  };
  DataLoader loader(Growing{}, {.batch_size = 3, .workers = 1});
  THROWS(ShapeError, loader.begin(),
         "stack: example 1 of the batch is [2] float32, the first one [1] float32");
  THROWS(DtypeError, data::stack(std::vector<data::Array>{1.0f, 1}),
         "stack: example 1 of the batch is [] int64, the first one [] float32");
  THROWS(ShapeError, data::stack({}), "stack: no arrays");
}

BOOST_AUTO_TEST_CASE(a_loop_that_waits_for_its_batches_is_told) {
  struct Slow {
    int64_t size() const { return 80; }
    data::Example get(int64_t i) const {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return {i, 1.0f};
    }
  };
  unsigned line = 0;
  std::string text = fresh::standard_error_of([&] {
    DataLoader loader(Slow{}, {});
    line = __LINE__ + 1;
    for (const auto& batch : loader) (void)batch;
  });
  BOOST_TEST(fresh::contains(text, "the loop over a DataLoader at loader.cpp:" + std::to_string(line)), text);
  BOOST_TEST(fresh::contains(text, "{.workers = 1}"), text);
  // Steps take longer than batches, and batches that take no time.
  text = fresh::standard_error_of([&] {
    DataLoader busy(Slow{}, {.workers = 4});
    DataLoader quick(Squares{100}, {});
    for (const auto& batch : busy) (void)batch, std::this_thread::sleep_for(std::chrono::milliseconds(6));
    for (const auto& batch : quick) (void)batch, std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_SUITE_END()
