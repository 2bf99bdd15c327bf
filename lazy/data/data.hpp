// Includes what lazy::data has: datasets, samplers, DataLoader, readers of sets, and transforms of batches.
#pragma once
#include "lazy/data/files.hpp"
#include "lazy/data/loader.hpp"
#include "lazy/data/transforms.hpp"
