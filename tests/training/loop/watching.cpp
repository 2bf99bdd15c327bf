// Tests what shows how training goes: Progress, curves and event files.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "lazy/io/image.hpp"
#include "lazy/training/curves.hpp"
#include "lazy/training/event_writer.hpp"
#include "lazy/training/progress.hpp"
#include "lazy/training/tfrecord.hpp"
#include "tests/common/check.hpp"
#include "tests/common/child.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using namespace lazy::training;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads the fields of a message: of numbers their bits, of what has a length its bytes.
struct Field {
  int number;
  uint64_t bits = 0;
  std::string bytes;
};
std::vector<Field> fields_of(const std::string& m) {
  std::vector<Field> all;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const auto b = static_cast<uint8_t>(m.at(at++));
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
  };
  const auto word = [&](size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, m.substr(at, n).data(), n);
    at += n;
    return v;
  };
  while (at < m.size()) {
    const uint64_t tag = varint();
    Field f{static_cast<int>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0: f.bits = varint(); break;
      case 1: f.bits = word(8); break;
      case 5: f.bits = word(4); break;
      default: {
        const size_t n = varint();
        f.bytes = m.substr(at, n);
        at += n;
      }
    }
    all.push_back(f);
  }
  return all;
}
double real(uint64_t bits) { return std::bit_cast<double>(bits); }
const Field& field(const std::vector<Field>& all, int number) {
  for (const Field& f : all)
    if (f.number == number) return f;
  throw std::runtime_error("no field " + std::to_string(number));
}

/// Computes CRC-32C bit by bit, for comparison.
uint32_t slow_crc(const std::string& s) {
  uint32_t c = ~0u;
  for (const char b : s) {
    c ^= static_cast<uint8_t>(b);
    for (int i = 0; i < 8; ++i) c = (c & 1) ? (c >> 1) ^ 0x82f63b78u : c >> 1;
  }
  return ~c;
}
std::vector<std::string> records_of(const std::string& f) {
  std::vector<std::string> all;
  const auto u32 = [&](size_t at) {
    uint32_t v = 0;
    std::memcpy(&v, f.substr(at, 4).data(), 4);
    return v;
  };
  const auto masked = [](uint32_t c) { return ((c >> 15) | (c << 17)) + 0xa282ead8u; };
  for (size_t at = 0; at < f.size();) {
    uint64_t n = 0;
    std::memcpy(&n, f.substr(at, 8).data(), 8);
    BOOST_REQUIRE(at + 16 + n <= f.size());
    BOOST_TEST(u32(at + 8) == masked(slow_crc(f.substr(at, 8))));
    all.push_back(f.substr(at + 12, n));
    BOOST_TEST(u32(at + 12 + n) == masked(slow_crc(all.back())));
    at += 16 + n;
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watching)

BOOST_AUTO_TEST_CASE(checksums_of_records) {
  BOOST_TEST(training::detail::crc32c("123456789") == 0xe3069283u);  // RFC 3720's check value
  BOOST_TEST(training::detail::crc32c(std::string(32, '\0')) == 0x8a9136aau);
  BOOST_TEST(training::detail::crc32c("") == 0u);
}

BOOST_AUTO_TEST_CASE(event_files) {
  const test::Folder folder;
  EventWriter events(folder / "run");
  events.add_scalar("loss", 0.25, 0);
  events.add_scalar("loss", tensor(3) / 2, 1000000);
  events.add_histogram("w", tensor({-1.0f, 0.0f, 2.0f, 2.0f}), 3);
  const Tensor picture = reshape(arange(0, 24, 1, uint8), {2, 4, 3});
  events.add_image("x", picture, 4);
  EventWriter other(folder / "run");
  BOOST_TEST(events.path() != other.path());
  BOOST_TEST(events.path().find("/events.out.tfevents.") != std::string::npos);
  const auto records = records_of(contents(events.path()));
  BOOST_REQUIRE_EQUAL(records.size(), 5u);
  BOOST_TEST(field(fields_of(records[0]), 3).bytes == "brain.Event:2");
  const auto value_of = [&](size_t i) {
    return fields_of(field(fields_of(field(fields_of(records[i]), 5).bytes), 1).bytes);
  };
  BOOST_TEST(real(field(fields_of(records[1]), 1).bits) > 1.7e9);
  BOOST_TEST(field(fields_of(records[1]), 2).bits == 0u);
  BOOST_TEST(field(value_of(1), 1).bytes == "loss");
  BOOST_TEST(std::bit_cast<float>(static_cast<uint32_t>(field(value_of(1), 2).bits)) == 0.25f);
  BOOST_TEST(field(fields_of(records[2]), 2).bits == 1000000u);
  BOOST_TEST(std::bit_cast<float>(static_cast<uint32_t>(field(value_of(2), 2).bits)) == 1.5f);
  const auto histogram = fields_of(field(value_of(3), 5).bytes);
  const double expected[] = {-1, 2, 4, 3, 9};
  for (int i = 1; i <= 5; ++i) BOOST_TEST(real(field(histogram, i).bits) == expected[i - 1]);
  const std::string limits = field(histogram, 6).bytes, counts = field(histogram, 7).bytes;
  BOOST_TEST(limits.size() == counts.size());
  double sum = 0, before = -inf;
  for (size_t i = 0; i < limits.size(); i += 8) {
    double limit, count;
    std::memcpy(&limit, limits.data() + i, 8);
    std::memcpy(&count, counts.data() + i, 8);
    BOOST_TEST(limit > before);
    if (before < 2 && limit > 2) BOOST_TEST(count == 2);
    before = limit;
    sum += count;
  }
  BOOST_TEST(sum == 4);
  const auto image = fields_of(field(value_of(4), 4).bytes);
  BOOST_TEST(field(image, 1).bits == 2u);
  BOOST_TEST(field(image, 2).bits == 4u);
  BOOST_TEST(field(image, 3).bits == 3u);
  std::ofstream(folder / "x.png", std::ios::binary) << field(image, 4).bytes;
  check::same(read_png(folder / "x.png"), picture);
  THROWS(IoError, EventWriter("/dev/null/x"), "EventWriter: cannot make /dev/null/x: Not a directory");
  THROWS(
      DtypeError, events.add_image("x", ones({2, 2}), 1),
      "add_image: a picture is uint8 or uint16, not float32: of numbers from 0 to 1 (x * 255).astype(uint8) "
      "makes one");
}

// On a disk that is full for a while: what add_scalar() returned for is there to be read, and nothing else.
BOOST_AUTO_TEST_CASE(events_on_a_full_disk) {
  constexpr int kNoDisk = 77;
  const test::Folder folder;
  const pid_t child = test::fork_child();
  if (child == 0) {
    const auto disk = [&] {
      const uid_t user = getuid();
      if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        std::ofstream("/proc/self/uid_map") << "0 " << user << " 1" << std::flush;
      }
      return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    };
    if (!disk()) _exit(kNoDisk);
    try {
      std::ofstream(folder / "filler") << std::string(32768, 'x') << std::flush;
      EventWriter w(folder / "run");
      size_t written = 1, failed = 0;  // the first says the file's version
      for (int i = 0; i < 2000; ++i) {
        if (failed == 3) std::filesystem::remove(folder / "filler");
        try {
          w.add_scalar("loss", i, i), ++written;
        } catch (const IoError&) { ++failed; }
      }
      const std::string bytes = contents(w.path());
      size_t readable = 0, at = 0;
      for (uint64_t n = 0; at + 16 <= bytes.size(); at += 16 + n, ++readable) {
        std::memcpy(&n, &bytes[at], sizeof n);
        if (n > 1000) break;
      }
      _exit(failed >= 3 && written == readable && at == bytes.size() ? 0 : 1);
    } catch (...) { _exit(2); }
  }
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoDisk) BOOST_TEST_MESSAGE("no disk may be mounted here");
  else BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_CASE(curves_as_pictures) {
  const test::Folder folder;
  Curves curves("loss <of> & run");
  for (int i = 0; i <= 100; ++i) {
    curves.add("train", i, std::exp(-i * 0.05));
    curves.add("test", i, i == 50 ? check::NaN : 1 + std::exp(-i * 0.03));
  }
  BOOST_TEST(curves.points("train").size() == 101u);
  BOOST_TEST(curves.points("none").empty());
  curves.write_svg(folder / "c.svg");
  const std::string svg = contents(folder / "c.svg");
  BOOST_TEST(svg.starts_with("<svg xmlns="));
  BOOST_TEST(svg.ends_with("</svg>\n"));
  BOOST_TEST(svg.find("loss &lt;of&gt; &amp; run") != svg.npos);
  BOOST_TEST(svg.find("nan") == svg.npos);
  // Three curves of the two, since one has a gap; each also has a line in the legend.
  const auto lines = [&](const std::string& colour) {
    const std::regex line("stroke=\"" + colour);
    return std::distance(std::sregex_iterator(svg.begin(), svg.end(), line), std::sregex_iterator());
  };
  BOOST_TEST(lines("#0072b2") == 2);
  BOOST_TEST(lines("#d55e00") == 3);
  curves.write_png(folder / "c.png", {.width = 320, .height = 240});
  const Tensor x = read_png(folder / "c.png");
  BOOST_TEST((x.shape() == Shape{240, 320, 3}));
  check::same(x, curves.picture({.width = 320, .height = 240}));
  const Tensor blue = all(x == tensor({0, 114, 178}, uint8), {2});
  BOOST_TEST(sum(blue, {}, dropdims, int64).item<int>() > 100);
  // The curve falls: its pixels lie further down on the right.
  const auto height_of = [&](int64_t from, int64_t to) {
    const Tensor part = blue(_, slice(from, to)).astype(float32);
    return (sum(part * arange(240).astype(float32)(_, newaxis)) / sum(part)).item<double>();
  };
  BOOST_TEST(height_of(75, 110) < height_of(180, 220));
  THROWS(ShapeError, curves.write_svg(folder / "c.svg", {.width = 10}),
         "Curves: a picture has 200 to 8192 pixels on a side, not 10 x 420");
  THROWS(IoError, curves.write_svg("/nowhere/c.svg"),
         "write_svg: cannot write /nowhere/c.svg: No such file or directory");
  THROWS(IoError, curves.write_png("/nowhere/c.png"),
         "write_png: cannot write /nowhere/c.png: No such file or directory");
}

BOOST_AUTO_TEST_CASE(odd_curves) {
  for (const bool log : {false, true}) {
    BOOST_TEST((Curves().picture({.log_scale = log}).shape() == Shape{420, 720, 3}));
    for (const double v : {0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 5e-324, inf, check::NaN}) {
      Curves one;
      one.add("a", 0, v);
      one.add("a", v, v);
      one.add("a", -3, 1e308);
      BOOST_TEST(
          (one.picture({.width = 200, .height = 200, .log_scale = log}).shape() == Shape{200, 200, 3}));
    }
  }
}

BOOST_AUTO_TEST_CASE(progress_in_lines) {
  std::string shown;
  ProgressOptions options{.every = 5, .write = [&](std::string_view s) { shown += s; }};
  {
    Progress progress(20, "fit", options);
    for (int i = 1; i <= 20; ++i) {
      progress.update(full({1}, i * 0.5));
      BOOST_TEST(progress.loss() == (i < 5 ? 0.5 : i / 5 * 5 * 0.5));
    }
    BOOST_TEST(progress.step() == 20);
  }
  const std::string ends = "(\\.[0-9]+) steps/s  [0-9:]+( left)?\n";
  std::string all;
  for (int i = 1; i <= 10; ++i)
    all += "fit " + std::to_string(2 * i) + "/20  loss " +
           (i < 3    ? "0.5"
            : i < 5  ? "2.5"
            : i < 8  ? "5"
            : i < 10 ? "7.5"
                     : "10") +
           "  [0-9]+" + ends;
  BOOST_TEST(std::regex_match(shown, std::regex(all)), shown);
  shown.clear();
  Progress unknown(0, "", options);
  for (int i = 1; i <= 11; ++i) unknown.update(1.5);
  BOOST_TEST(
      std::regex_match(shown, std::regex("5  loss 1.5  [0-9]+" + ends + "10  loss 1.5  [0-9]+" + ends)),
      shown);
}

BOOST_AUTO_TEST_CASE(progress_on_a_terminal) {
  std::string shown;
  {
    Progress progress(4, "",
                      {.write = [&](std::string_view s) { shown += s; }, .terminal = ProgressOptions::yes});
    for (int i = 0; i < 4; ++i) progress.update(0.5);
  }
  BOOST_TEST(
      std::regex_match(
          shown,
          std::regex("\r\\[#{6}\\.{18}\\] 1/4  loss 0\\.5 .* left *\r\\[#{24}\\] 4/4  loss 0\\.5 .* *\n")),
      shown);
  BOOST_TEST(shown.find('\n') == shown.size() - 1);
}

BOOST_AUTO_TEST_CASE(a_line_stands_above_the_bar) {
  std::string shown;
  const auto write = [&](std::string_view s) { shown += s; };
  {
    Progress progress(4, "", {.write = write, .terminal = ProgressOptions::yes, .columns = 60});
    progress.say("first");
    progress.update(0.5);
    progress.say("second");
    progress.update(0.5);
  }
  // The bar is cleared, the line written, and the bar drawn below it.
  BOOST_TEST(
      std::regex_match(shown, std::regex("first\n\r[^\n\r]*1/4[^\n\r]*\r +\rsecond\n\r[^\n\r]*1/4[^\n]*\n")),
      shown);
  shown.clear();
  Progress lines(1, "", {.write = write, .terminal = ProgressOptions::no});
  lines.say("a line");
  BOOST_TEST(shown == "a line\n");
}

BOOST_AUTO_TEST_CASE(progress_fits_the_terminal) {
  for (const int columns : {200, 60, 40, 12, 1}) BOOST_TEST_CONTEXT(columns) {
      std::string shown;
      {
        Progress progress(4, "fit",
                          {.write = [&](std::string_view s) { shown += s; },
                           .terminal = ProgressOptions::yes,
                           .columns = columns});
        for (int i = 0; i < 4; ++i) progress.update(0.5);
      }
      for (size_t at = 0; (at = shown.find('\r', at)) != std::string::npos; ++at) {
        const size_t length = std::min(shown.find('\r', at + 1), shown.size() - 1) - at - 1;
        if (columns > 1) BOOST_TEST(length < static_cast<size_t>(columns), shown);
      }
      BOOST_TEST(shown.find("fit ") != std::string::npos);
      // The bar makes room first.
      if (columns >= 60) BOOST_TEST(shown.find("4/4  loss 0.5") != std::string::npos, shown);
    }
}

BOOST_AUTO_TEST_CASE(progress_runs_a_step_once) {
  Tensor w = zeros({8}), x = ones({4, 8}).copy().eval();
  Progress progress(0, "", {.every = 2, .write = [](std::string_view) {}});
  Metrics before{};
  for (int i = 0; i < 9; ++i) {
    if (i == 3) before = metrics();
    const auto [loss, g] = value_and_grad([&](const Tensor& v) { return mean(square(matmul(x, v) - 1)); })(w);
    w -= 0.1 / (i + 1) * g;
    progress.update(loss);
  }
  const Metrics after = metrics();
  BOOST_TEST(after.flushes - before.flushes == 6u);
  BOOST_TEST(after.program_misses == before.program_misses);
}

BOOST_AUTO_TEST_CASE(wrong_progress) {
  THROWS(Error, Progress(-1), "Progress: -1 steps");
  THROWS(Error, Progress(1, "", {.every = 0}), "Progress: the loss is looked at every 0 steps");
  Progress progress(3, "", {.write = [](std::string_view) {}});
  THROWS(ShapeError, progress.update(ones({2})), "update: a loss is one element, not [2]");
}

BOOST_AUTO_TEST_SUITE_END()
