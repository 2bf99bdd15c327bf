// Tests tables of comma-separated text.
#include <cfenv>
#include <fstream>
#include <iterator>

#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;
using check::NaN;

BOOST_AUTO_TEST_SUITE(io_csv)

BOOST_AUTO_TEST_CASE(tables) {
  const test::Folder folder;
  const std::string path = folder / "a.csv";
  write(path, "x,y\n1,2\n3.5,-4e2\n");
  const Csv a = read_csv(path);
  BOOST_TEST((a.names == std::vector<std::string>{"x", "y"}));
  equal(a.values, float64, {2, 2}, {1, 2, 3.5, -400});
  write(path, "\xef\xbb\xbf\"a \"\"b\"\"\nc\" , d\r\n\r\n \"1\" ,\r\nNA,null\r\nnan,+7\r\n  \n-inf,1e-400");
  const Csv b = read_csv(path);
  BOOST_TEST((b.names == std::vector<std::string>{"a \"b\"\nc", "d"}));
  equal(b.values, float64, {4, 2}, {1, NaN, NaN, NaN, NaN, 7, -check::inf, 0});
  write(path, "1;2\n3;1e999\n0.1;-0");
  const Csv c = read_csv(path, {.delimiter = ';', .header = false});
  BOOST_TEST(c.names.empty());
  equal(c.values, float64, {3, 2}, {1, 2, 3, check::inf, 0.1, -0.0});
  write(path, "1\t2\n\t\n");
  equal(read_csv(path, {.delimiter = '\t', .header = false}).values, float64, {2, 2}, {1, 2, NaN, NaN});
  write(path, "x,y\n");
  equal(read_csv(path).values, float64, {0, 2}, {});
  write(path, "");
  equal(read_csv(path).values, float64, {0, 0}, {});
  equal(read_csv(path, {.header = false}).values, float64, {0, 0}, {});
  write(path, "9007199254740993,0.1000000000000000055511151231257827\n");
  equal(read_csv(path, {.header = false}).values, float64, {1, 2}, {9007199254740992, 0.1});
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  const test::Folder folder;
  const std::string path = folder / "a.csv";
  const Tensor x = tensor({{1.0, 0.1, -0.0}, {1e300, check::inf, NaN}}, float64);
  write_csv(path, x, {"plain", "with, comma", "with \"quotes\""});
  const Csv back = read_csv(path);
  BOOST_TEST((back.names == std::vector<std::string>{"plain", "with, comma", "with \"quotes\""}));
  equal(back.values, float64, {2, 3}, {1, 0.1, -0.0, 1e300, check::inf, NaN});
  const auto text_of = [&](const Tensor& t) {
    write_csv(path, t, {}, ';');
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  BOOST_TEST(text_of(tensor({0.1f, 3.0f})) == "0.1\n3\n");
  BOOST_TEST(text_of(tensor<bool>({true, false})) == "1\n0\n");
  BOOST_TEST(text_of(full({1, 2}, ~uint64_t{0}, uint64)) == "18446744073709551615;18446744073709551615\n");
  BOOST_TEST(text_of(full({1, 2}, -5, int8)) == "-5;-5\n");
  BOOST_TEST(text_of(full({1, 2}, 0.1, float16)) == "0.099975586;0.099975586\n");
  BOOST_TEST(text_of(zeros({0, 2})).empty());
  const Tensor many = rand({30000, 5}, float64);
  write_csv(path, many);
  check::same(read_csv(path, {.header = false}).values, many);
  fails<ShapeError>([&] { write_csv(path, zeros({2, 2, 2})); }, "write_csv", "[2, 2, 2]");
  fails<ShapeError>([&] { write_csv(path, zeros({2, 2}), {"a"}); }, "write_csv", "1 names for 2 columns");
  fails<Error>([&] { write_csv(path, zeros({2, 2}), {}, '.'); }, "write_csv", "can't separate");
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range) {
  const test::Folder folder;
  const std::string path = folder / "a.csv", zeros(400, '0');
  write(path,
        "1e400,1e5000,-1e5000,1e99999999999999999999,1e-400,1e-5000,-1e-99999999999999999999,2e-324\n1" +
            zeros + ",-1" + zeros + "e-300,0." + zeros + "1,0." + zeros + "1e401,1" + zeros +
            "e-800,0e5000,1e-310,1.7976931348623159e308\n");
  constexpr double inf = check::inf;
  equal(read_csv(path, {.header = false}).values, float64, {2, 8},
        {inf, inf, -inf, inf, 0, 0, -0.0, 0, inf, -1e100, 0, 1, 0, 0, 1e-310, inf});
}

// The program's rounding and traps are its own.
BOOST_AUTO_TEST_CASE(the_programs_float_environment) {
  const test::Folder folder;
  const std::string path = folder / "a.csv";
  write(path, "0.1,0.2,3.14159265358979,1e22,1e400,123456789012345678901234567890,1e-400\n");
  const auto values = [&] { return read_csv(path, {.header = false}).values.to_vector<double>(); };
  const Tensor x = tensor({0.1, 2.0 / 3, 1e-7 / 3, 12345.678901}).eval(), y = x.astype(float16).eval();
  const std::vector<double> expected = values();
  const std::string text = to_string(x), narrow = to_string(y);
  std::fenv_t before;
  std::fegetenv(&before);
  for (const int rounding : {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
    feenableexcept(FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID | FE_DIVBYZERO);
    std::fesetround(rounding);
    const auto got = values();
    const std::string shown = to_string(x), shown_narrow = to_string(y);
    const int kept = std::fegetround();
    std::fesetenv(&before);
    BOOST_TEST(kept == rounding);
    BOOST_TEST(got == expected, boost::test_tools::per_element());
    BOOST_TEST(shown == text);
    BOOST_TEST(shown_narrow == narrow);
  }
}

BOOST_AUTO_TEST_CASE(wrong_tables) {
  const test::Folder folder;
  const std::string path = folder / "a.csv";
  const auto refuses = [&](const std::string& text, const std::string& part,
                           const Site& s = Site::current()) {
    write(path, text);
    fails<IoError>([&] { read_csv(path); }, "read_csv", part, s);
  };
  refuses("x,y\n1,2\n3\n", "a.csv: line 3: expected 2 numbers, found 1");
  refuses("x,y\n1,2,3\n", "line 2: expected 2 numbers, found 3");
  refuses("x,\"y\nz\"\n\n1,two\n", "line 4: 'two' is not a number");
  refuses("x\n1 2\n", "line 2: '1 2' is not a number");
  refuses("x\n0x10\n", "'0x10' is not a number");
  refuses("x\n+-1\n", "'+-1' is not a number");
  refuses("x\n\"1\n", "line 2: a quote is not closed");
  refuses("x\n\"1\"2\n", "line 2: expected the end of the line after a cell in quotes");
  refuses(std::string(size_t{1} << 22, ','), "line 1: a header of more than 4194304 names");
  refuses("x\n" + std::string(1000, 'a'), std::string(100, 'a') + "' is not a number");
  fails<Error>([&] { read_csv(path, {.delimiter = '\n'}); }, "read_csv", "can't separate numbers");
}

BOOST_AUTO_TEST_SUITE_END()
