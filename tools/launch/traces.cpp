#include "tools/launch/traces.hpp"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/launch/exchanges.hpp"

namespace lazy::tool {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int64_t kThreads = 10'000'000;  // above the numbers of threads of a host

struct RankTrace {
  int rank;
  std::string path;
  int64_t began = 0;  // nanoseconds since 1970
};

/// Makes an event one of a rank: in numbers that no other rank's has, on the common clock.
void make_of_rank(json& e, int rank, int ranks, double shift) {
  const auto mine = [&](json& number) { number = number.get<int64_t>() * ranks + rank; };
  const std::string name = e.value("name", "");
  const bool describes = e.value("ph", "") == "M";
  e["pid"] = rank;
  if (e.contains("tid")) e["tid"] = e["tid"].get<int64_t>() + rank * kThreads;
  if (e.contains("ts")) e["ts"] = e["ts"].get<double>() + shift;
  if (e.contains("id")) mine(e["id"]);
  const auto args = e.find("args");
  if (describes && args != e.end()) {
    const std::string of = "rank " + std::to_string(rank);
    (*args)["name"] = name == "process_name" ? of : of + " " + args->value("name", "");
    return;
  }
  if (name == "memory" && e.value("ph", "") == "C" && rank)
    e["name"] = "memory of rank " + std::to_string(rank);
  if (args == e.end() || !args->is_object()) return;
  if (args->contains("program") && (*args)["program"].is_number_integer()) mine((*args)["program"]);
  if (args->contains("graph") && (*args)["graph"].contains("program")) mine((*args)["graph"]["program"]);
}

/// Reads when a trace began; false if it does not say so.
bool read_head(RankTrace& t) {
  std::ifstream in(t.path);
  std::string line;
  if (!std::getline(in, line) || line.rfind("{\"displayTimeUnit\"", 0) != 0) return false;
  const json head = json::parse(line + "]}", nullptr, false);
  if (!head.is_object() || !head.contains("otherData")) return false;
  t.began = head["otherData"].value("began_unix_ns", int64_t{0});
  return t.began > 0;
}

/// Writes the events of a trace, one a line as they are there. False if a line is no event.
bool write_events(const RankTrace& t, int ranks, double shift, std::ofstream& out, bool& some,
                  Exchanges& exchanges) {
  std::ifstream in(t.path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    if (line.rfind("]}", 0) == 0) return true;
    if (line.ends_with(',')) line.pop_back();
    json e = json::parse(line, nullptr, false);
    if (!e.is_object()) return false;
    make_of_rank(e, t.rank, ranks, shift);
    exchanges.add(e, t.rank);
    out << (some ? ",\n" : "\n") << e.dump();
    some = true;
  }
  return false;
}

}  // namespace

std::string trace_of_rank(const std::string& file, int rank) {
  const size_t dot = file.find_last_of("./");
  const size_t at = dot == std::string::npos || file[dot] == '/' ? file.size() : dot;
  return file.substr(0, at) + ".rank" + std::to_string(rank) + file.substr(at);
}

void merge_traces(const std::string& file, int ranks, fs::file_time_type begun) try {
  std::vector<RankTrace> all;
  for (int r = 0; r < ranks; ++r) {
    RankTrace t{r, trace_of_rank(file, r)};
    std::error_code missing;
    const auto written = fs::last_write_time(t.path, missing);
    if (missing || written < begun) continue;
    if (read_head(t)) all.push_back(t);
    else std::fprintf(stderr, "lazy-launch: %s is no trace\n", t.path.c_str());
  }
  if (all.empty()) return;
  int64_t first = all[0].began;
  for (const RankTrace& t : all) first = std::min(first, t.began);
  std::ofstream out(file + ".part", std::ios::binary);
  out << R"({"displayTimeUnit":"ns","otherData":{"producer":"lazy","format":1,"ranks":)" << all.size()
      << R"(,"began_unix_ns":)" << first << R"(},"traceEvents":[)";
  bool some = false;
  Exchanges exchanges;
  for (const RankTrace& t : all)
    if (!write_events(t, all.back().rank + 1, static_cast<double>(t.began - first) / 1000, out, some,
                      exchanges))
      std::fprintf(stderr, "lazy-launch: %s is not whole\n", t.path.c_str());
  for (const json& arrow : exchanges.arrows()) out << (some ? ",\n" : "\n") << arrow.dump(), some = true;
  out << "\n]}\n";
  out.close();
  if (!out) std::fprintf(stderr, "lazy-launch: cannot write %s.part\n", file.c_str());
  else fs::rename(file + ".part", file);
  std::fputs(exchanges.summary().c_str(), stderr);
} catch (const std::exception& e) {
  std::fprintf(stderr, "lazy-launch: the traces of ranks: %s\n", e.what());
}

}  // namespace lazy::tool
