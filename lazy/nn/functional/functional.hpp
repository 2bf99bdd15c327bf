// Includes the functions of neural networks that torch.nn.functional has, but attention, convolution and
// pooling.
#pragma once
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/backward.hpp"
#include "lazy/nn/functional/distance.hpp"
#include "lazy/nn/functional/dropout.hpp"
#include "lazy/nn/functional/folding.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/functional/loss.hpp"
#include "lazy/nn/functional/normalisation.hpp"
#include "lazy/nn/functional/padding.hpp"
#include "lazy/nn/functional/resize.hpp"
