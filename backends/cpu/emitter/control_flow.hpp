// Declares structured control flow on the assembler. Conditions are on the flags that the last instruction
// written sets.
#pragma once
#include <asmjit/x86.h>

namespace lazy::cpu_backend {
namespace x86 = asmjit::x86;

/// Writes `body` so that it is jumped over if the condition holds.
template <class Body>
void skip_if(x86::Assembler& a, x86::CondCode condition, Body&& body) {
  const asmjit::Label over = a.newLabel();
  a.j(condition, over);
  body();
  a.bind(over);
}

/// Writes a loop whose body's last instruction sets the flags: it goes on while the condition holds.
template <class Body>
void loop_while(x86::Assembler& a, x86::CondCode condition, Body&& body) {
  const asmjit::Label again = a.newLabel();
  a.bind(again);
  body();
  a.j(condition, again);
}

/// Writes the same with its first instruction at the beginning of a fetch block.
template <class Body>
void hot_loop_while(x86::Assembler& a, x86::CondCode condition, Body&& body) {
  a.align(asmjit::AlignMode::kCode, 32);
  loop_while(a, condition, body);
}

/// Writes a loop that tests before its body: `test` sets flags, and the loop ends if the condition holds
/// then.
template <class Test, class Body>
void loop_until(x86::Assembler& a, x86::CondCode condition, Test&& test, Body&& body) {
  const asmjit::Label again = a.newLabel(), end = a.newLabel();
  a.bind(again);
  test();
  a.j(condition, end);
  body();
  a.jmp(again);
  a.bind(end);
}

}  // namespace lazy::cpu_backend
