// Runs the programs of docs/tutorial in the order of its pages, and their commands: each says what its page
// says.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <iterator>
#include <regex>

#include "tests/common/folder.hpp"
#include "tests/common/processes.hpp"
#include "tests/tutorial/pages.hpp"

using namespace lazy::test;
using namespace tutorial;

namespace {

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> all;
  for (const auto& e : std::filesystem::directory_iterator(TUTORIAL_PAGES))
    if (e.path().extension() == ".md" && e.path().filename() != "README.md") all.push_back(e.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// Makes the folder in which pages are read: their programs, and the files of digits. What one page writes
/// the next ones find.
const Folder& folder() {
  static const Folder f;
  static const bool made = [] {
    for (const auto& page : pages()) {
      const std::string name = read_page(page).name;
      std::filesystem::create_symlink(std::string(TUTORIAL_PROGRAMS) + "/" + name, f / name);
    }
    for (const auto& e : std::filesystem::directory_iterator(TUTORIAL_DATA))
      if (e.path().filename().string().starts_with("digits"))
        std::filesystem::copy(e.path(), f / e.path().filename().string());
    return true;
  }();
  (void)made;
  return f;
}

Ended in_shell(const std::string& command) {
  const std::string path = std::string(TUTORIAL_TOOLS) + ":/usr/bin:/bin";
  return run({"/bin/sh", "-c", "cd '" + folder().path() + "' && " + command},
             {{"PATH", path}, {"LAZY_CACHE", "off"}, {"LAZY_NUM_THREADS", "2"}});
}

/// Replaces what differs from run to run and from machine to machine: times, and figures that follow from
/// them.
std::string comparable(const std::string& line) {
  static const std::regex times(
      "[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|steps/s|GB/s|GFLOP/s)\\b|[0-9]+(\\.[0-9]+)?%"),
      spaces(" +");
  return std::regex_replace(std::regex_replace(line, times, "TIME"), spaces, " ");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// True if the lines are as expected, where a line `...` stands for any number of lines.
bool agree(std::vector<std::string>::const_iterator expected, std::vector<std::string>::const_iterator last,
           std::vector<std::string>::const_iterator said, std::vector<std::string>::const_iterator end) {
  for (; expected != last; ++expected, ++said) {
    if (*expected == "...") {
      for (auto from = said;; ++from) {
        if (agree(std::next(expected), last, from, end)) return true;
        if (from == end) return false;
      }
    }
    if (said == end || comparable(*expected) != comparable(*said)) return false;
  }
  return said == end;
}

void compare(const std::string& what, const std::string& expected, const Ended& e) {
  const auto wanted = lines_of(expected), said = lines_of(e.said);
  BOOST_TEST(agree(wanted.begin(), wanted.end(), said.begin(), said.end()), what << ": the page says\n"
                                                                                 << expected
                                                                                 << "but it says\n"
                                                                                 << e.said);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tutorial_pages)

BOOST_DATA_TEST_CASE(says_what_its_page_says, boost::unit_test::data::make(pages())) {
  const Page page = read_page(sample);
  BOOST_TEST(!page.blocks.empty());
  const Ended e = in_shell("./" + page.name + " 2>/dev/null");
  BOOST_TEST(e.good(), page.name << ": status " << e.status);
  compare(page.name, page.all("text"), e);
  for (const Block& b : page.blocks) {
    if (b.kind != "console") continue;
    std::string command, expected;
    const auto tell = [&] {
      if (!command.empty()) compare(command, expected, in_shell(command));
    };
    for (const std::string& line : lines_of(b.text)) {
      if (line.starts_with("$ ")) {
        tell();
        command = line.substr(2), expected.clear();
      } else {
        expected += line + '\n';
      }
    }
    tell();
  }
}

BOOST_AUTO_TEST_CASE(all_kinds_of_blocks_are_known) {
  for (const auto& path : pages())
    for (const Block& b : read_page(path).blocks)
      BOOST_TEST(
          (b.kind == "cpp" || b.kind == "text" || b.kind == "console" || b.kind == "cmake" || b.kind == "sh"),
          path.filename() << ": a block of " << b.kind);
}

BOOST_AUTO_TEST_CASE(lines_are_compared) {
  const auto same = [](const std::string& a, const std::string& b) {
    const auto x = lines_of(a), y = lines_of(b);
    return agree(x.begin(), x.end(), y.begin(), y.end());
  };
  BOOST_TEST(same("1 op in 12.5 us\n", "1 op in  3 us\n"));
  BOOST_TEST(!same("1 op in 12.5 us\n", "2 ops in 3 us\n"));
  BOOST_TEST(same("a\n...\nd\n", "a\nb\nc\nd\n"));
  BOOST_TEST(!same("a\n...\nd\n", "a\nb\nc\n"));
  BOOST_TEST(!same("a\n", "a\nb\n"));
  BOOST_TEST(!same("a\nb\n", "a\n"));
}

BOOST_AUTO_TEST_SUITE_END()
