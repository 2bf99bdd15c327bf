// Tests checkpoints: what they hold, going on bit for bit, files that are not whole, and programs that are
// killed while they write.
#include "lazy/training/checkpoint.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"
#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using training::Checkpoint;
using training::CheckpointFolder;

namespace {

/// Fits a line of many inputs, with dropout, momentum, and batches in random order: all that has a state.
struct Fit {
  Generator draws{5}, order{6};
  Tensor w = zeros({4}), velocity = zeros({4});
  Tensor x = randn(*std::make_unique<Generator>(1), {30, 4}).eval(), y = x(_, 0).copy().eval();
  data::DataLoader<data::TensorDataset> loader{
      data::TensorDataset(x, y), {.batch_size = 7, .shuffle = true, .workers = 1, .generator = &order}};

  NamedTensors state_dict() const { return {{"w", w}, {"velocity", velocity}}; }
  void load_state_dict(const NamedTensors& state) { w = state.at("w"), velocity = state.at("velocity"); }

  void step(const data::Batch& b) {
    const auto loss = [&](const Tensor& v) {
      return mean(square(matmul(dropout(draws, b.x, 0.2), v) - b.y));
    };
    const auto [value, g] = value_and_grad(loss)(w);
    velocity = velocity * 0.9 + g;
    w -= 0.05 * velocity;
    eval(value, w, velocity);
  }
  Checkpoint checkpoint(int64_t at) const {
    return std::move(
        Checkpoint(at).add("fit", *this).add("draws", draws).add("order", order).add("loader", loader));
  }
  void restore(const Checkpoint& c) {
    c.restore("fit", *this).restore("draws", draws).restore("order", order).restore("loader", loader);
  }
  /// Steps up to the step `end`; returns the checkpoint after step `keep`.
  std::optional<Checkpoint> run(int64_t from, int64_t end, int64_t keep = -1) {
    std::optional<Checkpoint> kept;
    for (int64_t at = from; at < end;)
      for (const data::Batch& b : loader) {
        step(b);
        if (++at == keep) kept = checkpoint(at);
        if (at == end) break;
      }
    return kept;
  }
};

void damage(const std::string& path, size_t at) {
  std::fstream f(path, std::ios::binary | std::ios::in | std::ios::out);
  f.seekg(static_cast<std::streamoff>(at));
  const char c = static_cast<char>(f.get() ^ 1);
  f.seekp(static_cast<std::streamoff>(at));
  f.put(c);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoints)

BOOST_AUTO_TEST_CASE(parts) {
  const test::Folder folder;
  Generator g(7);
  g.set_position(9);
  const data::LoaderState where{.epoch = 2, .batch = 3, .begun = true, .ticket = {4, 5}};
  Checkpoint c(12);
  c.add("x", tensor({1.5f, -2.0f})).add("model", NamedTensors{{"a.w", arange(3)}, {"b", tensor(true)}});
  c.add("g", g).add("where", where).add_text("note", "a \"b\"\n/");
  c.save(folder / "c");
  const Checkpoint r = Checkpoint::load(folder / "c");
  BOOST_TEST(r.step() == 12);
  check::equal(r.tensor("x"), float32, {2}, {1.5, -2});
  const NamedTensors model = r.tensors("model");
  BOOST_TEST(model.size() == 2u);
  check::equal(model.at("a.w"), int64, {3}, {0, 1, 2});
  check::equal(model.at("b"), bool_, {}, {1});
  Generator read;
  r.restore("g", read);
  BOOST_TEST(read.seed() == 7u);
  BOOST_TEST(read.position() == 9u);
  BOOST_TEST((data::LoaderState::from_tensor(r.tensor("where")) == where));
  BOOST_TEST(r.text("note") == "a \"b\"\n/");
  BOOST_TEST(!r.contains("y"));
  THROWS(IndexError, r.tensors("y"), "tensors: the checkpoint has no part 'y'");
  THROWS(IndexError, r.text("x"), "text: the checkpoint has no text 'x'");
  THROWS(Error, r.restore("x", read), "restore: 'x' is no generator's state, but [2] float32");
  THROWS(Error, c.add("x", ones({1})), "add: there is a part 'x' already");
  THROWS(Error, c.add("a/b", ones({1})), "add: the name of a part is not empty and has no slash: 'a/b'");
  THROWS(Error, c.add("z", Tensor()), "add: 'z' is an empty tensor");
  THROWS(IoError, c.save("/nowhere/c"), "save: cannot write /nowhere/c: No such file or directory");
  THROWS(IoError, Checkpoint::load("/nowhere"), "load: cannot open /nowhere: No such file or directory");
  save_safetensors(folder / "s", {{"x", ones({1})}});
  THROWS(IoError, Checkpoint::load(folder / "s"),
         "load: " + (folder / "s") + ": at byte 0: not a checkpoint: its metadata have no step and checksum");
}

BOOST_AUTO_TEST_CASE(goes_on_bit_for_bit) {
  const test::Folder folder;
  for (const int64_t at : {1, 4, 5, 8, 13}) BOOST_TEST_CONTEXT("after step " << at) {  // an epoch has five
      Fit whole;
      whole.run(0, 17, at)->save(folder / "c");
      Fit other;
      other.restore(Checkpoint::load(folder / "c"));
      other.run(at, 17);
      BOOST_TEST(other.w.to_vector<float>() == whole.w.to_vector<float>(), boost::test_tools::per_element());
      BOOST_TEST(other.velocity.to_vector<float>() == whole.velocity.to_vector<float>(),
                 boost::test_tools::per_element());
      BOOST_TEST(other.draws.position() == whole.draws.position());
      BOOST_TEST(other.order.position() == whole.order.position());
    }
}

BOOST_AUTO_TEST_CASE(errors_name_the_users_line) {
  const test::Folder folder;
  nn::Linear small(2, 2), large(3, 3);
  optim::SGD one(small.parameters(), {.lr = 0.1}), other(large.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::lr_scheduler::StepLR schedule(one, 3);
  Checkpoint(1).add("model", small).add("one", one).add("schedule", schedule).save(folder / "c");
  const Checkpoint c = Checkpoint::load(folder / "c");
  const auto line_of = [](auto&& restore) {
    try {
      restore();
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string("nothing was thrown");
  };
  for (const std::string& said :
       {line_of([&] { c.restore("model", large); }), line_of([&] { c.restore("one", small); }),
        line_of([&] { c.restore("model", other); }), line_of([&] { c.restore("model", schedule); })})
    BOOST_TEST((said.ends_with(")") && said.find("(checkpoint.cpp:") != said.npos), said);
}

BOOST_AUTO_TEST_CASE(the_last_ones_remain) {
  const test::Folder folder;
  const CheckpointFolder runs(folder / "a/b", {.keep = 2});
  BOOST_TEST(!runs.newest());
  for (const int64_t step : {5, 90, 1000, 7}) {
    const std::string path = runs.save(Checkpoint(step).add("step", tensor(static_cast<float>(step))));
    BOOST_TEST(path == runs.path(step));
    BOOST_TEST(std::filesystem::exists(path));
  }
  // A checkpoint older than those that are kept stays until the next is written.
  BOOST_TEST(runs.steps() == (std::vector<int64_t>{7, 90, 1000}), boost::test_tools::per_element());
  runs.save(Checkpoint(1001).add("step", tensor(1001.0f)));
  BOOST_TEST(runs.steps() == (std::vector<int64_t>{1000, 1001}), boost::test_tools::per_element());
  check::equal(runs.newest()->tensor("step"), float32, {}, {1001});
  THROWS(Error, CheckpointFolder(folder / "a", {.keep = 0}),
         "CheckpointFolder: it keeps at least one file, not 0");
  THROWS(Error, runs.save(Checkpoint(-1)), "save: a step can't be negative: -1");
  THROWS(IoError, CheckpointFolder("/dev/null/x"),
         "CheckpointFolder: cannot make /dev/null/x: Not a directory");
}

BOOST_AUTO_TEST_CASE(damaged_files_are_passed_over) {
  const test::Folder folder;
  const CheckpointFolder runs(folder.path());
  for (const int64_t step : {1, 2, 3}) runs.save(Checkpoint(step).add("w", full({100}, step)));
  const size_t size = std::filesystem::file_size(runs.path(3));
  damage(runs.path(3), size - 17);
  THROWS(IoError, Checkpoint::load(runs.path(3)),
         "load: " + runs.path(3) + ": at byte 0: damaged: its contents do not have their checksum");
  BOOST_TEST(runs.newest()->step() == 2);
  std::filesystem::resize_file(runs.path(2), size / 2);
  BOOST_TEST(runs.newest()->step() == 1);
  damage(runs.path(1), 20);
  BOOST_TEST(!runs.newest());
}

// What keeps a file from being read says nothing about its contents: an older one in its place would lose
// the steps between in silence.
BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_not_passed_over) {
  const test::Folder folder;
  const CheckpointFolder runs(folder.path());
  for (const int64_t step : {1, 2}) runs.save(Checkpoint(step));
  std::filesystem::create_symlink(runs.path(3), runs.path(3));
  THROWS(IoError, runs.newest(),
         "newest: cannot open " + runs.path(3) + ": Too many levels of symbolic links");
  std::filesystem::remove(runs.path(3));
  std::filesystem::create_directory(runs.path(3));
  THROWS(IoError, runs.newest(), "newest: cannot read " + runs.path(3) + ": Is a directory");
  std::filesystem::remove(runs.path(3));
  std::filesystem::create_symlink(folder / "nowhere", runs.path(3));  // as one removed since it was listed
  BOOST_TEST(runs.newest()->step() == 2);
  if (geteuid() != 0) {  // root may read all
    std::filesystem::permissions(runs.path(2), std::filesystem::perms::none);
    THROWS(IoError, runs.newest(), "newest: cannot open " + runs.path(2) + ": Permission denied");
  }
}

BOOST_AUTO_TEST_CASE(the_checksum_is_of_all) {
  const test::Folder folder;
  const std::string path = folder / "c";
  const auto contents = [](const Checkpoint& c) {
    return std::to_string(c.step()) + c.text("note") + to_string(c.tensor("w").shape()) +
           std::to_string(c.tensors("model").at("a").item<float>());
  };
  Checkpoint(1700)
      .add("w", arange(4, float32))
      .add("model", NamedTensors{{"a", tensor(3.0f)}})
      .add_text("note", "lr=0.1")
      .save(path);
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string saved = contents(Checkpoint::load(path));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    std::ofstream(path, std::ios::binary) << other;
    try {
      if (contents(Checkpoint::load(path)) != saved)
        BOOST_ERROR("bit " << bit << " was flipped, and the file loads as something else");
    } catch (const Error&) {}
  }
}

BOOST_AUTO_TEST_CASE(older_files_have_a_checksum_of_tensors) {
  const test::Folder folder;
  const std::map<std::string, std::string> metadata{{"lazy.step", "17"},
                                                    {"lazy.checksum", "13235600536931902374"},
                                                    {"lazy.part.w", "tensor"},
                                                    {"lazy.part.note", "text:lr=0.1"}};
  save_safetensors(folder / "c", {{"w", arange(4, float32)}}, metadata);
  const Checkpoint c = Checkpoint::load(folder / "c");
  BOOST_TEST(c.step() == 17);
  BOOST_TEST(c.text("note") == "lr=0.1");
  check::equal(c.tensor("w"), float32, {4}, {0, 1, 2, 3});
  save_safetensors(folder / "c", {{"w", arange(5, float32)}}, metadata);
  THROWS(IoError, Checkpoint::load(folder / "c"),
         "load: " + (folder / "c") + ": at byte 0: damaged: its contents do not have their checksum");
}

BOOST_AUTO_TEST_CASE(what_killed_programs_left_is_removed) {
  const test::Folder folder;
  const pid_t gone = test::fork_child();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  char host[256] = {};
  BOOST_REQUIRE(gethostname(host, sizeof host - 1) == 0);
  const auto part = [&](const std::string& of, const std::string& where, pid_t process) {
    return folder / (of + ".part-" + where + "-" + std::to_string(process) + "-0");
  };
  const std::string file = "checkpoint-000000000001.safetensors";
  const std::string dead = part(file, host, gone), alive = part(file, host, getpid()),
                    other = part("x", host, gone), elsewhere = part(file, "another-host", gone);
  for (const std::string& path : {dead, alive, other, elsewhere}) std::ofstream(path) << "x";
  const CheckpointFolder runs(folder.path());
  BOOST_TEST(!std::filesystem::exists(dead));
  BOOST_TEST(std::filesystem::exists(alive));
  BOOST_TEST(std::filesystem::exists(other));
  BOOST_TEST(std::filesystem::exists(elsewhere));
  BOOST_TEST(runs.steps().empty());
}

BOOST_AUTO_TEST_CASE(killed_while_writing) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const test::Folder folder;
  const auto checkpoint = [](int64_t step) {
    return std::move(
        Checkpoint(step).add("w", full({300000}, static_cast<float>(step))).add("v", full({7}, step)));
  };
  { CheckpointFolder(folder.path(), {.keep = 2}).save(checkpoint(0)); }
  int64_t last = 0;
  int unfinished = 0;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = test::fork_child();
    if (child == 0) {
      try {
        const CheckpointFolder runs(folder.path(), {.keep = 2});
        for (int64_t step = runs.newest()->step() + 1;; ++step) runs.save(checkpoint(step));
      } catch (...) { _exit(3); }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_REQUIRE(WIFSIGNALED(status));
    for (const std::string& name : folder.files()) unfinished += name.find(".part-") != name.npos;
    const CheckpointFolder runs(folder.path(), {.keep = 2});
    const std::vector<int64_t> steps = runs.steps();
    const auto newest = runs.newest();
    BOOST_REQUIRE(newest);
    BOOST_TEST(newest->step() == steps.back());  // none that has its name is not whole
    BOOST_TEST(newest->step() >= last);
    last = newest->step();
    BOOST_TEST(all(newest->tensor("w") == static_cast<float>(last)).item<bool>());
    check::equal(newest->tensor("v"), int64, {7}, std::vector<double>(7, static_cast<double>(last)));
  }
  BOOST_TEST_MESSAGE(last << " checkpoints, " << unfinished << " times one was being written");
  BOOST_TEST(last > 0);
  // Old ones that killed programs had no time to remove go with the next.
  CheckpointFolder(folder.path(), {.keep = 2}).save(checkpoint(last + 1));
  BOOST_TEST(folder.files().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
