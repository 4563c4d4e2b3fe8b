// Auxiliary outputs: optional results of a product in addition to C. Code that only moves, clears or counts them
// iterates over the table here, so that a new auxiliary output is one field and one row.
#pragma once
#include <cstdint>
#include <iterator>

#include "core/algebra/sentinels.h"
#include "core/problem/layout.h"

namespace mpmml {

/// Auxiliary outputs: M × N, int32, in any memory that C may be in. Data is null for outputs that aren't requested.
struct AuxiliaryOutputs {
  /// Index k that decides each element of C: see Problem and UserProduct.
  MutableMatrixView witness;
};

constexpr DataType kAuxiliaryType = DataType::kInt32;
constexpr int64_t kAuxiliaryBytes = element_bytes(kAuxiliaryType);

/// The alias avoids a warning of the host compiler about the type as nvcc prints it.
using AuxiliaryView = MutableMatrixView AuxiliaryOutputs::*;

struct AuxiliaryOutput {
  AuxiliaryView view;
  const char* name;  ///< name in messages
  int32_t none;      ///< value for an element of C outside of the structure, or that no candidate decides
};

constexpr AuxiliaryOutput kAuxiliaryResults[] = {{&AuxiliaryOutputs::witness, "the witness", kNoWitness}};
constexpr size_t kAuxiliaryCount = std::size(kAuxiliaryResults);

/// Calls visit(result) for each requested auxiliary output.
template <class Visit>
void for_auxiliary(const AuxiliaryOutputs& of, Visit&& visit) {
  for (const AuxiliaryOutput& it : kAuxiliaryResults) {
    if ((of.*it.view).data) visit(it);
  }
}

/// Returns a bit for each requested auxiliary output.
inline uint32_t requested_auxiliary(const AuxiliaryOutputs& of) {
  uint32_t asked = 0;
  for (size_t index = 0; index < kAuxiliaryCount; ++index) {
    asked |= uint32_t{(of.*kAuxiliaryResults[index].view).data != nullptr} << index;
  }
  return asked;
}

inline int32_t& auxiliary_at(const MutableMatrixView& view, int64_t item, int64_t row, int64_t col) {
  return static_cast<int32_t*>(view.data)[item * view.batch_stride + row * view.row_stride + col * view.col_stride];
}

}  // namespace mpmml
