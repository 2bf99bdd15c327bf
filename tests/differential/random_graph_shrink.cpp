// Makes shorter and simpler programs of one that fails.
#include <algorithm>

#include "support/error.hpp"
#include "tests/differential/random_graph.hpp"

namespace random_graph {
namespace {

using namespace lazy;

// Removes statement `at`: its uses read `instead`, or are removed too.
Program without(const Program& p, int at, int instead) {
  Program q = p;
  q.statements.clear();
  q.dropped_after.clear();
  std::vector<int> now(p.statements.size(), -1), old_of;
  for (int i = 0; i < static_cast<int>(p.statements.size()); ++i) {
    if (i == at) {
      if (instead >= 0) now[static_cast<size_t>(i)] = now[static_cast<size_t>(instead)];
      continue;
    }
    Statement s = p.statements[static_cast<size_t>(i)];
    bool whole = true;
    for (int& o : s.operand)
      if (o >= 0) {
        o = now[static_cast<size_t>(o)];
        whole = whole && o >= 0;
      }
    if (!whole) continue;
    now[static_cast<size_t>(i)] = static_cast<int>(q.statements.size());
    q.statements.push_back(std::move(s));
    old_of.push_back(i);
  }
  const auto n = static_cast<int>(q.statements.size());
  for (int j = 0; j < n; ++j) {
    const int before = p.dropped_after[static_cast<size_t>(old_of[static_cast<size_t>(j)])];
    if (before == kToTheEnd) {
      q.dropped_after.push_back(kToTheEnd);
      continue;
    }
    int drop =
        j;  // new place of the old statement, or of the last one before it; after the last use in any case
    for (int k = j; k < n; ++k) {
      if (old_of[static_cast<size_t>(k)] <= before) drop = k;
      for (int o : q.statements[static_cast<size_t>(k)].operand)
        if (o == j) drop = std::max(drop, k);
    }
    q.dropped_after.push_back(drop);
  }
  return q;
}

}  // namespace

std::vector<Program> simpler(const Program& p) {
  std::vector<Program> all;
  const auto n = static_cast<int>(p.statements.size());
  for (int i = n - 1; i >= 0; --i) {
    if (n > 1) all.push_back(without(p, i, -1));
    const Statement& s = p.statements[static_cast<size_t>(i)];
    for (int o : s.operand)
      if (o >= 0 && p.statements[static_cast<size_t>(o)].dims == s.dims) all.push_back(without(p, i, o));
  }
  for (int i = 0; i < n; ++i) {
    if (p.dropped_after[static_cast<size_t>(i)] == kToTheEnd && i != n - 1) {
      Program q = p;
      int last = i;
      for (int k = i; k < n; ++k)
        for (int o : p.statements[static_cast<size_t>(k)].operand)
          if (o == i) last = k;
      q.dropped_after[static_cast<size_t>(i)] = last;
      all.push_back(std::move(q));
    }
    if (p.statements[static_cast<size_t>(i)].layout != 0) {
      Program q = p;
      q.statements[static_cast<size_t>(i)].layout = 0;
      all.push_back(std::move(q));
    }
  }
  if (p.specials) {
    all.push_back(p);
    all.back().specials = false;
  }
  for (size_t k = 0; k < p.symbols.size(); ++k)
    for (const bool second : {false, true}) {
      const int64_t v = second ? p.symbols[k].second : p.symbols[k].first;
      if (p.symbols[k].derived || v <= 3) continue;
      Program q = p;
      (second ? q.symbols[k].second : q.symbols[k].first) = v / 2 + 1;
      all.push_back(std::move(q));
    }
  // Only programs that both runs can record are left.
  std::erase_if(all, [](const Program& q) {
    try {
      for (const bool second : {false, true}) {
        Machine m(q, {second, 0});
        for (const Statement& s : q.statements) m.step(s);
      }
    } catch (const Error&) { return true; }
    return q.statements.empty();
  });
  return all;
}

}  // namespace random_graph
