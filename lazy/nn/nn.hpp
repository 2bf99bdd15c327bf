// Includes modules: layers, containers, losses, and how they begin. #include <lazy/nn/nn.hpp>.
#pragma once
#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/module.hpp"
