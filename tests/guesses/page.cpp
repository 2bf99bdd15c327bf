// Writes docs/coming_from.md, from coming_from.def.
#include <cstdio>
#include <string>

namespace {

/// Returns code as a cell of a table has it.
std::string cell(std::string code) {
  for (size_t at = 0; (at = code.find('|', at)) != code.npos; at += 2) code.insert(at, 1, '\\');
  return '`' + code + '`';
}

void row(const char* other, const char* words, const char* code) {
  std::printf("| %s | %s%s%s |\n", cell(other).c_str(), cell(code).c_str(), *words ? ": " : "", words);
}

constexpr const char* kHead =
    R"(# Coming from another library

You learn here how to write what you know from NumPy, PyTorch, MLX, libtorch or xtensor. Each row of the tables is
compiled and run by a test: `x` is a tensor (3, 4), `v` one of three numbers, `m` a matrix, `net` a model, all with
`using namespace lazy`.

Where two libraries mean different things by one name, the function is NumPy's and the array API's (as
[semantics](semantics.md) says): `x.std()` divides by n, `x.max(1)` is one tensor, `median` the mean of the two in the
middle, `split(x, 2)` has two parts. What would be read in two ways does not compile, and the compiler's message has the
word `instead`: of `max(x, 0.5f)` it is `instead::maximum`.

What no library prepares you for:

- Nothing is computed before a value is read; `eval(x)` asks for it. See [semantics](semantics.md).
- A copy of a tensor is a copy: `Tensor y = x; y[0] = 1;` leaves x as it was. `x[0] = 1`, `x.add_(1)`, `++x` give the
  variable x a new value.
- `auto row = x[0]` is a value too; `row += 1` does not compile, since it would not change x. Write `x[0] += 1`, or
  `Tensor row = x[0]`.
- Numbers take the tensor's dtype. Literals are of the default dtype (float32) and int64; vectors, arrays and other
  ranges of C++ keep their type: `tensor({1.0})` is float32, `tensor(std::vector<double>{1.0})` is float64.
)";

}  // namespace

int main() {
  std::fputs(kHead, stdout);
#define LIBRARY(name, suite)                      \
  {                                               \
    [[maybe_unused]] const char* const of = name; \
    std::printf("\n## From %s\n", of);
#define TOPIC(topic) std::printf("\n### %s\n\n| %s | lazy |\n|---|---|\n", topic, of);
#define ROW(other, ...) row(other, "", #__VA_ARGS__);
#define NOTE(other, words, ...) row(other, words, #__VA_ARGS__);
#define END_LIBRARY }
#include "tests/guesses/coming_from.def"
}
