// Inputs of a product of a session: their location, and the bounds of their elements.
#pragma once
#include "core/problem/problem.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// An input (operand or C0), with the bounds of the elements inside its band.
struct Source {
  MatrixView view;
  Band band;
  ResidentMemory* memory = nullptr;  ///< null if the matrix was copied from the host for this product
  ValueBounds facts;
  LineLevels levels;
  bool is_exact = true;
  bool is_operand = true;  ///< false for C0
  DeviceBuffer copied;
  PackedForms forms;
  /// Copy that is zero outside the band, if one was needed.
  MatrixView cleared;
  DeviceBuffer cleared_buffer;
  PackedForms cleared_forms;

  bool is_banded() const { return !band.is_all(view.rows, view.cols); }
};

/// Inputs of one product.
class Sources {
 public:
  Sources(const Problem& problem, SessionDevice& device) : problem_(problem), device_(device) {}

  /// Returns the source of the given matrices. Host matrices are copied to the device.
  Source find(const MatrixView& view, const Band& band);
  /// Duration of the copies in milliseconds.
  double copying() const { return copying_; }

  /// Returns the known range of a source.
  ValueRange range(const Source& source) const;
  /// Replaces the bounds of a source by exact bounds from a scan.
  void scan(Source& source) { scan(source, 0); }
  /// Throws Error(kValue) if the source contains values that aren't elements of the semiring.
  void require_elements(Source& source, const char* name);

  /// Returns the source as a matrix that is zero outside its band.
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
