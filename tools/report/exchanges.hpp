// Says what ranks exchanged, by kind and line: the time it took, and how much of it one waited for whom.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace.hpp"

namespace report {

/// Adds up parts of exchanges. Microseconds.
struct ExchangeSums {
  int64_t parts = 0;
  double total = 0, waited = 0;
  std::vector<double> waited_for;  // by rank
};

/// Adds up the exchanges of one kind at one line.
struct ExchangeRow {
  int kind = 0, at = 0;
  int64_t exchanges = 0;
  double elements = 0, bytes = 0;   // of a rank, in one exchange, on average
  ExchangeSums all;                 // of all ranks
  std::vector<ExchangeSums> ranks;  // by rank
};

/// Sorts a trace's exchanges, names its ranks, and finds out who waited for whom.
void join_exchanges(Trace&);
/// True if it is known who waited for whom.
bool waits_are_known(const Trace&);
/// Returns what was exchanged, the dearest first.
std::vector<ExchangeRow> exchange_rows(const Trace&);
/// Returns a table of lines; empty if nothing was exchanged.
std::string exchanges_text(const Trace&);
/// Returns the rows as they are in the page and the summary, times in microseconds times `scale`, under names
/// that end with `unit`; null for what is not known.
nlohmann::ordered_json exchanges_json(const Trace&, double scale, const std::string& unit);

}  // namespace report
