// The kernels with holes (templates/product.cu) as the build has compiled them to PTX, for splice.h.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/user/templates/table.h"

namespace mpmml::cuda {

/// What a template computes, and how. The parameters are those of Tile in templates/product.cu.
struct UserTemplate {
  const char* name;
  int lanes, tile_m, tile_n, tile_k, thread_m, thread_n, slices, stages, unrolled;
  bool loads_elements;     ///< with any strides; otherwise in chunks, from packed operands
  bool may_be_structured;  ///< whether it takes products with a structure
  bool takes_few;          ///< whether it is for few steps
  bool skips;              ///< whether it leaves out steps that change nothing
  bool finds_witnesses;

  int threads() const { return tile_m / thread_m * (tile_n / thread_n) * slices; }
  /// How often ⊕ ⊗ is written out in it.
  int copies() const { return thread_m * thread_n * (unrolled + 1); }
};

/// All, in the order of the table.
const std::vector<UserTemplate>& user_templates();

/// The PTX of the templates for one architecture and all newer ones: what is before every kernel, and the kernels, in the order of the
/// table.
struct UserPtx {
  int capability;  ///< 80 is compute capability 8.0
  std::string_view head;
  std::vector<std::string_view> kernels;
};

/// Those of this build. Defined by what templates/embed.mjs writes.
const std::vector<UserPtx>& user_ptx();

}  // namespace mpmml::cuda
