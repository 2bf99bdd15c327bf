// Everything a user needs: #include <lazy/lazy.hpp>.
#pragma once
#include "lazy/attention.hpp"
#include "lazy/creation.hpp"
#include "lazy/elementwise.hpp"
#include "lazy/indexing.hpp"
#include "lazy/insight.hpp"
#include "lazy/matmul.hpp"
#include "lazy/print.hpp"
#include "lazy/promotion.hpp"
#include "lazy/reductions.hpp"
#include "lazy/tensor.hpp"
#include "lazy/views.hpp"
#include "support/error.hpp"
