// Compares each optimizer, with each option, with torch's, over 16 steps in float64.
#include "tests/training/optim/golden.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(optim_updates)

BOOST_AUTO_TEST_CASE(as_torch) {
  std::vector<double> start;
  std::vector<std::vector<double>> gradients;
  std::map<std::string, int> seen;
  for (const golden::Line& l : golden::lines("updates")) {
    if (l.name == "start") start = l.fields[0];
    else if (l.name == "gradients") gradients.push_back(l.fields[0]);
    else BOOST_TEST_CONTEXT(l.text) {
        ++seen[l.name];
        golden::Weights p(start);
        const auto optimizer = golden::optimizers().at(l.name)({p.w, p.b});
        golden::set_options(*optimizer, l);
        size_t shown = 0;
        for (size_t i = 0; i < gradients.size(); ++i) {
          p.set_grad(gradients[i]);
          optimizer->step();
          if (l.fields[shown][0] != static_cast<double>(i + 1)) continue;
          golden::close(p.values(), {l.fields[shown].begin() + 1, l.fields[shown].end()}, 1e-11);
          ++shown;
        }
        BOOST_TEST(shown == l.fields.size());
      }
  }
  BOOST_TEST(seen.size() == golden::optimizers().size());
}

// In 16 bits the state is of float32, and the parameter is rounded once a step.
BOOST_AUTO_TEST_CASE(dtypes) {
  const std::vector<golden::Line> lines = golden::lines("updates");
  for (const auto& [name, make] : golden::optimizers())
    for (const DType t : {float16, bfloat16, float32, float64})
      BOOST_TEST_CONTEXT(name << " " << name_of(t)) {
        golden::Weights p(lines[0].fields[0], t), wide(lines[0].fields[0], t);
        const DType work = t == float64 ? float64 : float32;
        const auto narrow_one = make({p.w, p.b});
        narrow_one->set_lr(0.01);
        for (size_t i = 1; i <= 3; ++i) {
          Parameter w(p.w.astype(work)), b(p.b.astype(work));
          const auto wide_one = make({w, b});
          wide_one->load_state_dict(narrow_one->state_dict());
          p.set_grad(lines[i].fields[0]);
          w.set_grad(p.w.grad().astype(work));
          if (p.b.grad().defined()) b.set_grad(p.b.grad().astype(work));
          narrow_one->step();
          wide_one->step();
          BOOST_TEST((p.w.dtype() == t));
          check::same(p.w, w.astype(t));
          check::same(p.b, b.astype(t));
        }
        for (const auto& [key, value] : narrow_one->state_dict())
          if (value.ndim() > 0) BOOST_TEST((value.dtype() == work));
      }
}

// Shapes of no elements, of one, and large enough for several threads.
BOOST_AUTO_TEST_CASE(shapes) {
  for (const auto& [name, make] : golden::optimizers())
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7, 0, 3}, Shape{13, 17}, Shape{1009, 211}})
      BOOST_TEST_CONTEXT(name << " " << to_string(shape)) {
        Parameter p(full(shape, 0.5));
        const auto o = make(p);
        p.set_grad(full(shape, 0.25));
        o->step();
        o->step();
        BOOST_TEST(to_string(p.shape()) == to_string(shape));
        const std::vector<float> v = p.to_vector<float>();
        for (const float x : v) BOOST_REQUIRE((x == v[0] && x < 0.5f));
      }
}

BOOST_AUTO_TEST_SUITE_END()
