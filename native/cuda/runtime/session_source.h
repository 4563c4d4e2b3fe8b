// What a product of a session reads: where it is, and what is known of it.
#pragma once
#include "core/problem/problem.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// An operand, C0 included, and what is known of what is inside its band.
struct Source {
  MatrixView view;
  Band band;
  ResidentMemory* memory = nullptr;  ///< null if the matrix was copied from the host for this product
  ValueBounds facts;
  LineLevels levels;
  bool is_exact = true;
  bool is_operand = true;  ///< it isn't C0
  DeviceBuffer copied;
  PackedForms forms;
  /// A copy that is zero outside the band, if one has been needed.
  MatrixView cleared;
  DeviceBuffer cleared_buffer;
  PackedForms cleared_forms;

  bool is_banded() const { return !band.is_all(view.rows, view.cols); }
};

/// The sources of one product.
class Sources {
 public:
  Sources(const Problem& problem, SessionDevice& device) : problem_(problem), device_(device) {}

  /// The source that is these matrices. Those of the host are copied.
  Source find(const MatrixView& view, const Band& band);
  /// Milliseconds that copying has taken.
  double copying() const { return copying_; }

  /// Its range, as far as is known.
  ValueRange range(const Source& source) const;
  /// Replaces a bound by what the elements are.
  void scan(Source& source) { scan(source, 0); }
  /// Throws Error(kValue) if there are values that aren't elements of the semiring.
  void require_elements(Source& source, const char* name);

  /// The source as a matrix that is zero outside its band.
  const MatrixView& cleared(Source& source);

 private:
  DataType dtype() const { return problem_.operation.dtype; }
  void scan(Source& source, int64_t elements);
  void include_outside(Source& source) const;

  const Problem& problem_;
  SessionDevice& device_;
  double copying_ = 0;
};

}  // namespace mpmml::cuda
