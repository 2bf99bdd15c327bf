// Calls wrongly the functions of networks: images, random numbers, gradients.
#include "tests/lazy/core/messages/messages.hpp"

BOOST_FIXTURE_TEST_SUITE(messages, Operands)

BOOST_AUTO_TEST_CASE(of_images) {
  const Tensor image = ones({1, 2, 8, 8}), w = ones({3, 2, 3, 3}), flat = ones({1, 2, 8}),
               deep = ones({1, 2, 8, 8, 8});
  NAMES(conv, image, flat);
  NAMES(conv1d, image, w);
  NAMES(conv1d, flat, ones({3, 3, 3}));
  NAMES(conv2d, flat, w);
  NAMES(conv2d, image, ones({3, 4, 3, 3}));
  NAMES(conv2d, image, ones({3, 2, 9, 9}));
  NAMES(conv2d, image, w, {.stride = 0});
  NAMES(conv2d, image, w, {.padding = -1});
  NAMES(conv2d, image, w, {.dilation = 0});
  NAMES(conv2d, image, w, {.groups = 0});
  NAMES(conv2d, image, w, {.groups = 2});
  NAMES(conv2d, image > 0, w > 0);
  NAMES(conv2d, astype(image, int64), astype(w, uint64));
  NAMES(conv3d, deep, w);
  NAMES(conv3d, deep, ones({3, 3, 3, 3, 3}));
  NAMES(conv_transpose, image, w);
  NAMES(conv_transpose, image, ones({2, 2, 3, 3}), {.output_padding = -1});
  NAMES(max_pool, image, 9);
  NAMES(max_pool, image, 2, {.padding = 2});
  NAMES(max_pool, image > 0, 2);
  NAMES(avg_pool, five, 2);
  NAMES(avg_pool, image, 2, {.stride = 0});
  NAMES(adaptive_max_pool, image, 0);
  NAMES(adaptive_max_pool, image > 0, 2);
  NAMES(adaptive_avg_pool, image, {1, 2, 3});
  NAMES(max_pool1d, image, 2);
  NAMES(max_pool2d, flat, 2);
  NAMES(max_pool3d, image, 2);
  NAMES(avg_pool1d, image, 2);
  NAMES(avg_pool2d, flat, 2);
  NAMES(avg_pool3d, image, 2);
  NAMES(adaptive_max_pool1d, image, 2);
  NAMES(adaptive_max_pool2d, flat, 2);
  NAMES(adaptive_max_pool3d, image, 2);
  NAMES(adaptive_avg_pool1d, image, 2);
  NAMES(adaptive_avg_pool2d, flat, 2);
  NAMES(adaptive_avg_pool3d, image, 2);
  const Tensor at = ones({1, 2, 8, 8}, int64);
  NAMES(max_pool_with_indices, nothing, 2);
  NAMES(max_pool_with_indices, image, 9);
  NAMES(max_pool_with_indices, image > 0, 2);
  NAMES(max_unpool, image, image, 2);
  NAMES(max_unpool, image, ones({1, 2, 8, 7}, int64), 2);
  NAMES(max_unpool, five, at, 2);
  NAMES(max_unpool, image, at, 2, {}, {1, 2, 3});
  NAMES(lp_pool, image, 0, 2);
  NAMES(lp_pool, image, 2, 2, {.padding = 1});
  NAMES(lp_pool, five, 2, 2);
  NAMES(adaptive_max_pool_with_indices, image, 0);
  NAMES(adaptive_max_pool_with_indices, five, 2);
  NAMES(adaptive_max_pool_with_indices, image > 0, 2);
  NAMES(avg_pool_backward, image, image, 2);
  NAMES(avg_pool_backward, nothing, image, 2);
  NAMES(adaptive_avg_pool_backward, five, image);
  NAMES(adaptive_avg_pool_backward, image, ones({2, 2, 3, 3}));
  NAMES(max_pool_backward, five, image, at);
  NAMES(max_pool_backward, image, image, image);
  NAMES(max_pool_backward, ones({1, 2, 4, 4}), image, at);
  NAMES(adaptive_avg_pool, five, 2);
}

BOOST_AUTO_TEST_CASE(of_random_numbers) {
  NAMES(random_bits, {-1});
  NAMES(rand, {-1});
  NAMES(uniform, 0, 1, {2}, int32);
  NAMES(randn, {2}, int32);
  NAMES(normal, 0, 1, {2}, int32);
  NAMES(randint, 5, 5, {2});
  NAMES(exponential, 1, {-2});
  NAMES(bernoulli, i);
  NAMES(bernoulli, nothing);
  NAMES(permutation, -1);
  CALLS(randperm, permutation, -1);
  NAMES(choice, x, {2});
  NAMES(choice, nothing, {2});
  NAMES(choice, 0, {2});
  NAMES(choice, 3, {4}, false);
  NAMES(choice, 3, {-1});
  NAMES(choice, five, {2}, true, ones({4}));
  NAMES(shuffle, x, 2);
  NAMES(shuffle, nothing);
  NAMES(multinomial, x, 4);
  NAMES(multinomial, i, 1);
  NAMES(multinomial, nothing, 1);
  NAMES(dropout, x, 2);
  NAMES(dropout, nothing);
  NAMES(truncated_normal, 0, 0, -1, 1, {2});
  NAMES(truncated_normal, 0, 1, 1, -1, {2});
  NAMES(truncated_normal, 0, 1, -1, 1, {2}, int32);
  NAMES(laplace, 0, -1, {2});
  NAMES(cauchy, 0, 1, {-2});
  NAMES(gumbel, 0, 0, {2});
  NAMES(log_normal, 0, 1, {2}, int32);
  NAMES(geometric, 0, {2});
  NAMES(geometric, 0.5, {2}, bool_);
  NAMES(standard_gamma, nothing);
  NAMES(gamma, 0, 1, {2});
  NAMES(beta, x, five);
  NAMES(chi2, nothing);
  NAMES(student_t, nothing);
  NAMES(dirichlet, ones({}));
  NAMES(poisson, nothing);
  CALLS(rand_like, rand, i);
  NAMES(rand_like, nothing);
  CALLS(randn_like, randn, i);
  CALLS(randint_like, randint, x, 0, 2);
}

BOOST_AUTO_TEST_CASE(gradients) {
  const auto total = [](const Tensor& a) { return sum(a); };
  const auto list = [](const std::vector<Tensor>& a) { return sum(a[0]); };
  const std::vector<Tensor> integers{arange(3)};
  NAMES(vjp, list, integers);
  NAMES(stop_gradient, nothing);
  CALLS(value_and_grad_of, grad, list, integers);
  const auto no_gradient = [&] { return grad(total)(arange(3)); };
  names_itself(
      "grad", "grad", [&] { (void)value_and_grad(total)(nothing); }, __LINE__);
  BOOST_CHECK_THROW(no_gradient(), DtypeError);
  NAMES(jvp, list, integers, integers);
  NAMES(linearize, list, integers);
  NAMES(hessian_vector, list, {x}, integers);
  NAMES(checkpoint, list, {nothing});
  NAMES(custom_function, list, {}, {nothing});
  NAMES(register_hook, x, {});
  NAMES(register_post_accumulate_grad_hook, x, {});
}

BOOST_AUTO_TEST_SUITE_END()
