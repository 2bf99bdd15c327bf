// Includes models: #include <lazy/models/models.hpp>, target lazy::models. Each is a struct of modules with a
// struct of its sizes; parameters have the names that torchvision's and Hugging Face's have, so that their
// weights load:
//
//   models::GPT2 gpt{models::GPT2Config{}};
//   gpt.load_state_dict(load_safetensors("model.safetensors"));
//
// Calling one records ops and computes nothing. What has batch normalisation or dropout behaves as train()
// and eval() say.
#pragma once
#include "lazy/models/bert.hpp"
#include "lazy/models/bert_heads.hpp"
#include "lazy/models/dlrm.hpp"
#include "lazy/models/gpt2.hpp"
#include "lazy/models/llama.hpp"
#include "lazy/models/mlp.hpp"
#include "lazy/models/mobilenet.hpp"
#include "lazy/models/resnet.hpp"
#include "lazy/models/tagger.hpp"
#include "lazy/models/unet.hpp"
#include "lazy/models/vit.hpp"
