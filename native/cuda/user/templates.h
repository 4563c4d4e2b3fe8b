// Kernel templates with placeholders (templates/product.cu), compiled to PTX by the build.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "cuda/user/templates/table.h"

namespace mpmml::cuda {

/// Properties of a template. The parameters are those of Tile in templates/product.cu.
struct UserTemplate {
  const char* name;
  int lanes, tile_m, tile_n, tile_k, thread_m, thread_n, slices, stages, unrolled;
  bool loads_elements;     ///< loads with any strides; otherwise chunks of packed operands
  bool may_be_structured;  ///< whether it supports structured products
  bool takes_few;          ///< whether it is for products of few k-steps
  bool skips;              ///< whether it skips k-steps that don't change results
  bool finds_witnesses;

  int threads() const { return tile_m / thread_m * (tile_n / thread_n) * slices; }
  /// Returns the number of unrolled copies of ⊕ ⊗ in the code.
  int copies() const { return thread_m * thread_n * (unrolled + 1); }
};

/// Returns all templates, in the order of the table.
const std::vector<UserTemplate>& user_templates();

/// PTX of the templates for one architecture and all newer ones: the text before every kernel, and the kernels by name.
struct UserPtx {
  int capability;  ///< 80 is compute capability 8.0
  std::string_view head;
  std::map<std::string_view, std::string_view> kernels;
};

/// Returns the PTX of this build. templates/embed.mjs generates the definition.
const std::vector<UserPtx>& user_ptx();

}  // namespace mpmml::cuda
