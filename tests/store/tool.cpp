// Tests lazy-cache as its users run it.
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

#include "tests/common/folder.hpp"
#include "tests/common/processes.hpp"

using namespace lazy::test;

namespace {

struct Tool {
  Folder folder;
  Environment environment = cached_in(folder / "c");

  Ended operator()(const std::vector<std::string>& arguments) const {
    return run(command(arguments), environment);
  }
  std::string good(const std::vector<std::string>& arguments) const {
    return said_by(command(arguments), environment);
  }
  static std::vector<std::string> command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LAZY_CACHE_TOOL);
    return arguments;
  }
  int status(const std::vector<std::string>& arguments, const std::string& says) const {
    const Ended e = (*this)(arguments);
    BOOST_TEST(e.said.find(says) != std::string::npos, e.said);
    return WIFEXITED(e.status) ? WEXITSTATUS(e.status) : -1;
  }
  /// Returns the keys that ls lists.
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    std::istringstream text(good({"ls"}));
    for (std::string line; std::getline(text, line);)
      if (line.find_first_not_of("0123456789abcdef") == 16) all.push_back(line.substr(0, 16));
    return all;
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool)

BOOST_AUTO_TEST_CASE(tells_what_a_program_left) {
  const Tool t;
  const std::string warmed = t.good({"warmup", "--", LAZY_VICTIM});
  BOOST_TEST(has(warmed, "compiled "), warmed);
  BOOST_TEST(has(warmed, " kernels added, "), warmed);
  BOOST_TEST(has(t.good({"warmup", "--", LAZY_VICTIM}), "0 programs with 0 kernels added"));
  const auto keys = t.keys();
  BOOST_REQUIRE(keys.size() > 10u);
  const std::string stats = t.good({"stats"});
  BOOST_TEST(has(stats, "programs          " + std::to_string(keys.size()) + " of this build"), stats);
  BOOST_TEST(has(t.good({"ls"}), "sort"));  // a step may be a call
  bool divides = false;
  for (const std::string& key : keys) {
    const std::string shown = t.good({"show", key.substr(0, 12)});
    for (const char* part : {"\ntrace\n  v0 = ", "\nguards", "\nsteps\n  0: ", "\nkernel 0\n"})
      BOOST_TEST(has(shown, part), shown);
    BOOST_TEST(has(shown, "ret"), shown);  // disassembly
    divides |= has(shown, "= divide float32");
  }
  BOOST_TEST(divides);
  BOOST_TEST(t.status({"show", "zzzz"}, "no record's key starts with 'zzzz'") == 1);
  BOOST_TEST(t.status({"show", ""}, "no record's key starts with ''") == 1);
}

BOOST_AUTO_TEST_CASE(json_is_json) {
  const Tool t;
  BOOST_TEST(t.good({"--json", "warmup", "--", LAZY_VICTIM}).find("\"programs_added\"") != std::string::npos);
  const std::string key = t.keys().at(0);
  const std::vector<std::vector<std::string>> commands = {{"ls"},
                                                          {"ls", "--all"},
                                                          {"stats"},
                                                          {"show", key},
                                                          {"verify"},
                                                          {"verify", "--recompile"},
                                                          {"prune", "--size", "1G"},
                                                          {"export", t.folder / "f"},
                                                          {"import", t.folder / "f"},
                                                          {"clear"}};
  for (auto c : commands) {
    c.push_back("--json");
    const std::string text = t.good(c);
    const size_t first = text.find_first_of("{[");
    BOOST_TEST(first == 0u, text);
    BOOST_TEST((text.size() > 2 && (text[text.size() - 2] == '}' || text[text.size() - 2] == ']')), text);
  }
}

BOOST_AUTO_TEST_CASE(takes_a_cache_to_another_machine) {
  const Tool t;
  t.good({"warmup", "--", LAZY_VICTIM});
  const size_t programs = t.keys().size();
  BOOST_TEST(has(t.good({"export", t.folder / "file"}), "written to"));
  Tool other;
  BOOST_TEST(has(other.good({"import", t.folder / "file"}),
                 std::to_string(programs) + " programs imported, compiled again and found alike"));
  BOOST_TEST(has(other.good({"import", t.folder / "file"}), "0 programs imported"));
  const Ended warm = run({LAZY_VICTIM}, other.environment);
  BOOST_TEST(has(warm.said, "compiled 0 loaded"), warm.said);
  // Someone has changed the file.
  std::ifstream in(t.folder / "file", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bytes[bytes.size() / 3] ^= 1;
  std::ofstream(t.folder / "bad", std::ios::binary) << bytes;
  const Tool third;
  BOOST_TEST(third.status({"import", t.folder / "bad"}, "damaged") == 1);
  BOOST_TEST(third.status({"import", t.folder / "nowhere"}, "No such file") == 1);
  BOOST_TEST(third.keys().empty());
}

BOOST_AUTO_TEST_CASE(exports_to_what_is_no_file) {
  const Tool t;
  t.good({"warmup", "--", LAZY_VICTIM});
  const std::string fifo = t.folder / "fifo", link = t.folder / "link", file = t.folder / "file";
  BOOST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::ofstream(file) << "old";
  std::filesystem::create_symlink(file, link);
  const auto shell = [&](const std::string& script) {
    const Ended e = run({"/bin/sh", "-c", script}, t.environment);
    BOOST_TEST(e.good(), e.said);
  };
  shell("cat " + fifo + " > " + (t.folder / "by_fifo") + " & " LAZY_CACHE_TOOL " export " + fifo +
        " && wait");
  shell(LAZY_CACHE_TOOL " export /dev/stdout | cat > " + (t.folder / "by_pipe"));
  shell(LAZY_CACHE_TOOL " --json export /dev/stdout > " + (t.folder / "redirected"));
  t.good({"export", link});
  BOOST_TEST(std::filesystem::is_fifo(fifo));
  BOOST_TEST(std::filesystem::is_symlink(link));
  for (const char* made : {"by_fifo", "by_pipe", "redirected", "file"}) {
    const Tool other;
    BOOST_TEST(
        has(other.good({"import", t.folder / made}), std::to_string(t.keys().size()) + " programs imported"),
        made);
  }
  BOOST_TEST(t.folder.files().size() == 7u);  // these, the pipe, the link and the cache: nothing temporary
}

BOOST_AUTO_TEST_CASE(checks_bounds_and_clears) {
  const Tool t;
  t.good({"warmup", "--", LAZY_VICTIM});
  BOOST_TEST(has(t.good({"verify"}), " records good, 0 damaged"));
  BOOST_TEST(has(t.good({"verify", "--recompile"}), "good and recompiled alike, 0 damaged"));
  const size_t programs = t.keys().size();
  t.good({"prune", "--size", "10000"});
  const size_t left = t.keys().size();
  BOOST_TEST(left > 0u);
  BOOST_TEST(left < programs);
  const std::string pack = t.folder.files(".pack", "c").at(0);
  {
    std::fstream f(t.folder / ("c/" + pack), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(500);
    f.put('\x55');
    f.put('\x55');
  }
  BOOST_TEST(t.status({"verify"}, "1 damaged") == 1);
  std::filesystem::create_directory(t.folder / "c/folder.pack");  // not one of the store's
  t.good({"clear"});
  BOOST_TEST(t.keys().empty());
  BOOST_TEST(has(t.good({"verify"}), "0 records good"));
}

BOOST_AUTO_TEST_CASE(columns_are_columns) {
  const Tool t;
  t.good({"warmup", "--", LAZY_VICTIM});
  std::istringstream text(t.good({"ls"}));
  std::string head, line;
  std::getline(text, head);
  const size_t used = head.find("USED"), what = head.find("WHAT");
  BOOST_REQUIRE(what < head.size());
  for (int lines = 0; std::getline(text, line) && line.find("and ") != 0; ++lines) {
    BOOST_TEST(line.substr(used - 2, 2) == "  ", line);
    BOOST_TEST(line.substr(what - 2, 2) == "  ", line);
    BOOST_TEST(line[used] != ' ', line);
  }
  std::istringstream sums(t.good({"stats"}));
  while (std::getline(sums, line))
    if (line.starts_with("  cpu-")) BOOST_TEST(line.find(' ', 2) != line.npos, line);
}

// A program goes on when its files may not grow, and when it has no standard streams.
BOOST_AUTO_TEST_CASE(small_files_and_closed_streams) {
  const auto shell = [](const Tool& t, const std::string& script) {
    return run({"/bin/sh", "-c", script + "; exec " LAZY_VICTIM " 1"}, t.environment);
  };
  for (const char* limit : {"0", "1", "8", "64"}) {
    const Tool t;
    const Ended e = shell(t, std::string("ulimit -f ") + limit);
    BOOST_TEST(e.good(), "ulimit -f " << limit << ": " << e.said);
    BOOST_TEST(has(t.good({"verify"}), " 0 damaged"));
    Environment off = t.environment;
    off["LAZY_CACHE"] = "off";
    BOOST_TEST(
        run({"/bin/sh", "-c", std::string("ulimit -f ") + limit + "; exec " LAZY_VICTIM " 1"}, off).good());
  }
  for (const char* closing : {"exec >&-", "exec <&- >&- 2>&-", "exec 2>&-"}) {
    const Tool t;
    shell(t, closing);
    BOOST_TEST(has(t.good({"verify", "--recompile"}), " 0 damaged"), closing);
    BOOST_TEST(t.keys().size() > 10u, closing);
  }
}

BOOST_AUTO_TEST_CASE(wrong_command_lines) {
  const Tool t;
  BOOST_TEST(t.status({"frobnicate"}, "there is no command 'frobnicate'") == 2);
  BOOST_TEST(t.status({"prune", "--size", "much"}, "expected a size such as") == 2);
  BOOST_TEST(t.status({"warmup"}, "COMMAND is required") == 2);
  BOOST_TEST(t.status({"warmup", "--", "/nowhere/program"}, "No such file or directory") == 127);
  BOOST_TEST(t.status({"ls", "--dir", "/nowhere/at/all"}, "cache folder /nowhere/at/all: No such file") == 1);
  BOOST_TEST(has(t.good({"--help"}), "import"));
}

BOOST_AUTO_TEST_SUITE_END()
