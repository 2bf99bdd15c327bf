// Tests that members which LAZY_MODULE leaves out are found, and nothing else is.
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"

namespace {

using namespace lazy;

/// Returns what the call throws, and checks that it is at a line of this file.
template <class F>
std::string thrown(F&& call) {
  try {
    call();
  } catch (const Error& e) {
    BOOST_TEST(std::string(file_name(e.where())) == "left_out.cpp", e.what());
    return e.what();
  }
  return "nothing";
}
#define SAYS(call, part)                                                 \
  do {                                                                   \
    const std::string said = thrown([&] { (void)(call); });              \
    BOOST_TEST(said.find(part) != said.npos, #call << " says " << said); \
  } while (false)

struct Whole : nn::Module {
  nn::Linear hidden{2, 3}, out{3, 1};
  Parameter scale{ones({1})};
  Tensor mask = ones({3});
  std::optional<nn::Linear> skip;
  std::array<nn::Linear, 2> two{nn::Linear{1, 1}, nn::Linear{1, 1}};
  std::vector<nn::Linear> many;
  std::map<std::string, Parameter> named;
  nn::Sequential rest{nn::Linear{1, 1}, nn::ReLU{}};
  LAZY_MODULE(hidden, out, scale, skip, two, many, named, rest)
};

struct LacksLinear : nn::Module {
  nn::Linear hidden{2, 3}, out{3, 1};
  LAZY_MODULE(hidden)
};
struct LacksParameter : nn::Module {
  nn::Linear hidden{2, 3};
  Parameter scale{ones({4})};
  LAZY_MODULE(hidden)
};
struct LacksSequential : nn::Module {
  nn::Sequential rest{nn::Linear{1, 1}};
  nn::Linear hidden{2, 3};
  LAZY_MODULE(hidden)
};
struct LacksDropout : nn::Module {
  nn::Linear hidden{2, 3};
  nn::Dropout drop;
  LAZY_MODULE(hidden)
};
struct LacksNormalisation : nn::Module {
  nn::Linear hidden{2, 3};
  nn::BatchNorm1d norm{3, {.affine = false}};
  LAZY_MODULE(hidden)
};
struct LacksStruct : nn::Module {
  struct Plain {
    nn::Linear a{1, 1}, b{1, 1};
  };
  nn::Linear hidden{2, 3};
  Plain plain;
  LAZY_MODULE(hidden)
};
struct LacksVariant : nn::Module {
  nn::Linear hidden{2, 3};
  std::variant<nn::Linear, nn::Conv1d> either{nn::Linear{1, 1}};
  LAZY_MODULE(hidden)
};
struct LacksOptional : nn::Module {
  nn::Linear hidden{2, 3};
  std::optional<nn::Linear> skip;
  LAZY_MODULE(hidden)
};
struct HasMixin {
  int64_t numbers[8] = {};
};
struct BehindMixin : HasMixin, nn::Module {
  nn::Linear hidden{2, 3}, out{3, 1};
  LAZY_MODULE(hidden)
};
struct Outer : nn::Module {
  nn::Linear first{1, 1};
  LacksLinear block;
  LAZY_MODULE(first, block)
};
struct Forgets : nn::Module {  // its members, as a whole
  nn::Linear hidden{1, 1};
};
struct HasForgetful : nn::Module {
  Forgets block;
  nn::Linear out{1, 1};
  LAZY_MODULE(block, out)
};
struct Base : nn::Module {
  nn::Linear a{1, 1};
  LAZY_MODULE(a)
};
struct Derived : Base {
  nn::Linear b{1, 1};
  LAZY_MODULE_OF(Base, b)
};
struct DerivedLacks : Base {
  nn::Linear b{1, 1}, c{1, 1};
  LAZY_MODULE_OF(Base, b)
};
/// Has what is deliberately no part of it, and what need not be.
struct Hides : nn::Module {
  nn::Linear hidden{1, 1};
  std::shared_ptr<nn::Linear> teacher = std::make_shared<nn::Linear>(1, 1);
  nn::ReLU act;
  nn::MSELoss loss;
  Tensor cache = ones({1});
  Parameter none;
  std::function<Tensor(const Tensor&)> f = [](const Tensor& x) { return x; };
  LAZY_MODULE(hidden)
};

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_left_out)

BOOST_AUTO_TEST_CASE(found) {
  LacksLinear a;
  SAYS(a.parameters(), "LacksLinear: LAZY_MODULE leaves out a member: a Linear, declared after 'hidden', ");
  SAYS(a.parameters(), "a Linear");  // each time
  SAYS(a.state_dict(), "a Linear");
  SAYS(a.load_state_dict({}), "a Linear");
  SAYS(a.train(), "a Linear");
  SAYS(a.eval(), "a Linear");
  SAYS(a.to(float64), "a Linear");
  SAYS(a.zero_grad(), "a Linear");
  SAYS(a.requires_grad_(false), "a Linear");
  SAYS(a.named_buffers(), "a Linear");
  SAYS(optim::Adam(a.named_parameters()), "a Linear");
  SAYS(LacksParameter().parameters(),
       "LacksParameter: LAZY_MODULE leaves out a member: a Parameter of shape [4]");
  SAYS(LacksSequential().parameters(), "a member: a Sequential, 1");
  SAYS(LacksDropout().eval(), "a Dropout");
  SAYS(LacksNormalisation().eval(), "a BatchNorm1d");
  SAYS(LacksStruct().parameters(), "a Linear");
  SAYS(LacksVariant().parameters(), "a Linear");
  SAYS(BehindMixin().parameters(),
       "BehindMixin: LAZY_MODULE leaves out a member: a Linear, declared after 'hidden'");
  SAYS(DerivedLacks().parameters(),
       "DerivedLacks: LAZY_MODULE leaves out a member: a Linear, declared after 'b'");
}

BOOST_AUTO_TEST_CASE(found_below) {
  SAYS(Outer().parameters(),
       "LacksLinear: LAZY_MODULE leaves out a member: a Linear, declared after 'hidden'");
  SAYS(HasForgetful().parameters(), "Forgets: LAZY_MODULE leaves out a member: a Linear");
  nn::Sequential all{nn::ReLU{}, LacksLinear{}};
  SAYS(all.parameters(), "LacksLinear: ");
  nn::Sequential later{nn::ReLU{}};
  BOOST_TEST(later.parameters().empty());
  later.push_back(LacksLinear{});
  SAYS(later[1].module().parameters(), "LacksLinear: ");
  LacksOptional o;
  BOOST_TEST(thrown([&] { o.parameters(); }) == "nothing");
  LacksOptional engaged;
  engaged.skip.emplace(1, 1);
  SAYS(engaged.parameters(), "a Linear");
  std::vector<LacksLinear> grown(1);
  grown.reserve(7);  // moves
  SAYS(grown[0].parameters(), "a Linear");
}

BOOST_AUTO_TEST_CASE(nothing_else_is) {
  Whole a;
  a.skip.emplace(1, 1);
  a.many.emplace_back(1, 1);
  a.named.emplace("x", Parameter(ones({1})));
  BOOST_TEST(thrown([&] { a.parameters(); }) == "nothing");
  Whole b = a, c = std::move(a);
  b = c;
  c = std::move(b);
  BOOST_TEST(thrown([&] { c.state_dict(), b.eval(); }) == "nothing");
  BOOST_TEST(thrown([&] { Derived().parameters(); }) == "nothing");
  BOOST_TEST(thrown([&] { Hides().parameters(); }) == "nothing");
  Whole neighbours[3];
  for (Whole& w : neighbours) BOOST_TEST(thrown([&] { w.parameters(); }) == "nothing");
}

BOOST_AUTO_TEST_SUITE_END()
