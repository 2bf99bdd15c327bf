// Tests files of a library: descriptors above the standard streams, limits on how large a file may be.
#include "support/files.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>

#include "support/config.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/profile.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/forked.hpp"
#include "tests/support/child.hpp"

using namespace lazy;
using lazy_test::is_child;
using test::good_in_child;

namespace {

bool limit_files(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}
size_t size_of_file(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? static_cast<size_t>(s.st_size) : 0;
}
constexpr profile::Kind kTick{"tick", "test", {{{"n", profile::Type::integer}}}};

}  // namespace

BOOST_AUTO_TEST_SUITE(files_of_ours)

BOOST_AUTO_TEST_CASE(no_file_has_a_standard_streams_descriptor) {
  const test::Folder f;
  for (const int closed : {0, 1, 2})
    BOOST_TEST(good_in_child([&] {
      for (int fd = closed; fd < 3; ++fd) ::close(fd);
      const int a = files::open((f / "a").c_str(), O_RDWR | O_CREAT, 0600),
                b = files::open(f.path().c_str(), O_RDONLY), c = files::open_at(b, "a", O_RDONLY);
      const files::Output out(f / "b");
      bool good = a > 2 && b > 2 && c > 2 && out.fd() > 2 && (::fcntl(a, F_GETFD) & FD_CLOEXEC);
      for (int fd = closed; fd < 3; ++fd)
        good = good && ::fcntl(fd, F_GETFD) == -1;  // and none is left there
      return good;
    }));
  BOOST_TEST(files::above_stdio(-1) == -1);
}

BOOST_AUTO_TEST_CASE(a_file_that_may_not_grow_is_an_error) {
  const test::Folder f;
  BOOST_TEST(good_in_child([&] {
    if (!limit_files(1000)) return false;
    const std::string text(600, 'x');
    files::Output out(f / "a");
    out.put(text);
    out.flush();
    out.put(text);
    out.flush();
    const bool refused = !out.close() && errno == EFBIG;
    const int fd = files::open((f / "b").c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
    const bool appended = files::write(fd, text.data(), 600) && !files::write(fd, text.data(), 600) &&
                          errno == EFBIG && files::write(fd, text.data(), 400);
    const int anywhere = files::open((f / "e").c_str(), O_RDWR | O_CREAT, 0600);
    return refused && appended && files::write_at(anywhere, "y", 1, 999) &&
           !files::write_at(anywhere, "y", 1, 1000) && errno == EFBIG &&
           !files::write_whole(f / "c", std::string(5000, 'z')) && files::write_whole(f / "d", text);
  }));
  BOOST_TEST(size_of_file(f / "a") == 600u);
  BOOST_TEST(size_of_file(f / "d") == 600u);
}

BOOST_AUTO_TEST_CASE(logs_and_traces_may_not_grow_either) {
  const test::Folder f;
  BOOST_TEST(good_in_child([&] {
    ::close(2);
    if (!limit_files(3000)) return false;
    const config::Override log("LAZY_LOG", "flush+"), file("LAZY_LOG_FILE", f / "log");
    for (int i = 0; i < 200; ++i) logging::print(logging::Channel::flush, "%100d", i);
    profile::start(f / "trace");
    for (int i = 0; i < 1000; ++i) profile::put(kTick, profile::now(), 0, i);
    try {
      profile::stop();
    } catch (const IoError&) { return true; }
    return false;
  }));
  BOOST_TEST(size_of_file(f / "log") > 2000u);
  BOOST_TEST(size_of_file(f / "log") <= 3000u);
  BOOST_TEST(size_of_file(f / "trace") <= 3000u);
}

// Runs as a copy of this program that belongs to another user and takes his rights.
BOOST_AUTO_TEST_CASE(privileged_child) {
  if (!is_child()) return;
  if (!files::privileged()) ::_exit(77);
  if (profile::on()) profile::put(kTick, profile::now(), 0, 1);
  logging::print(logging::Channel::flush, "a line");
  const auto& c = config::get();
  ::_exit(c.profile.empty() && c.log_file.empty() && c.dump_dir.empty() && c.cache_dir.empty() ? 0 : 1);
}

BOOST_AUTO_TEST_CASE(a_privileged_program_ignores_its_environment) {
  if (::geteuid() != 0) return;  // other users cannot make one
  const test::Folder f;
  const std::string program = f / "program";
  BOOST_REQUIRE(::chmod(f.path().c_str(), 0755) == 0);
  std::error_code error;
  std::filesystem::copy_file("/proc/self/exe", program, error);
  BOOST_REQUIRE(!error);
  BOOST_REQUIRE(::chown(program.c_str(), 1, 1) == 0);
  BOOST_REQUIRE(::chmod(program.c_str(), 04755) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    for (const char* v : {"LAZY_PROFILE", "LAZY_LOG_FILE", "LAZY_DUMP_DIR", "LAZY_CACHE_DIR"})
      ::setenv(v, (f / v).c_str(), 1);
    ::setenv("LAZY_LOG", "all", 1);
    ::setenv("LAZY_TEST_CHILD", "1", 1);
    ::execl(program.c_str(), "again", "--run_test=files_of_ours/privileged_child", "--log_level=nothing",
            "--report_level=no", nullptr);
    ::_exit(99);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  BOOST_REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) return;  // the file system grants no rights
  BOOST_TEST(WEXITSTATUS(status) == 0);
  BOOST_TEST(f.files().size() == 1u);
}

// A file that may not grow takes the first page of what is written to it.
BOOST_AUTO_TEST_CASE(records_are_whole_or_not_there) {
  const std::string text(8192, 'x');
  const int fd = memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  BOOST_REQUIRE(ftruncate(fd, 4096) == 0);
  BOOST_REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0);
  bool torn = false;
  BOOST_TEST(files::write_record(fd, text.data(), 100, torn));
  BOOST_TEST(!files::write_record(fd, text.data(), text.size(), torn));
  BOOST_TEST(errno == EPERM);
  BOOST_TEST(!torn);
  BOOST_TEST(lseek(fd, 0, SEEK_END) == 100);
  close(fd);
  const int fixed = memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  BOOST_REQUIRE(ftruncate(fixed, 4096) == 0);
  BOOST_REQUIRE(fcntl(fixed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0);
  BOOST_TEST(!files::write_record(fixed, text.data(), text.size(), torn));
  BOOST_TEST(torn);
  close(fixed);
}

BOOST_AUTO_TEST_SUITE_END()
