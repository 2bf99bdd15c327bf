// Tests that every public function of lazy/ is called wrongly by a file of this folder.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/lazy/core/messages/messages.hpp"

using boost::unit_test::depends_on;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(LAZY_SOURCE_DIR) / "lazy";

/// Returns the names of the free functions that a header declares outside of detail.
std::set<std::string> functions_of(const std::filesystem::path& header) {
  const std::regex declaration(
      "^(?:inline |constexpr |template <.*> )*[A-Z][A-Za-z:<>]* ([a-z]\\w*)\\(.*|"
      "^(?:inline |constexpr )*(?:void|bool|int|std::\\w+(?:<\\w+>)?) ([a-z]\\w*)\\(.*|"
      "^LAZY_ALIAS[12]\\((\\w+),.*");
  std::set<std::string> names;
  std::ifstream in(header);
  BOOST_REQUIRE(in);
  std::string until;  // the end of something whose functions are not called by name
  for (std::string l; std::getline(in, l);) {
    if (l.starts_with("namespace detail {") || l.starts_with("namespace cache {")) until = "}  // namespace";
    else if (l.starts_with("class ") && l.ends_with("{")) until = "};";
    const bool inside = !until.empty();
    if (inside && l.starts_with(until)) until.clear();
    std::smatch m;
    if (!inside && std::regex_match(l, m, declaration))
      names.insert(m[1].matched ? m[1] : m[2].matched ? m[2] : m[3]);
  }
  return names;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(messages, Operands)

BOOST_AUTO_TEST_CASE(none_is_left_out,
                     *depends_on("messages/of_one_empty_tensor") * depends_on("messages/of_two_tensors") *
                         depends_on("messages/of_more_operands") * depends_on("messages/of_numbers") *
                         depends_on("messages/of_axes") * depends_on("messages/of_images") *
                         depends_on("messages/of_loops_and_short_forms") *
                         depends_on("messages/of_what_values_tell") *
                         depends_on("messages/of_indices_and_members") *
                         depends_on("messages/of_random_numbers") * depends_on("messages/of_array_names") *
                         depends_on("messages/of_array_functions") * depends_on("messages/of_files") *
                         depends_on("messages/gradients") * depends_on("messages/of_writing") *
                         depends_on("messages/of_matrices")) {
  // These take nothing that could be wrong, or name the missing device.
  const std::set<std::string> exempt{"summary",
                                     "default_device",
                                     "set_default_device",
                                     "is_available",
                                     "cuda_device_count",
                                     "cuda_is_available",
                                     "seed",
                                     "print",
                                     "describe",
                                     "synchronize",
                                     "machine",
                                     "set_arena",
                                     "to_string",
                                     "explain",
                                     "get_printoptions",
                                     "format",
                                     "slice"};
  std::set<std::string> declared;
  const std::regex include("#include \"lazy/(.*)\"");
  std::ifstream all(kFolder / "lazy.hpp");
  BOOST_REQUIRE(all);
  for (std::string line; std::getline(all, line);) {
    std::smatch header;
    if (!std::regex_match(line, header, include)) continue;
    for (const std::string& name : functions_of(kFolder / header[1].str())) {
      declared.insert(name);
      BOOST_TEST((called().contains(name) || exempt.contains(name)),
                 name << " of " << header[1] << " is not called here");
    }
  }
  // What docs/ops.md lists is known from elsewhere: a header that is written otherwise does not hide
  // functions.
  for (const char* const room : {"nn/functional", "autograd"})
    for (const auto& header : std::filesystem::directory_iterator(kFolder / room))
      if (header.path().extension() == ".hpp") declared.merge(functions_of(header.path()));
  size_t listed = 0;
  std::ifstream page(kFolder.parent_path() / "docs" / "ops.md");
  const std::regex row(R"(\| `(\w+)` \|.*)");
  for (std::string line; std::getline(page, line);) {
    std::smatch name;
    if (!std::regex_match(line, name, row)) continue;
    ++listed;
    BOOST_TEST(declared.contains(name[1]), name[1] << " is in docs/ops.md, but was not seen in a header");
  }
  BOOST_TEST(listed > 500u);
}

BOOST_AUTO_TEST_SUITE_END()
