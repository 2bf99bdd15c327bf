// Tests the store's rarer moments: files that disappear and return, records in two packs, missing folders.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cache/pack.hpp"
#include "cache/private_directory.hpp"
#include "cache/store.hpp"
#include "support/config.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using cache::Store;
using test::Folder;

namespace {

using Strings = std::set<std::string>;

Store::Options at(const std::string& directory, bool writable = true) {
  return {directory, writable, uint64_t{64} << 20, true};
}
cache::KeyView view(const std::string& s) { return {s.data(), s.size()}; }
Strings values(Store& s, const std::string& key) {
  Strings all;
  for (const cache::Record& r : s.find(view(key))) all.emplace(r.value());
  return all;
}
/// Writes one pack with one record, as a process leaves it, and returns its path.
std::string pack_of(const std::string& directory, const std::string& key, const std::string& value) {
  {
    Store s(at(directory));
    BOOST_REQUIRE(s.add(view(key), 1, value));
  }
  for (const auto& e : std::filesystem::directory_iterator(directory))
    if (e.path().extension() == ".pack") return e.path();
  throw std::runtime_error("no pack");
}
void put(const std::string& from, const std::string& to) {
  std::filesystem::copy_file(from, to);
  chmod(to.c_str(), 0600);
}

/// Unsets a variable for a scope.
struct Unset {
  std::string name, value;
  bool was = false;
  explicit Unset(const char* variable) : name(variable) {
    if (const char* v = std::getenv(variable)) value = v, was = true;
    unsetenv(variable);
  }
  ~Unset() {
    if (was) setenv(name.c_str(), value.c_str(), 1);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(store_edges)

BOOST_AUTO_TEST_CASE(folders_are_made_all_the_way) {
  const Folder f;
  {
    Store s(at(f / "a/b/c/"));
    BOOST_TEST(s.add(view("k"), 1, "v"));
  }
  Store s(at(f / "a//b/c"));
  BOOST_TEST((values(s, "k") == Strings{"v"}));
}

BOOST_AUTO_TEST_CASE(without_a_home_there_is_no_folder) {
  const config::Override none("LAZY_CACHE_DIR", "");
  const Unset xdg("XDG_CACHE_HOME"), home("HOME");
  BOOST_TEST(cache::default_directory() == "");
  setenv("HOME", "relative", 1);
  BOOST_TEST(cache::default_directory() == "");
  setenv("HOME", "/h", 1);
  BOOST_TEST(cache::default_directory() == "/h/.cache/lazy");
  setenv("XDG_CACHE_HOME", "relative", 1);
  BOOST_TEST(cache::default_directory() == "/h/.cache/lazy");
  setenv("XDG_CACHE_HOME", "/x", 1);
  BOOST_TEST(cache::default_directory() == "/x/lazy");
  unsetenv("HOME");
  unsetenv("XDG_CACHE_HOME");
}

BOOST_AUTO_TEST_CASE(what_is_being_written_is_found_although_its_file_is_gone) {
  const Folder f;
  Store s(at(f / "c"));
  BOOST_TEST(s.add(view("k"), 1, "v"));
  for (const std::string& n : f.files(".pack", "c")) unlink((f / "c/" + n).c_str());
  BOOST_TEST(values(s, "other").empty());  // reads the folder again
  BOOST_TEST((values(s, "k") == Strings{"v"}));
}

BOOST_AUTO_TEST_CASE(packs_that_are_gone_are_not_kept_open) {
  const Folder f;
  const std::string pack = pack_of(f / "c", "k", "v");
  Store s(at(f / "c", false));
  BOOST_TEST((values(s, "k") == Strings{"v"}));
  unlink(pack.c_str());
  BOOST_TEST(values(s, "other").empty());
  BOOST_TEST(values(s, "k").empty());
}

BOOST_AUTO_TEST_CASE(a_name_that_was_no_pack_may_be_one_later) {
  const Folder f;
  const std::string pack = pack_of(f / "made", "k", "v");
  Store s(at(f / "c"));
  BOOST_TEST(values(s, "k").empty());
  const std::string name = f / "c/" + std::filesystem::path(pack).filename().string();
  std::ofstream(name) << std::string(1000, 'x');
  chmod(name.c_str(), 0600);
  BOOST_TEST(values(s, "k").empty());  // and is not read again
  unlink(name.c_str());
  BOOST_TEST(values(s, "k").empty());
  put(pack, name);
  BOOST_TEST((values(s, "k") == Strings{"v"}));
}

BOOST_AUTO_TEST_CASE(a_record_in_two_packs_is_merged_into_one) {
  const Folder f;
  const std::string pack = pack_of(f / "c", "k", std::string(5000, 'v'));
  put(pack, f / "c/w-00000000000000aa.pack");
  Store s(at(f / "c"));
  std::string why;
  BOOST_TEST(s.prune(~uint64_t{0}, why), why);
  const auto left = f.files(".pack", "c");
  BOOST_TEST(left.size() == 1u);
  BOOST_TEST(std::filesystem::file_size(f / "c/" + left.at(0)) < 8000u);
  BOOST_TEST((values(s, "k") == Strings{std::string(5000, 'v')}));
}

BOOST_AUTO_TEST_CASE(many_packs_are_merged_when_a_process_ends) {
  const Folder f;
  const std::string first = pack_of(f / "made", "k", "v");
  Store s(at(f / "c"));
  BOOST_TEST(s.add(view("own"), 1, "w"));
  for (int i = 0; i < 20; ++i) put(first, f / "c/w-00000000000000" + std::to_string(10 + i) + ".pack");
  s.close();
  BOOST_TEST(f.files(".pack", "c").size() < 20u);
  Store later(at(f / "c"));
  BOOST_TEST((values(later, "k") == Strings{"v"}));
  BOOST_TEST((values(later, "own") == Strings{"w"}));
}

BOOST_AUTO_TEST_CASE(a_record_under_another_keys_hash_is_not_imported) {
  const Folder f;
  const auto import = [&](const std::string& hashed, const std::string& key) {
    const std::string file = f / "pack-" + hashed;
    Fd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const auto pack = cache::Pack::create(std::move(fd), file);
    const auto hash = view(hashed).hash();
    const std::string record = cache::make_record(hash, key, 1, "value", 0);
    BOOST_REQUIRE(pack->append(record, {hash, 1, 0, record.size()}));
    BOOST_REQUIRE(pack->seal());
    Store s(at(f / "c-" + hashed));
    uint64_t records = 0;
    std::string why;
    return s.import_from(
        file, [](const Store::Listed&) { return true; }, records, why);
  };
  BOOST_TEST(import("key", "key"));
  BOOST_TEST(!import("other", "key"));
}

BOOST_AUTO_TEST_SUITE_END()
