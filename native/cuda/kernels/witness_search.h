// Arguments of the search for witnesses.
#pragma once
#include "core/problem/structure.h"

namespace mpmml::cuda {

/// Matrices of a product and of its witnesses in device memory.
struct WitnessSearch {
  int64_t batch, m, n, k;
  MatrixView a, b, c;
  /// C0, if `through` is given and the product's kernel doesn't find witnesses. Results equal to C0 keep their
  /// witnesses.
  MatrixView before;
  MutableMatrixView witness;
  MatrixView through;
  Band band;            ///< band of the results; witnesses outside it aren't written
  int64_t chunk_steps;  ///< k-steps per chunk, if the witnesses are hints
};

}  // namespace mpmml::cuda
