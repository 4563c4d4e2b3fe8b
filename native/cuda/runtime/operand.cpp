#include "cuda/runtime/operand.h"

#include "core/dispatch.h"
#include "cuda/runtime/error.h"

namespace mpmml::cuda {

Operand::Operand(const Operation& operation, const MatrixView& source, int64_t items)
    : operation_(operation), host_(host_layout(source, items, operation.dtype, true)) {
  view_ = Lines(source).copied_to(nullptr, source, host_.items);
  view_.storage = source.storage;
}

void Operand::allocate(Lane& lane, cudaStream_t stream) {
  buffer_ = DeviceBuffer(bytes(), lane.device(), stream);
  place_at(buffer_.get(), lane);
}

void Operand::place_at(void* memory, Lane& lane) {
  view_.data = memory;
  arrived_ = &lane.event();
  scanned_ = &lane.event();
}

void Operand::arrived(cudaStream_t stream) { arrived_->record(stream); }

void Operand::scan(Lane& lane, ScanResult* host, ScanResult* device) {
  const cudaStream_t stream = lane.scan();
  arrived_->hold(stream);
  scan_range(operation_, view_.storage, view_.data, host_.elements(), device, stream);
  MPMML_CUDA(cudaMemcpyAsync(host, device, sizeof(ScanResult), cudaMemcpyDeviceToHost, stream));
  scanned_->record(stream);
  scan_result_ = host;
}

void Operand::await() {
  (scan_result_ ? scanned_ : arrived_)->wait();
  if (scan_result_) range_ = scan_result_->range();
}

const MatrixView& Operand::view_for(const Kernel& kernel, Lane& lane, cudaStream_t stream) {
  if (widened_) widened_->hold(stream);
  if (kernel.takes_int16 || view_.storage == Storage::kElement) return view_;
  const int64_t count = host_.elements();
  widened_buffer_ = DeviceBuffer(count * element_bytes(operation_.dtype), lane.device(), stream);
  widen(operation_, view_.data, widened_buffer_.get(), count, stream);
  view_.data = widened_buffer_.get();
  view_.storage = Storage::kElement;
  widened_ = &lane.event();
  widened_->record(stream);
  return view_;
}

void* Operand::packed_for(const Plan& plan, const Kernel& kernel, const Launch& launch, Side side, Lane& lane) {
  const int64_t bytes = kernel.pack ? kernel.packed_bytes(launch, side) : 0;
  if (bytes == 0) return nullptr;
  for (const Packed& packed : packed_) {
    if (packed.plan.variant != plan.variant || packed.plan.path != plan.path) continue;
    packed.done->hold(launch.stream);
    return packed.buffer.get();
  }
  packed_.push_back({plan, DeviceBuffer(bytes, lane.device(), launch.stream), &lane.event()});
  void* const target = packed_.back().buffer.get();
  Launch packing = launch;
  (side == Side::kA ? packing.packed_a : packing.packed_b) = target;
  kernel.pack(packing, side);
  packed_.back().done->record(launch.stream);
  return target;
}

}  // namespace mpmml::cuda
