#include "cuda/transfer.h"

#include <cstring>

#include "cuda/error.h"

namespace mpmml::cuda {
namespace {

/// How one matrix lies in memory: `lines` runs of `length` contiguous elements, `pitch` elements apart.
struct Lines {
  bool contiguous = false;
  bool by_columns = false;
  int64_t lines = 0, length = 0, pitch = 0;
};

Lines lines_of(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  if (col_stride == 1 || cols == 1) {
    if (rows == 1 || row_stride >= cols) return {true, false, rows, cols, rows == 1 ? cols : row_stride};
  }
  if (row_stride == 1 || rows == 1) {
    if (cols == 1 || col_stride >= rows) return {true, true, cols, rows, cols == 1 ? rows : col_stride};
  }
  return {};
}

template <class Element>
void gather(const MatrixView& view, const Element* source, Element* target) {
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t col = 0; col < view.cols; ++col) {
      *target++ = source[row * view.row_stride + col * view.col_stride];
    }
  }
}

template <class Element>
void scatter(const Element* source, const MutableMatrixView& view, Element* target) {
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t col = 0; col < view.cols; ++col) {
      target[row * view.row_stride + col * view.col_stride] = *source++;
    }
  }
}

void copy_lines(void* target, int64_t target_pitch, const void* source, int64_t source_pitch, const Lines& lines,
                size_t element_bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (target_pitch == lines.length && source_pitch == lines.length) {
    MPMML_CUDA(cudaMemcpyAsync(target, source, lines.lines * lines.length * element_bytes, kind, stream));
  } else {
    MPMML_CUDA(cudaMemcpy2DAsync(target, target_pitch * element_bytes, source, source_pitch * element_bytes,
                                 lines.length * element_bytes, lines.lines, kind, stream));
  }
}

}  // namespace

DeviceMatrix upload(const MatrixView& view, int64_t batch, size_t element_bytes, Lane& lane) {
  const int64_t item = view.rows * view.cols;
  const int64_t items = view.batch_stride == 0 ? 1 : batch;
  const Lines lines = lines_of(view.rows, view.cols, view.row_stride, view.col_stride);
  DeviceMatrix matrix;
  matrix.elements = items * item;
  matrix.buffer = DeviceBuffer(matrix.elements * element_bytes, lane.device(), lane.stream());
  matrix.view = view;
  matrix.view.data = matrix.buffer.get();
  matrix.view.row_stride = lines.by_columns ? 1 : view.cols;
  matrix.view.col_stride = lines.by_columns ? view.rows : 1;
  matrix.view.batch_stride = items == 1 ? 0 : item;

  const auto* source = static_cast<const char*>(view.data);
  auto* target = static_cast<char*>(matrix.buffer.get());
  if (lines.contiguous && lines.pitch == lines.length && (items == 1 || view.batch_stride == item)) {
    MPMML_CUDA(cudaMemcpyAsync(target, source, matrix.elements * element_bytes, cudaMemcpyHostToDevice, lane.stream()));
    return matrix;
  }
  std::unique_ptr<int32_t[]> staging;
  if (!lines.contiguous) staging.reset(new int32_t[item]);
  for (int64_t index = 0; index < items; ++index) {
    const char* from = source + index * view.batch_stride * element_bytes;
    char* to = target + index * item * element_bytes;
    if (lines.contiguous) {
      copy_lines(to, lines.length, from, lines.pitch, lines, element_bytes, cudaMemcpyHostToDevice, lane.stream());
    } else {
      gather(view, reinterpret_cast<const int32_t*>(from), staging.get());
      // From pageable memory: the call returns when the staging buffer has been read.
      MPMML_CUDA(cudaMemcpyAsync(to, staging.get(), item * element_bytes, cudaMemcpyHostToDevice, lane.stream()));
      lane.synchronize();
    }
  }
  return matrix;
}

void download(const void* source, const MutableMatrixView& view, int64_t batch, size_t element_bytes, Lane& lane) {
  const int64_t item = view.rows * view.cols;
  const Lines lines = lines_of(view.rows, view.cols, view.row_stride, view.col_stride);
  const bool by_rows = lines.contiguous && (!lines.by_columns || view.rows == 1 || view.cols == 1);
  std::unique_ptr<int32_t[]> staging;
  if (!by_rows) staging.reset(new int32_t[item]);
  for (int64_t index = 0; index < batch; ++index) {
    const char* from = static_cast<const char*>(source) + index * item * element_bytes;
    char* to = static_cast<char*>(view.data) + index * view.batch_stride * element_bytes;
    if (by_rows) {
      copy_lines(to, lines.pitch, from, lines.length, lines, element_bytes, cudaMemcpyDeviceToHost, lane.stream());
    } else {
      MPMML_CUDA(cudaMemcpyAsync(staging.get(), from, item * element_bytes, cudaMemcpyDeviceToHost, lane.stream()));
      lane.synchronize();
      scatter(staging.get(), view, reinterpret_cast<int32_t*>(to));
    }
  }
  lane.synchronize();
}

}  // namespace mpmml::cuda
