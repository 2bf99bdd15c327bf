// Tests checkpoints that ranks write together: any number of ranks reads what any number wrote, rows are
// read alone, saves go on in the background, and one that fails or is killed leaves the one before.
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "lazy/distributed/collectives.hpp"
#include "lazy/lazy.hpp"
#include "lazy/training/sharded_folder.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using test::check;
using test::throws;
using training::Checkpoint;
using training::NamedRows;
using training::ShardedFolder;
namespace fs = std::filesystem;

namespace {

/// Returns this rank's rows of a value: [n rank / ranks, n (rank + 1) / ranks).
training::TensorRows own_rows(const Tensor& whole) {
  const int64_t n = whole.shape()[0], r = distributed::rank(), ranks = distributed::world_size();
  return {whole(slice(n * r / ranks, n * (r + 1) / ranks)).copy(), n * r / ranks, n};
}
Tensor numbers(int64_t rows, int64_t columns, float first) {
  return (arange(0, rows * columns, 1, float32) + first).reshape({rows, columns});
}
Checkpoint checkpoint(int64_t step) {
  const auto first = static_cast<float>(step);
  Checkpoint c(step);
  c.add("model", NamedTensors{{"weight", numbers(40, 3, first)},
                              {"bias", full({7}, first)},
                              {"half", full({5, 2}, first).astype(bfloat16)},
                              {"flags", numbers(4, 2, 0) > 3},
                              {"step", tensor(first)},
                              {"none", zeros({0, 3})},
                              {"narrow", zeros({3, 0})}});
  c.add_text("note", "step \"" + std::to_string(step) + "\"\n");
  c.add_rows("moments", NamedRows{{"weight", own_rows(numbers(10, 3, first + 100))},
                                  {"short", own_rows(numbers(2, 1, first + 7))}});
  c.add_rows("one", own_rows(numbers(9, 1, first)));
  return c;
}
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && (a.size() == 0 || all(a == b).item<bool>());
}
void check_is(const Checkpoint& c, int64_t step) {
  const auto first = static_cast<float>(step);
  check(c.step() == step, "the step");
  const NamedTensors model = c.tensors("model");
  check(model.size() == 7, "values of the model");
  check(same(model.at("weight"), numbers(40, 3, first)), "weight");
  check(same(model.at("bias"), full({7}, first)), "bias");
  check(same(model.at("half"), full({5, 2}, first).astype(bfloat16)), "half");
  check(same(model.at("flags"), numbers(4, 2, 0) > 3), "flags");
  check(same(model.at("step"), tensor(first)), "step");
  check(same(model.at("none"), zeros({0, 3})), "none");
  check(same(model.at("narrow"), zeros({3, 0})), "narrow");
  check(c.text("note") == "step \"" + std::to_string(step) + "\"\n", "note");
  check(same(c.tensors("moments").at("weight"), numbers(10, 3, first + 100)), "moments");
  check(same(c.tensor("one"), numbers(9, 1, first)), "one");
  check(c.shape("moments/short") == Shape{2, 1}, "shape");
  for (int64_t begin = 0; begin <= 10; ++begin)
    for (int64_t end = begin; end <= 10; ++end)
      check(same(c.rows("moments/weight", begin, end), numbers(10, 3, first + 100)(slice(begin, end))),
            "rows");
  check(same(c.rows("model/weight", 11, 13), numbers(40, 3, first)(slice(11, 13))), "rows of a whole value");
}
void save_by(int ranks, const std::string& folder, int64_t step, training::ShardedFolderOptions o = {}) {
  distributed::run_ranks(ranks, [&] {
    ShardedFolder all(folder, o);
    check(all.save(checkpoint(step)) == all.path(step), "the path");
  });
}
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(folder)) names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}
void damage(const std::string& path, std::streamoff from_end) {
  std::fstream f(path, std::ios::binary | std::ios::in | std::ios::out);
  f.seekg(-from_end, std::ios::end);
  const char c = static_cast<char>(f.get() ^ 1);
  f.seekp(-from_end, std::ios::end);
  f.put(c);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sharded)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_reads) {
  for (const int writers : {1, 3, 4}) {
    const test::Folder folder;
    save_by(writers, folder.path(), 12);
    const auto names = names_in(folder / "checkpoint-000000000012");
    BOOST_TEST(names.size() == static_cast<size_t>(writers) + 1);
    BOOST_TEST(names.front() == (writers == 4 ? "00001-of-00004.safetensors"
                                              : "00001-of-0000" + std::to_string(writers) + ".safetensors"));
    for (const int readers : {1, 2, 3, 4})
      distributed::run_ranks(readers, [&] {
        ShardedFolder all(folder.path());
        const auto c = all.newest();
        check(c.has_value(), "there is one");
        check_is(*c, 12);
      });
    check_is(Checkpoint::load(folder / "checkpoint-000000000012"), 12);
    // It is the same as one file.
    Checkpoint::load(folder / "checkpoint-000000000012").save(folder / "one");
    check_is(Checkpoint::load(folder / "one"), 12);
  }
}

BOOST_AUTO_TEST_CASE(the_share_of_each_is_even) {
  const test::Folder folder;
  distributed::run_ranks(4, [&] {
    Checkpoint c(1);
    for (int i = 0; i < 16; ++i) c.add("v" + std::to_string(i), full({1000 + 10 * i}, 1));
    ShardedFolder(folder.path()).save(c);
  });
  for (const std::string& name : names_in(folder / "checkpoint-000000000001")) {
    const auto size = fs::file_size(folder / ("checkpoint-000000000001/" + name));
    if (name.ends_with(".safetensors")) BOOST_TEST((size > 34000 && size < 36500), name << ": " << size);
  }
}

BOOST_AUTO_TEST_CASE(the_newest_remain_and_same_steps_are_replaced) {
  const test::Folder folder;
  for (const int64_t step : {1, 2, 3, 4}) save_by(2, folder.path(), step, {.keep = 2});
  BOOST_TEST(names_in(folder.path()) ==
                 (std::vector<std::string>{"checkpoint-000000000003", "checkpoint-000000000004"}),
             boost::test_tools::per_element());
  // By another number of ranks, and by as many again.
  for (const int ranks : {3, 3, 2, 1}) {
    save_by(ranks, folder.path(), 4, {.keep = 2});
    BOOST_TEST(names_in(folder / "checkpoint-000000000004").size() == static_cast<size_t>(ranks) + 1);
    check_is(Checkpoint::load(folder / "checkpoint-000000000004"), 4);
  }
}

BOOST_AUTO_TEST_CASE(in_the_background) {
  const test::Folder folder;
  distributed::run_ranks(3, [&] {
    ShardedFolder all(folder.path(), {.keep = 10, .asynchronous = true});
    Tensor w = full({1 << 16}, 1.0f).eval();
    for (int64_t step = 1; step <= 6; ++step) {
      all.save(Checkpoint(step).add("w", w).add("v", w * 2));
      w += 1;  // what is saved is what it was
      w.eval();
    }
    all.wait();
    all.wait();
    check(all.steps() == (std::vector<int64_t>{1, 2, 3, 4, 5, 6}), "all are there");
    for (int64_t step = 1; step <= 6; ++step) {
      const Checkpoint c = Checkpoint::load(all.path(step));
      check(same(c.tensor("w"), full({1 << 16}, static_cast<float>(step))), "w");
      check(same(c.tensor("v"), full({1 << 16}, 2 * static_cast<float>(step))), "v");
    }
    distributed::barrier();
    all.save(Checkpoint(7).add("w", w));  // the destructor waits for it
  });
  BOOST_TEST(ShardedFolder(folder.path()).steps().back() == 7);
}

BOOST_AUTO_TEST_CASE(a_rank_that_fails_is_told_to_all) {
  const test::Folder folder;
  save_by(3, folder.path(), 1);
  for (const bool background : {false, true})
    distributed::run_ranks(3, [&] {
      ShardedFolder all(folder.path(), {.asynchronous = background, .timeout = 20});
      const auto attempt = [&] {
        // A name that a safetensors file can't have: this rank's file fails.
        Checkpoint c(2);
        c.add("w", ones({4}));
        if (distributed::rank() == 1) c.add_rows("\xff", training::TensorRows{ones({1}), 0, 1});
        else c.add_rows("\xff", training::TensorRows{ones({0}), 0, 1});
        all.save(c);
        all.wait();
      };
      throws<Error>("UTF-8", attempt);
      const auto last = all.newest();
      check(last && last->step() == 1, "the one before");
      all.save(checkpoint(3));  // goes on
      all.wait();
      check(all.newest()->step() == 3, "and after");
      distributed::barrier();
      if (distributed::is_main_process()) fs::remove_all(all.path(3));
      distributed::barrier();
    });
}

BOOST_AUTO_TEST_CASE(ranks_that_differ) {
  const test::Folder folder;
  const auto attempt = [&](const std::string& said, const std::function<void(Checkpoint&)>& add) {
    distributed::run_ranks(2, [&] {
      ShardedFolder all(folder.path(), {.timeout = 20});
      throws<Error>(said, [&] {
        Checkpoint c(2);
        add(c);
        all.save(c);
      });
    });
    BOOST_TEST(ShardedFolder(folder.path()).steps().empty());
  };
  attempt("of 'x' ranks have row 1 not", [](Checkpoint& c) {
    c.add_rows("x", training::TensorRows{ones({1}), distributed::rank() ? 2 : 0, 4});
  });
  attempt("of 'x' ranks have row 1 twice", [](Checkpoint& c) {
    c.add_rows("x", training::TensorRows{ones({2}), distributed::rank() ? 1 : 0, 3});
  });
  attempt("of 'x' no rank has row 3", [](Checkpoint& c) {
    c.add_rows("x", training::TensorRows{ones({distributed::rank() ? 0 : 3}), 0, 4});
  });
  attempt("'other' is not there on all ranks",
          [](Checkpoint& c) { c.add("x", ones({9})).add(distributed::rank() ? "other" : "one", ones({3})); });
  // No other rank waits for what rank 0 can't begin.
  fs::remove_all(folder / "checkpoint-000000000002");
  std::ofstream(folder / "checkpoint-000000000002") << "a file";
  distributed::run_ranks(2, [&] {
    ShardedFolder all(folder.path(), {.timeout = 20});
    throws<Error>(distributed::rank() ? "another rank could not begin" : "cannot make",
                  [&] { all.save(Checkpoint(2).add("x", ones({1}))); });
  });
}

BOOST_AUTO_TEST_CASE(damaged_ones_are_passed_over_by_all) {
  for (const int readers : {1, 2, 3}) {
    const test::Folder folder;
    for (const int64_t step : {1, 2, 3, 4}) save_by(3, folder.path(), step, {.keep = 9});
    damage(folder / "checkpoint-000000000004/00002-of-00003.safetensors", 1);
    damage(folder / "checkpoint-000000000003/index.json", 40);
    fs::remove(folder / "checkpoint-000000000002/00003-of-00003.safetensors");
    distributed::run_ranks(readers, [&] {
      ShardedFolder all(folder.path());
      const auto c = all.newest();
      check(c && c->step() == 1, "the oldest is whole");
    });
    throws<IoError>("damaged", [&] { (void)Checkpoint::load(folder / "checkpoint-000000000004"); });
    throws<IoError>("missing", [&] { (void)Checkpoint::load(folder / "checkpoint-000000000002"); });
  }
}

// Each byte of an index has a part in its checksum.
BOOST_AUTO_TEST_CASE(changed_indices) {
  const test::Folder folder;
  save_by(2, folder.path(), 1);
  const std::string path = folder / "checkpoint-000000000001/index.json";
  std::string text;
  {
    std::ifstream in(path);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string other = text;
    for (int n = static_cast<int>(random() % 3); n >= 0; --n)
      other[random() % other.size()] = static_cast<char>(random());
    if (random() % 4 == 0) other.resize(random() % other.size());
    std::ofstream(path) << other;
    try {
      check_is(Checkpoint::load(folder / "checkpoint-000000000001"), 1);
    } catch (const Error&) { ++refused; }
  }
  BOOST_TEST(refused > 200);
}

BOOST_AUTO_TEST_CASE(killed_while_saving) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const test::Folder folder;
  const auto one = [](int64_t step) {
    return std::move(
        Checkpoint(step).add("w", full({200000}, static_cast<float>(step))).add("v", full({7}, step)));
  };
  { ShardedFolder(folder.path(), {.keep = 2}).save(one(0)); }
  int64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = test::fork_child();
    if (child == 0) {
      try {
        ShardedFolder all(folder.path(), {.keep = 2, .asynchronous = round % 2 == 0});
        for (int64_t step = all.newest()->step() + round % 3 / 2;; ++step) all.save(one(step));
      } catch (...) { _exit(3); }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_REQUIRE(WIFSIGNALED(status));
    ShardedFolder all(folder.path(), {.keep = 2});
    const auto newest = all.newest();
    BOOST_REQUIRE(newest);
    BOOST_TEST(newest->step() == all.steps().back());  // none that has an index is not whole
    BOOST_TEST(newest->step() >= last);
    last = newest->step();
    BOOST_TEST(same(newest->tensor("w"), full({200000}, static_cast<float>(last))));
  }
  BOOST_TEST_MESSAGE(last << " checkpoints");
  BOOST_TEST(last > 0);
  ShardedFolder(folder.path(), {.keep = 2}).save(one(last + 1));
  BOOST_TEST(folder.files().size() == 2u);
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const test::Folder folder;
  Checkpoint c(1);
  throws<ShapeError>("'x' has no axes", [&] { c.add_rows("x", training::TensorRows{tensor(1.0f), 0, 1}); });
  throws<IndexError>("'x' has 2 rows from 3 on, of 4", [&] {
    c.add_rows("x", training::TensorRows{ones({2}), 3, 4});
  });
  throws<Error>("'x' is an empty tensor", [&] { c.add_rows("x", training::TensorRows{{}, 0, 1}); });
  c.add_rows("x", training::TensorRows{ones({2}), 0, 4});
  throws<Error>("there is a part 'x'", [&] { c.add_rows("x", training::TensorRows{ones({2}), 0, 4}); });
  throws<Error>("of 'x' this has some rows", [&] { c.save(folder / "c"); });
  throws<Error>("of 'x' this has some rows", [&] { (void)c.tensor("x"); });
  throws<Error>("at least one checkpoint, not 0", [&] { ShardedFolder(folder.path(), {.keep = 0}); });
  throws<Error>("a step can't be negative", [&] { ShardedFolder(folder.path()).save(Checkpoint(-1)); });
  throws<IoError>("cannot make /dev/null/x", [&] { ShardedFolder("/dev/null/x"); });
  ShardedFolder all(folder.path());
  all.save(Checkpoint(1).add("x", ones({2, 2})));
  throws<IndexError>("rows: 1 to 3 of 'x', which is [2, 2]", [&] { (void)all.newest()->rows("x", 1, 3); });
}

BOOST_AUTO_TEST_SUITE_END()
