// What a search for witnesses reads and writes.
#pragma once
#include "core/problem/structure.h"

namespace mpmml::cuda {

/// The matrices of a product, and of its witnesses, on the device.
struct WitnessSearch {
  int64_t batch, m, n, k;
  MatrixView a, b, c;
  /// C0, if `through` is given and the product's kernel knew nothing of witnesses. Results equal to it keep theirs.
  MatrixView before;
  MutableMatrixView witness;
  MatrixView through;
  Band band;            ///< of the results; what is outside isn't written
  int64_t chunk_steps;  ///< of K, if the witnesses are hints
};

}  // namespace mpmml::cuda
