// Tests chat templates beside what transformers' apply_chat_template() renders (tools/chat_cases), the
// language's parts, errors with their places, and templates that want too much or are broken.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "lazy/text/chat_template.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/thrown.hpp"
#include "tests/text/cases.hpp"

using namespace lazy;
using namespace text_test;
using Ordered = nlohmann::ordered_json;

namespace {

/// Returns the folder of the goldens, or of others that tools/chat_cases/make.py wrote.
std::filesystem::path cases_folder() {
  const char* const given = std::getenv("LAZY_TEST_CHAT_CASES");
  return given ? given : LAZY_SOURCE_DIR "/tests/golden/chat";
}

std::vector<std::filesystem::path> templates() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(cases_folder()))
    if (entry.path().extension() == ".jinja") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::string apply_case(const text::ChatTemplate& t, const Ordered& c) {
  const Ordered& tools = c["tools"];
  return t.apply_json(c["messages"].dump(), {.add_generation_prompt = c["add_generation_prompt"],
                                             .tools = tools.is_null() ? "" : tools.dump(),
                                             .variables = c["variables"].dump()});
}

/// Returns what a template writes of one message, "hi" of a user.
std::string rendered(const std::string& source, const text::ChatOptions& options = {}) {
  return text::ChatTemplate(source, R"({"bos_token": "<s>"})").apply({{"user", "hi"}}, options);
}

/// Returns what rendering throws.
std::string problem(const std::string& source) {
  return test::thrown<Error>([&] { (void)rendered(source); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_chat)

BOOST_AUTO_TEST_CASE(templates_render_as_those_of_transformers) {
  size_t rendered = 0, refused = 0;
  for (const auto& path : templates()) {
    const Ordered golden =
        Ordered::parse(read_file(path.parent_path() / (path.stem().string() + ".cases.json")));
    const text::ChatTemplate t(read_file(path), golden["special_tokens"].dump());
    size_t i = 0;
    for (const Ordered& c : golden["cases"]) BOOST_TEST_CONTEXT(path.stem().string() << ", case " << i++) {
        if (c["text"].is_string()) {
          ++rendered;
          try {
            BOOST_TEST(apply_case(t, c) == c["text"].get<std::string>());
          } catch (const Error& e) { BOOST_ERROR(e.what()); }
        } else {
          ++refused;
          BOOST_CHECK_THROW(apply_case(t, c), Error);
        }
      }
  }
  BOOST_TEST(rendered > 200u);
  BOOST_TEST(refused > 20u);
}

BOOST_AUTO_TEST_CASE(parts_of_the_language) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n", "a"},
      {"a\n\n", "a\n"},
      {"a\r\nb\rc", "a\nb\nc"},
      {"  {% if true %}\n  x\n  {% endif %}\ny", "  x\ny"},
      {"  {%+ if true %}x{% endif +%}\ny", "  x\ny"},
      {"x {{- 1 -}} y", "x1y"},
      {"{# a #}\nb {#- c -#} d", "bd"},
      {"{% raw %}{{ x }}{% endraw %}", "{{ x }}"},
      {"{{ {'a': {'b': 1}}}}", "{'a': {'b': 1}}"},
      {"{{ 'a' 'b' \"\\u00e4\\x41\\t\\q\" }}",
       "ab\xC3\xA4"
       "A\t\\q"},
      {"{{ 1 + 2 * 3 ** 2 - -1 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 1.0 }} {{ 1e20 }} {{ 1e-7 }} {{ "
       "0.1 + 0.2 }}",
       "20 3.5 -4 2 1.0 1e+20 1e-07 0.30000000000000004"},
      {"{{ 1 ~ 'a' ~ none ~ true ~ missing }}", "1aNoneTrue"},
      {"{{ 'b' if false else 'c' if false else 'd' }}{{ 1 if false }}", "d"},
      {"{{ not 1 == 2 and 2 in [1, 2] and 'x' not in 'abc' and 1 < 2 <= 2 }}", "True"},
      {"{{ none or 0 or '' or [] or 'last' }} {{ 1 and 2 }}", "last 2"},
      {"{{ 'abcdef'[1:4] }}{{ 'abcdef'[::-1] }}{{ 'abc'[-1] }}{{ [1,2,3][:-1] }}{{ [1,2,3][5:] }}{{ "
       "'abc'[::-2] }}",
       "bcdfedcbac[1, 2][]ca"},
      {"{{ '\xC3\xA4\xC3\xB6\xC3\xBC'[1] }}{{ '\xC3\xA4\xC3\xB6'|length }}{{ '\xC3\xA4\xC3\x9F'|upper }}",
       "\xC3\xB6"
       "2\xC3\x84SS"},
      {"{% for a, b in {'x': 1, 'y': 2}.items() %}{{ loop.index }}{{ a }}{{ b }}{% if not loop.last %},{% "
       "endif %}{% endfor %}",
       "1x1,2y2"},
      {"{% for x in [] %}a{% else %}none{% endfor %}", "none"},
      {"{% for x in [1, 2] %}{% continue %}{% else %}none{% endfor %}", "none"},
      {"{% for x in range(10) if x is odd %}{% if x == 7 %}{% break %}{% endif %}{{ x }}{% endfor %}", "135"},
      {"{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}", "15151"},
      {"{% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
       "4"},
      {"{% set x %}a{{ 1 }}{% endset %}[{{ x }}]{% set y | upper %}b{% endset %}{{ y }}", "[a1]B"},
      {"{% macro f(a, b=2) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{% set c = 3 %}{{ f(1) }}{{ f(b=5, a=4) }}",
       "123453"},
      {"{% generation %}x{% endgeneration %}", "x"},
      {"{{ messages[0].role }}{{ messages[0]['content'] }}{{ messages[0].nothing is defined }}{{ bos_token "
       "}}",
       "userhiFalse<s>"},
      {"{{ tools is none }}{{ add_generation_prompt }}{{ eos_token is defined }}", "TrueFalseFalse"},
      {"{{ {'items': 1}['items'] }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.get('b', 2) }}", "1None2"},
      {"{{ {'b': [1, none, 1.5, 'x\\n\"'], 'a': {}} | tojson }}",
       R"({"b": [1, null, 1.5, "x\n\""], "a": {}})"},
      {"{{ {'b': [1, []], 'a': {}} | tojson(indent=2) }}",
       "{\n  \"b\": [\n    1,\n    []\n  ],\n  \"a\": {}\n}"},
      {"{{ [3, 1, 2]|sort|join('-') }} {{ ['B', 'a']|sort|join }} {{ ['B', "
       "'a']|sort(case_sensitive=true)|join }}",
       "1-2-3 aB Ba"},
      {"{{ 'a b  c'.split() }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}",
       "['a', 'b', 'c']['a', 'b,c']['a,b', 'c']"},
      {"{{ ' x '.strip() }}{{ 'xxay'.lstrip('x') }}{{ 'abc'.endswith(('b', 'c')) }}{{ 'aXb'.replace('X', '') "
       "}}",
       "xayTrueab"},
  };
  for (const auto& [source, expected] : cases) BOOST_TEST_CONTEXT(source) {
      try {
        BOOST_TEST(rendered(source) == expected);
      } catch (const Error& e) { BOOST_ERROR(e.what()); }
    }
  BOOST_TEST(
      rendered(
          "{{ 'hello world'.title() }}{{ 'hELLO'|capitalize }}{{ z|default('y') }}{{ ''|d('y', true) }}") ==
      "Hello WorldHelloyy");
  BOOST_TEST(rendered("{{ strftime_now('%Y-%m') }}", {.now = std::time_t{1700000000}}) == "2023-11");
}

BOOST_AUTO_TEST_CASE(errors_say_where) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\nb {{ x.y }}", "apply: line 2, column 7 of the template: 'x' is undefined"},
      {"{% if x %}", "ChatTemplate: line 1, column 11 of the template: the block has no {% endif %}"},
      {"{{ 1 + }}", "line 1, column 8 of the template: expected an expression, found '}}'"},
      {"{{ x", "line 1, column 1 of the template: the tag does not end"},
      {"\xC3\xA4{{ 'x }}", "line 1, column 5 of the template: the string does not end"},
      {"{% endfor %}", "'endfor' ends no block"},
      {"{% include 'x' %}", "the tag 'include' is not supported"},
      {"{{ x|frobnicate }}", "line 1, column 6 of the template: the filter 'frobnicate' is not supported"},
      {"{{ 1 is strange }}", "the test 'strange' is not supported"},
      {"{{ [].append(1) }}", "the method 'append' of a value of type list is not supported"},
      {"{{ raise_exception('no ' ~ 1) }}", "the template refuses: no 1"},
      {"{{ 'a' + 1 }}", "'+' takes no values of types str and int"},
      {"{{ 1 // 0 }}", "division by 0"},
      {"{{ 9223372036854775807 + 1 }}", "more than 64 bits"},
      {"{{ none() }}", "a value of type NoneType can't be called"},
      {"{{ nothing() }}", "'nothing' is undefined"},
      {"{% for x in 1 %}{% endfor %}", "a value of type int has no items"},
      {"{% for a, b in [[1]] %}{% endfor %}", "1 values for 2 names"},
      {"{% set x = 1 %}{% set x.y = 2 %}", "'x' is no namespace"},
      {"{{ messages[0].content.split('') }}", "split by a text that is not empty"},
      {"{{ range(1000000) }}", "a range has more than 100000 numbers"},
      {"{% break %}", "'break' is in no loop"},
      {"{{ ~ }}", "expected an expression"},
      {"{{ $ }}", "'$' belongs to no expression"},
  };
  for (const auto& [source, expected] : cases) BOOST_TEST_CONTEXT(source) {
      const std::string found = problem(source);
      BOOST_TEST(found.find(expected) != found.npos, found);
      BOOST_TEST(found.find("chat.cpp:") != found.npos, found);
    }
  const auto fails = [](const std::string& part, const auto& f) {
    const std::string found = test::thrown<Error>(f);
    BOOST_TEST(found.find(part) != found.npos, found);
  };
  fails("default-constructed", [] { (void)text::ChatTemplate().apply({{"user", "x"}}); });
  fails("byte 1 of the template is no UTF-8", [] { text::ChatTemplate("a\xFF"); });
  fails("1 MiB", [] { text::ChatTemplate(std::string(1 << 20, 'a')); });
  const text::ChatTemplate t("x");
  fails("message 1 is no UTF-8", [&] { (void)t.apply({{"user", "x"}, {"user", "\xFF"}}); });
  fails("the messages are JSON", [&] { (void)t.apply_json("[{"); });
  fails("the messages are a list of JSON", [&] { (void)t.apply_json("{}"); });
  fails("the variables are an object of JSON", [&] { (void)t.apply_json("[]", {.variables = "[]"}); });
  fails("nested more than 64 deep",
        [&] { (void)t.apply_json(std::string(1000, '[') + std::string(1000, ']')); });
}

BOOST_AUTO_TEST_CASE(what_wants_too_much_is_refused) {
  const std::string many = "{% for a in range(90000) %}", end = "{% endfor %}";
  std::string brackets = std::string(5000, '(') + "1" + std::string(5000, ')') + "}}", chain = "1", ifs,
              lists = "[]", tall;
  for (int i = 0; i < 5000; ++i)
    chain += " + 1", ifs += "{% if 1 %}", lists += "[0]", tall += "{% if 0 %}{% elif 1 %}";
  const std::pair<std::string, const char*> cases[] = {
      {many + many + end + end, "steps"},
      {"{% set ns = namespace(x='aaaaaaaa') %}" + many + "{% set ns.x = ns.x + ns.x %}" + end,
       "of the template"},
      {"{% set ns = namespace(x=[1]) %}" + many + "{% set ns.x = ns.x + ns.x %}" + end, "of the template"},
      {"{% set ns = namespace(x=[]) %}" + many + "{% set ns.x = [ns.x] %}" + end, "more than 64 deep"},
      {"{% set ns = namespace(x=['a']) %}" + many + "{% set ns.x = [ns.x, ns.x] %}" + end, "of the template"},
      {"{{ 'x' * 1000000000 }}", "too long"},
      {"{{ [1] * 100000000000 }}", "too long"},
      {many + "{{ 'x' * 10000 }}" + end, "of the template"},
      {"{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}", "steps"},
      {"{{ ['x' * 1000000] * 60 | join('x' * 100000) }}", "of the template"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deep"},
      {"{{ " + brackets, "more than 100 deep"},
      {"{{ " + chain + " }}", "follow each other"},
      {"{{ " + lists + " }}", "follow each other"},
      {ifs, "more than 100 deep"},
      {tall, "more than 100 deep"},
      {"{{ x" + std::string(5000, '.') + " }}", "of the template"},
      {"{{ " + std::string(100000, '-') + "1 }}", "more than 100 deep"},
      {"{{ [1]|tojson(indent=1000000000) }}", "indent"},
      {"{{ 'a'|indent(1000000000) }}", "width"},
      {"{{ strftime_now('%9999999d') }}", "strftime_now"},
  };
  for (const auto& [source, expected] : cases) BOOST_TEST_CONTEXT(source.substr(0, 80)) {
      const std::string found = problem(source);
      BOOST_TEST(found.find(expected) != found.npos, found.substr(0, 300));
    }
  // A namespace that has itself is let go.
  BOOST_TEST(rendered("{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x|length }}") == "1");
}

BOOST_AUTO_TEST_CASE(broken_templates_are_refused_or_rendered) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 r(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(r() % std::max<size_t>(n, 1)); };
  const char* const rounds = std::getenv("LAZY_TEST_ROUNDS");
  constexpr std::string_view kPieces[] = {
      "{{",       "}}", "{%",  "%}",   "-",          "|",        "(",       ")",     "[",
      "]",        "'",  ".",   "for ", "if ",        "endif",    "set",     "~",     "*",
      "**",       "+",  "end", "{#",   "#}",         ":",        "in ",     "is ",   "loop",
      "range(9)", "=",  "\n",  "not ", "9999999999", "messages", "|tojson", "|join", "[::-1]"};
  size_t done = 0, refused = 0;
  for (const auto& path : templates()) {
    const std::string whole = read_file(path);
    const Ordered golden =
        Ordered::parse(read_file(path.parent_path() / (path.stem().string() + ".cases.json")));
    for (int i = 0; i < (rounds ? std::atoi(rounds) : 60); ++i) {
      std::string s = whole;
      for (size_t n = 1 + below(4); n > 0 && !s.empty(); --n) {
        const size_t at = below(s.size());
        switch (below(5)) {
          case 0: s.erase(at, 1 + below(20)); break;
          case 1: s.insert(at, kPieces[below(std::size(kPieces))]); break;
          case 2: s.insert(at, s.substr(below(s.size()), 1 + below(60))); break;
          case 3: s.replace(at, 1, kPieces[below(std::size(kPieces))]); break;
          default: s[at] = static_cast<char>(r());
        }
      }
      try {
        const text::ChatTemplate t(s, golden["special_tokens"].dump());
        (void)apply_case(t, golden["cases"][below(golden["cases"].size())]);
        ++done;
      } catch (const Error&) { ++refused; }
    }
  }
  BOOST_TEST(done > 0u);
  BOOST_TEST(refused > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
