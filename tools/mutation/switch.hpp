// Switches the mutants of a woven copy of the sources on and off (tools/mutate).
//
// MUTANT=n in the environment is mutant n alone. MUTANT_MARKS names a file of a byte a mutant: those that are
// reached are marked there, and none is on.
#pragma once

namespace lazy_mutation {

extern int active;  // 0: none; -1: reached ones are marked
void mark(int first, int count);

/// Returns which of `count` mutants from `first` is on, from 1; 0: none of them.
constexpr int which(int first, int count) {
  if (__builtin_is_constant_evaluated() || __builtin_expect(active == 0, 1)) return 0;
  if (active < 0) mark(first, count);
  return active >= first && active < first + count ? active - first + 1 : 0;
}
constexpr bool on(int id) { return which(id, 1) != 0; }
/// Returns the number to add: 1, or for the second mutant -1.
constexpr int off(int first, int count) {
  const int w = which(first, count);
  return w == 2 ? -1 : w;
}

// Defines relations, each with its mutants in the order of CHANGES in source.py.
#define LAZY_RELATION(name, op, change, ...)                                 \
  template <class A, class B>                                                \
  constexpr auto name(int first, const A& a, const B& b) requires requires { \
    a change b;                                                              \
  }                                                                          \
  {                                                                          \
    const int w = which(first, 1 __VA_OPT__(+1));                            \
    if (w == 1) return a change b;                                           \
    __VA_OPT__(if (w == 2) return a __VA_ARGS__ b;)                          \
    return a op b;                                                           \
  }
LAZY_RELATION(lt, <, <=, >=)
LAZY_RELATION(le, <=, <, >)
LAZY_RELATION(gt, >, >=, <=)
LAZY_RELATION(ge, >=, >, <)
LAZY_RELATION(eq_only, ==, !=)
LAZY_RELATION(ne_only, !=, ==)
#undef LAZY_RELATION

template <class A, class B>
constexpr auto eq(int first, const A& a, const B& b) requires requires {
  a >= b, a <= b;
}
{
  switch (which(first, 3)) {
    case 1: return a != b;
    case 2: return a >= b;
    case 3: return a <= b;
    default: return a == b;
  }
}
template <class A, class B>
constexpr auto ne(int first, const A& a, const B& b) requires requires {
  a<b, a> b;
}
{
  switch (which(first, 3)) {
    case 1: return a == b;
    case 2: return a < b;
    case 3: return a > b;
    default: return a != b;
  }
}

}  // namespace lazy_mutation
