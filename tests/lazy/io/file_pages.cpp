// Tests that pages of files are given back where another form of what lies there is kept, and are read again.
#include "support/file_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "lazy/lazy.hpp"
#include "tests/common/folder.hpp"
#include "tests/lazy/io/files.hpp"

using namespace lazy;
using config::Override;

namespace {

/// Returns how many bytes of the mapping with this address are in memory.
size_t resident(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) here = first <= at && at < last;
    if (here && line.starts_with("Rss:")) return std::stoul(line.substr(4)) * 1024;
  }
  return 0;
}

/// Maps a file of so many bytes, of which element i of int32 is i.
struct Mapped {
  explicit Mapped(size_t n) : bytes(n) {
    const std::string path = folder / "numbers";
    std::vector<int32_t> all(n / 4);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<long>(n));
    const int fd = ::open(path.c_str(), O_RDONLY);
    at = static_cast<const char*>(::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, fd, 0));
    ::close(fd);
  }
  ~Mapped() { ::munmap(const_cast<char*>(at), bytes); }
  int64_t sum() const {
    int64_t s = 0;
    for (size_t i = 0; i < bytes / 4; ++i) s += reinterpret_cast<const int32_t*>(at)[i];
    return s;
  }
  test::Folder folder;
  size_t bytes;
  const char* at;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(file_pages_of_weights, io_test::OnCpu)

BOOST_AUTO_TEST_CASE(pages_go_and_come_again) {
  constexpr size_t kBytes = 40 * 4096;
  const Mapped m(kBytes), other(kBytes);
  const int64_t sum = m.sum();
  BOOST_TEST(other.sum() == sum);
  file_pages::give_back(m.at, kBytes);  // which nobody has added
  BOOST_TEST(resident(m.at) >= kBytes);
  BOOST_TEST(!file_pages::holds(m.at, kBytes));
  file_pages::add(m.at, kBytes);
  BOOST_TEST(file_pages::any());
  BOOST_TEST(file_pages::holds(m.at, kBytes));
  BOOST_TEST(file_pages::holds(m.at + 5, 10));
  BOOST_TEST(!file_pages::holds(m.at - 1, 10));
  BOOST_TEST(!file_pages::holds(m.at + 5, 2 * kBytes));
  BOOST_TEST(!file_pages::holds(other.at, kBytes));
  file_pages::give_back(m.at + 100, 4096);  // of which no page is whole
  file_pages::give_back(other.at, kBytes);
  BOOST_TEST(resident(m.at) >= kBytes);
  BOOST_TEST(resident(other.at) >= kBytes);
  file_pages::give_back(m.at + 1, kBytes - 1);  // all but the first
  BOOST_TEST(resident(m.at) == 4096u);
  BOOST_TEST(m.sum() == sum);
  file_pages::give_back(m.at, kBytes);
  BOOST_TEST(resident(m.at) == 0u);
  BOOST_TEST(m.sum() == sum);
  file_pages::remove(m.at);
  file_pages::give_back(m.at, kBytes);
  BOOST_TEST(resident(m.at) >= kBytes);
}

BOOST_AUTO_TEST_CASE(weights_of_a_file_are_in_memory_once) {
  release_memory();
  const test::Folder folder;
  constexpr int64_t kIn = 768, kOut = 4096;
  Generator g(1);
  const Tensor lying = randn(g, {kIn, kOut}).eval(), upright = lying.T().eval(),
               x = randn(g, {160, kIn}).eval();
  constexpr size_t kBytes = size_t{kIn} * kOut * 4;
  for (const bool up : {false, true}) BOOST_TEST_CONTEXT((up ? "(out, in)" : "(in, out)")) {
      const std::string path = folder / (up ? "up.safetensors" : "lying.safetensors");
      save_safetensors(path, {{"w", up ? upright : lying}});
      const Tensor w = load_safetensors(path).at("w");
      const void* const at = w.data<float>();
      const auto product = [&](const Tensor& rows) {
        return (up ? linear(rows, w) : matmul(rows, w)).to_vector<float>();
      };
      reset_metrics();
      const std::vector<float> first = product(x);
      BOOST_TEST(metrics().results_kept == 0u);  // it may be the only one
      BOOST_TEST(resident(at) > kBytes / 2);
      const std::vector<float> second = product(x);
      BOOST_TEST(metrics().results_kept == 1u);
      BOOST_TEST(resident(at) < kBytes / 8);
      BOOST_TEST((first == second));
      BOOST_TEST((product(x) == first));
      BOOST_TEST(metrics().results_reused > 0u);
      // Who reads the weights as they lie finds them.
      BOOST_TEST((w.to_vector<float>() == (up ? upright : lying).to_vector<float>()));
      release_memory();
      const Override off("LAZY_KEEP_MB", "0");
      BOOST_TEST((product(x) == first));
    }
}

BOOST_AUTO_TEST_SUITE_END()
