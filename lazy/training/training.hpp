// Includes what lazy::training has: what goes on around the steps.
#pragma once
#include "lazy/training/checkpoint.hpp"
#include "lazy/training/curves.hpp"
#include "lazy/training/event_writer.hpp"
#include "lazy/training/progress.hpp"
