#include "support/config.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

#include "child.hpp"
#include "support/config_parse.hpp"
#include "support/error.hpp"

using namespace lazy;
using lazy_test::count;
using lazy_test::Environment;
using lazy_test::Variables;

namespace {

/// Read while static objects are made, in an order nobody knows.
const int seen_before_main = config::get().max_graph;

struct Reread {
  ~Reread() { config::reload_environment(); }
};

std::string warnings_of(const lazy_test::Variables& variables) {
  const Environment e(variables);
  return lazy_test::stderr_of([] { config::reload_environment(); });
}

config::Entry entry(const std::string& name) {
  for (auto& e : config::entries())
    if (e.name == name) return e;
  BOOST_FAIL("no such variable: " << name);
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config_registry)

BOOST_AUTO_TEST_CASE(defaults) {
  BOOST_TEST(seen_before_main == 16384);
  const auto& c = config::get();
  BOOST_TEST(c.max_graph == 16384);
  BOOST_TEST(c.max_bytes == uint64_t{4} << 30);
  BOOST_TEST(c.cache_size == uint64_t{256} << 20);
  BOOST_TEST(c.cache_entries == 16384);
  BOOST_TEST(c.recompile_limit == 8);
  BOOST_TEST(c.num_threads == 0);
  BOOST_TEST(c.cache_hash_bits == 128);
  BOOST_TEST(!c.eager);
  BOOST_TEST((c.verify == config::Verify::off));
  BOOST_TEST((c.accuracy == config::Accuracy::full));
  BOOST_TEST(!c.fp_contract);
  BOOST_TEST(!c.exact_casts);
  BOOST_TEST((c.perf_map == config::PerfMap::off));
  BOOST_TEST((c.cpu_isa == config::CpuIsa::auto_));
  BOOST_TEST((c.dynamic == config::Dynamic::auto_));
  BOOST_TEST((c.default_dtype == config::DefaultDType::float32));
  BOOST_TEST(c.log_file.empty());
  BOOST_TEST(c.dump_dir.empty());
  BOOST_TEST(c.log == 0u);
  for (const auto& e : config::entries()) BOOST_TEST((e.origin == config::Origin::default_), e.name);
}

BOOST_AUTO_TEST_CASE(booleans) {
  for (const char* s : {"1", "on", "true", "ON", "True"}) BOOST_TEST((config::parse_bool(s) == true), s);
  for (const char* s : {"0", "off", "false", "OFF", "False"}) BOOST_TEST((config::parse_bool(s) == false), s);
  for (const char* s : {"", "2", "yes", "no", "tru", "on ", "01", "-1"})
    BOOST_TEST(!config::parse_bool(s), s);
}

BOOST_AUTO_TEST_CASE(integers) {
  BOOST_TEST((config::parse_integer("42") == 42));
  BOOST_TEST((config::parse_integer("-5") == -5));
  BOOST_TEST((config::parse_integer("9223372036854775807") == INT64_MAX));
  for (const char* s : {"", "5x", "-5x", "x", "1.5", "1e3", "+5", " 5", "0x10", "9223372036854775808", "--1"})
    BOOST_TEST(!config::parse_integer(s), s);
}

BOOST_AUTO_TEST_CASE(sizes) {
  const uint64_t k = 1024;
  const std::pair<const char*, uint64_t> good[] = {{"0", 0},
                                                   {"4096", 4096},
                                                   {"7B", 7},
                                                   {"1K", k},
                                                   {"1kb", k},
                                                   {"1KiB", k},
                                                   {"512MiB", 512 * k * k},
                                                   {"2G", 2 * k * k * k},
                                                   {"2gib", 2 * k * k * k},
                                                   {"3T", 3 * k * k * k * k},
                                                   {"1TB", k * k * k * k},
                                                   {"18446744073709551615", ~uint64_t{0}},
                                                   {"16777215T", uint64_t{16777215} << 40}};
  for (const auto& [s, v] : good) {
    BOOST_REQUIRE(config::parse_size(s).has_value());
    BOOST_TEST(*config::parse_size(s) == v, s);
  }
  for (const char* s : {"", "-1", "-5G", "K", "1.5G", "5 G", "5X", "5Ki", "5KiBs", "5iB", "5PiB", "5BB",
                        "18446744073709551616", "16777216T", "99999999999G", "0x10", "5e3"})
    BOOST_TEST(!config::parse_size(s), s);
}

BOOST_AUTO_TEST_CASE(channels) {
  const auto text = [](const char* s) {
    const auto v = config::parse_channels(s);
    return v ? config::channels_text(*v) : "bad";
  };
  BOOST_TEST(text("flush") == "flush");
  BOOST_TEST(text("flush+,miss") == "flush+,miss");
  BOOST_TEST(text("memory, Flush") == "flush,memory");
  BOOST_TEST(text("all") == "flush,miss,guards,fusion,kernels,cache,memory,device,comm,summary");
  BOOST_TEST(text("all,cache+") == "flush,miss,guards,fusion,kernels,cache+,memory,device,comm,summary");
  BOOST_TEST(text("flush+,flush") == "flush+");
  BOOST_TEST(text("none") == "none");
  for (const char* s : {"", "flash", "flush,", ",", "+", "flush++", "flush miss", "none+"})
    BOOST_TEST(text(s) == "bad", s);
}

BOOST_AUTO_TEST_CASE(code_goes_before_environment_before_default) {
  const Reread after;
  {
    const Environment e(
        Variables{{"LAZY_MAX_GRAPH", "100"}, {"LAZY_DYNAMIC", "NEVER"}, {"LAZY_LOG_FILE", "a b.log"}});
    BOOST_TEST(lazy_test::stderr_of([] { config::reload_environment(); }) == "");
    BOOST_TEST(config::get().max_graph == 100);
    BOOST_TEST((config::get().dynamic == config::Dynamic::never));
    BOOST_TEST(config::get().log_file.get() == "a b.log");
    BOOST_TEST((entry("LAZY_MAX_GRAPH").origin == config::Origin::environment));
    config::set("LAZY_MAX_GRAPH", "200");
    BOOST_TEST(config::get().max_graph == 200);
    BOOST_TEST((entry("LAZY_MAX_GRAPH").origin == config::Origin::code));
    config::reload_environment();
    BOOST_TEST(config::get().max_graph == 200);
    config::set("LAZY_MAX_GRAPH", "");
    BOOST_TEST(config::get().max_graph == 100);
  }
  config::reload_environment();
  BOOST_TEST(config::get().max_graph == 16384);
  BOOST_TEST(config::get().log_file.empty());
}

BOOST_AUTO_TEST_CASE(overrides_nest) {
  {
    const config::Override a("LAZY_EAGER", "1");
    BOOST_TEST(config::get().eager);
    {
      const config::Override b("LAZY_EAGER", "off");
      BOOST_TEST(!config::get().eager);
    }
    BOOST_TEST(config::get().eager);
    BOOST_TEST(entry("LAZY_EAGER").value == "on");
  }
  BOOST_TEST(!config::get().eager);
  BOOST_TEST((entry("LAZY_EAGER").origin == config::Origin::default_));
}

BOOST_AUTO_TEST_CASE(a_bad_value_costs_one_line_and_its_default_is_used) {
  const Reread after;
  const std::pair<const char*, const char*> bad[] = {
      {"LAZY_MAX_GRAPH", "-5"},          {"LAZY_MAX_GRAPH", "5x"},
      {"LAZY_MAX_GRAPH", "99999999999"}, {"LAZY_EAGER", "maybe"},
      {"LAZY_CPU_ISA", "sse"},           {"LAZY_CACHE_SIZE", "-1"},
      {"LAZY_CACHE_SIZE", "5 parsecs"},  {"LAZY_MAX_BYTES", "0"},
      {"LAZY_NUM_THREADS", "4097"},      {"LAZY_LOG", "flash"},
      {"LAZY_CACHE_HASH_BITS", "0"},     {"LAZY_STRICT", "2"},
      {"LAZY_CONFIG", "what\nnext"},     {"LAZY_RECOMPILE_LIMIT", "0"}};
  for (const auto& [name, value] : bad) {
    BOOST_TEST_CONTEXT(name << "=" << value) {
      const std::string out = warnings_of({{name, value}});
      BOOST_TEST(count(out, "\n") == 1u);
      BOOST_TEST(out.starts_with("lazy: " + std::string(name) + "='"));
      BOOST_TEST(count(out, "expected " + entry(name).accepts) == 1u);
      BOOST_TEST(count(out, "using the default, " + entry(name).initial) == 1u);
      BOOST_TEST(entry(name).value == entry(name).initial);
      BOOST_TEST((entry(name).origin == config::Origin::default_));
    }
  }
  BOOST_TEST(warnings_of({{"LAZY_MAX_GRAPH", "-5"}}) ==
             "lazy: LAZY_MAX_GRAPH='-5' is not accepted: expected an integer from 1 to 1000000000; using the "
             "default, 16384\n");
  BOOST_TEST(count(warnings_of({{"LAZY_EAGER", std::string(5000, 'x')}}), "x") < 200u);
}

BOOST_AUTO_TEST_CASE(empty_is_unset_and_blanks_are_trimmed) {
  const Reread after;
  BOOST_TEST(warnings_of({{"LAZY_MAX_GRAPH", ""}, {"LAZY_EAGER", " "}, {"LAZY_DYNAMIC", " always "}}) == "");
  BOOST_TEST((entry("LAZY_MAX_GRAPH").origin == config::Origin::default_));
  BOOST_TEST(!config::get().eager);
  BOOST_TEST(entry("LAZY_DYNAMIC").value == "always");
}

BOOST_AUTO_TEST_CASE(unknown_names) {
  const Reread after;
  const std::pair<const char*, const char*> near[] = {{"LAZY_LGO", "LAZY_LOG"},
                                                      {"LAZY_MAXGRAPH", "LAZY_MAX_GRAPH"},
                                                      {"LAZY_THREADS", "LAZY_NUM_THREADS"},
                                                      {"LAZY_EAGRE", "LAZY_EAGER"},
                                                      {"LAZY_CACHE_SIZES", "LAZY_CACHE_SIZE"},
                                                      {"LAZY_eager", "LAZY_EAGER"},
                                                      {"LAZY_STRICTER", "LAZY_STRICT"},
                                                      {"LAZY_LOGS", "LAZY_LOG"}};
  for (const auto& [given, meant] : near)
    BOOST_TEST(warnings_of({{given, "1"}}) ==
               "lazy: unknown variable " + std::string(given) + " (did you mean " + meant + "?)\n");
  BOOST_TEST(warnings_of({{"LAZY_ZZZZZZZZ", "1"}}) ==
             "lazy: unknown variable LAZY_ZZZZZZZZ (LAZY_CONFIG=help lists all that there are)\n");
  BOOST_TEST(warnings_of({{"LAZY_TEST_SEED", "1"}, {"LAZYLOG", "1"}, {"XLAZY_LOG", "1"}}) == "");
  // An unknown name is never accepted as the variable that it resembles.
  BOOST_TEST(!config::get().eager);
}

BOOST_AUTO_TEST_CASE(strict_throws) {
  const Reread after;
  {
    const Environment e(Variables{{"LAZY_STRICT", "1"}, {"LAZY_MAX_GRAPH", "-5"}, {"LAZY_EAGER", "1"}});
    BOOST_CHECK_EXCEPTION(config::reload_environment(), ConfigError, [](const ConfigError& x) {
      return count(x.what(), "LAZY_MAX_GRAPH='-5'") == 1 && count(x.what(), "expected an integer") == 1;
    });
    BOOST_TEST(!config::get().eager);  // no value of a refused environment is used
  }
  {
    const Environment e(Variables{{"LAZY_STRICT", "on"}, {"LAZY_LGO", "flush"}});
    BOOST_CHECK_THROW(config::reload_environment(), ConfigError);
  }
  {
    const Environment e(Variables{{"LAZY_MAX_GRAPH", "-5"}});
    const config::Override strict("LAZY_STRICT", "1");
    BOOST_CHECK_THROW(config::reload_environment(), ConfigError);
  }
  {
    const Environment e(Variables{{"LAZY_STRICT", "1"}, {"LAZY_MAX_GRAPH", "-5"}});
    const config::Override lenient("LAZY_STRICT", "0");
    BOOST_TEST(count(lazy_test::stderr_of([] { config::reload_environment(); }), "\n") == 1u);
  }
}

BOOST_AUTO_TEST_CASE(code_is_told_at_once) {
  const std::string line = "(config.cpp:" + std::to_string(__LINE__ + 1) + ")";
  BOOST_CHECK_EXCEPTION(config::set("LAZY_MAX_GRAPH", "many"), ConfigError,
                        [&](const ConfigError& x) { return std::string(x.what()).ends_with(line); });
  BOOST_CHECK_EXCEPTION(config::set("LAZY_MAX_GRAF", "1"), ConfigError, [](const ConfigError& x) {
    return count(x.what(), "did you mean LAZY_MAX_GRAPH?") == 1;
  });
  BOOST_TEST(config::get().max_graph == 16384);
}

BOOST_AUTO_TEST_CASE(every_default_is_an_accepted_value) {
  for (const auto& e : config::entries()) {
    if (e.initial.empty()) continue;
    {
      const config::Override same(e.name, e.initial);
      BOOST_TEST(entry(e.name).value == e.initial, e.name);
      BOOST_TEST((entry(e.name).origin == config::Origin::code), e.name);
    }
    BOOST_TEST((entry(e.name).origin == config::Origin::default_), e.name);
  }
}

BOOST_AUTO_TEST_CASE(texts_name_every_variable) {
  const std::string help = config::help(), table = config::markdown(), dump = config::dump();
  const auto all = config::entries();
  BOOST_TEST(all.size() == 46u);
  BOOST_TEST(count(table, "\n") == all.size() + 2);
  BOOST_TEST(count(dump, "\n") == all.size());
  for (const auto& e : all) {
    BOOST_TEST(count(help, "  " + e.name + "  (") == 1u, e.name);
    BOOST_TEST(count(help, e.doc) == 1u, e.name);
    BOOST_TEST(count(table, "| `" + e.name + "` |") == 1u, e.name);
    BOOST_TEST(count("\n" + dump, "\n" + e.name + " ") == 1u, e.name);
  }
  BOOST_TEST(count(table, "auto\\|amx\\|avx512\\|avx2\\|reference") == 1u);
  BOOST_TEST(count(table, "`256MiB`") == 2u);
  const config::Override o("LAZY_CACHE_SIZE", "1536K");
  BOOST_TEST(count(config::dump(), "1536KiB") == 1u);
  BOOST_TEST(count(config::dump(), "code") == 1u);
}

BOOST_AUTO_TEST_CASE(read_while_set) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const int g = config::get().max_graph;
        const std::string& f = config::get().dump_dir;
        if (g != 16384 && g != 1 && g != 2) ++wrong;
        if (!f.empty() && f != "one" && f != "two") ++wrong;
      }
    });
  for (int i = 0; i < 300; ++i) {
    config::set("LAZY_MAX_GRAPH", i % 2 ? "1" : "2");
    config::set("LAZY_DUMP_DIR", i % 2 ? "one" : "two");
  }
  stop = true;
  for (auto& t : readers) t.join();
  config::set("LAZY_MAX_GRAPH", "");
  config::set("LAZY_DUMP_DIR", "");
  BOOST_TEST(wrong == 0);
}

// Runs in a fresh process, where the library has only been used by the static object above.
BOOST_AUTO_TEST_CASE(child_first_use) {
  if (!lazy_test::is_child()) return;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { (void)config::get(); });
  for (auto& t : threads) t.join();
  std::fprintf(stderr, "the program went on, max_graph=%d\n", int(config::get().max_graph));
}

BOOST_AUTO_TEST_CASE(first_use_reads_and_reports_once) {
  const std::string name = "config_registry/child_first_use";
  {
    const auto [text, status] = lazy_test::run_again(name, {{"LAZY_CONFIG", "help"}});
    BOOST_TEST(status == 0);
    BOOST_TEST(count(text, config::help()) == 1u);
    BOOST_TEST(count(text, "the program went on") == 1u);
  }
  {
    const auto [text, status] =
        lazy_test::run_again(name, {{"LAZY_CONFIG", "dump"}, {"LAZY_MAX_GRAPH", "77"}});
    BOOST_TEST(status == 0);
    BOOST_TEST(count(text, "LAZY_MAX_GRAPH ") == 1u);
    BOOST_TEST(count(text, "environment") == 2u);
    BOOST_TEST(count(text, "max_graph=77") == 1u);
  }
  {
    const auto [text, status] = lazy_test::run_again(name, {{"LAZY_MAX_GRAPH", "-5x"}, {"LAZY_LGO", "1"}});
    BOOST_TEST(status == 0);
    BOOST_TEST(count(text, "lazy: ") == 2u);
    BOOST_TEST(count(text, "max_graph=16384") == 1u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
