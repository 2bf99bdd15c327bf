// Includes everything that trains parameters: #include <lazy/optim/optim.hpp>.
#pragma once
#include "lazy/optim/adam.hpp"
#include "lazy/optim/adaptive.hpp"
#include "lazy/optim/averaging.hpp"
#include "lazy/optim/clip_grad.hpp"
#include "lazy/optim/lbfgs.hpp"
#include "lazy/optim/lr_scheduler.hpp"
#include "lazy/optim/sgd.hpp"
