// Tokenizes strings for compare.py, which compares with other tokenizers.
//
//   tokenizer_cases encode TOKENIZER STRINGS            a line of JSON for each string
//   tokenizer_cases decode TOKENIZER IDS                a line of JSON for each list of ids
//   tokenizer_cases time TOKENIZER TEXT [ROUNDS]        MB/s of each round, line by line
//   tokenizer_cases whole TOKENIZER TEXT [ROUNDS]       the same, the text as one
//
// STRINGS has a JSON array, in a line each: a string, or a list of two.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lazy/text/tokenizer.hpp"
#include "support/error.hpp"

namespace {

using lazy::text::Encoding;
using lazy::text::Tokenizer;
using Json = nlohmann::json;

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

Json as_json(const Encoding& e) {
  Json offsets = Json::array();
  for (const auto& span : e.offsets) offsets.push_back({span.begin, span.end});
  return {{"ids", e.ids}, {"offsets", offsets}, {"types", e.type_ids}, {"special", e.special}};
}

void encode(const Tokenizer& t, const char* path) {
  std::string out;
  for (const std::string& line : lines_of(read(path))) {
    const Json one = Json::parse(line);
    Json result;
    try {
      result = one.is_array() ? as_json(t.encode_pair(one[0].get<std::string>(), one[1].get<std::string>()))
                              : as_json(t.encode(one.get<std::string>()));
      const auto ids = result["ids"].get<std::vector<int64_t>>();
      lazy::text::DecodeStream stream(t, {.skip_special = false});
      std::string streamed;
      for (const int64_t id : ids) streamed += stream.step(id);
      streamed += stream.finish();
      result["text"] = t.decode(ids);
      result["all"] = t.decode(ids, {.skip_special = false});
      result["streamed"] = streamed;
    } catch (const lazy::Error& e) { result["error"] = e.what(); }
    out += result.dump() + "\n";
  }
  std::cout << out;
}

void decode(const Tokenizer& t, const char* path) {
  for (const std::string& line : lines_of(read(path)))
    std::cout << Json(t.decode(Json::parse(line).get<std::vector<int64_t>>(), {.skip_special = false})).dump()
              << "\n";
}

void time(const Tokenizer& t, const std::vector<std::string>& texts, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    size_t bytes = 0, tokens = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& text : texts) {
      bytes += text.size();
      tokens += t.encode(text).ids.size();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%.2f MB/s, %zu tokens\n", static_cast<double>(bytes) / 1e6 / seconds, tokens);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: tokenizer_cases encode|decode|time|whole TOKENIZER FILE [ROUNDS]\n");
    return 2;
  }
  const std::string what = argv[1];
  const Tokenizer t = lazy::text::load_tokenizer(argv[2]);
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 1;
  if (what == "encode") encode(t, argv[3]);
  if (what == "decode") decode(t, argv[3]);
  if (what == "time") time(t, lines_of(read(argv[3])), rounds);
  if (what == "whole") time(t, {read(argv[3])}, rounds);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 3;
}
