#include "cuda/runtime/operand.h"

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/elementwise.h"

namespace mpmml::cuda {

Operand::Operand(const Operation& operation, const MatrixView& source, int64_t items, const Band& band)
    : operation_(operation), host_(host_layout(source, items, operation.dtype, true)), band_(band), is_copy_(true) {
  view_ = Lines(source).copied_to(nullptr, source, host_.items);
}

Operand::Operand(const Operation& operation, const MatrixView& view, int64_t items, const ValueRange& range,
                 PackedForms* forms, const MatrixView& searched)
    : operation_(operation),
      host_(host_layout(view, items, operation.dtype, true)),
      view_(view),
      searched_(searched),
      is_copy_(false),
      range_(range),
      resident_forms_(forms) {}

void Operand::allocate(Lane& lane, cudaStream_t stream, bool is_for_peers) {
  buffer_ = DeviceBuffer(bytes(), lane.device(), stream, is_for_peers);
  place_at(buffer_.get(), lane);
}

void Operand::place_at(void* memory, Lane& lane) {
  view_.data = memory;
  arrived_ = &lane.event();
  scanned_ = &lane.event();
}

void Operand::arrived(cudaStream_t stream) {
  clear_outside(operation_, host_.items, view_, band_, stream);
  arrived_->record(stream);
}

void Operand::scan(Lane& lane, ScanResult* host, ScanResult* device) {
  const cudaStream_t stream = lane.scan();
  arrived_->hold(stream);
  if (must_scan(operation_)) {
    find_facts(operation_.dtype, view_.storage, view_.data, host_.elements(), device, stream);
  }
  MPMML_CUDA(cudaMemcpyAsync(host, device, sizeof(ScanResult), cudaMemcpyDeviceToHost, stream));
  scanned_->record(stream);
  scan_result_ = host;
}

void Operand::sample(Lane& lane, Side side, LevelsFound* host, LevelsFound* device) {
  lines_ = lines_of(view_, side, host_.items);
  sampled_ = host;
  on_device_ = device;
  arrived_->hold(lane.scan());
  sample_levels(operation_, lines_, device, lane.scan());
  MPMML_CUDA(cudaMemcpyAsync(host, device, sizeof(LevelsFound), cudaMemcpyDeviceToHost, lane.scan()));
}

void Operand::await() {
  (scan_result_ ? scanned_ : arrived_)->wait();
  if (!scan_result_ || range_.has_finite()) return;
  range_ = range_of(operation_, scan_result_->facts(), view_.storage);
  if (sampled_) guess_ = sampled_->levels(operation_.dtype);
}

void Operand::scan_lines(Operand& a, Operand& b, Lane& lane) {
  const WorthScanning worth = worth_scanning(a.operation_, a.range_, a.guess_, b.range_, b.guess_);
  if (worth.a) a.scan_lines(lane);
  if (worth.b) b.scan_lines(lane);
}

void Operand::scan_lines(Lane& lane) {
  if (range_.levels.is_known() || !guess_.is_known()) return;
  // The scanning stream may already wait for later uploads.
  const cudaStream_t stream = lane.download();
  find_levels(operation_, lines_, *sampled_, range_.has_zero, on_device_, stream);
  MPMML_CUDA(cudaMemcpyAsync(sampled_, on_device_, sizeof(LevelsFound), cudaMemcpyDeviceToHost, stream));
  Event& scanned = lane.event();
  scanned.record(stream);
  scanned.wait();
  range_.levels = guess_ = sampled_->levels(operation_.dtype);
}

MatrixView Operand::view_to_be(const Kernel& kernel) const {
  if (kernel.takes_int16 || view_.storage == Storage::kElement) return view_;
  MatrixView widened = Lines(view_).copied_to(nullptr, view_, host_.items);
  widened.storage = Storage::kElement;
  return widened;
}

const MatrixView& Operand::view_for(const Kernel& kernel, Lane& lane, cudaStream_t stream, ScratchArena& room) {
  if (widened_) widened_->hold(stream);
  if (kernel.takes_int16 || view_.storage == Storage::kElement) return view_;
  const int64_t bytes = host_.elements() * element_bytes(operation_.dtype);
  if (is_copy_) widened_buffer_ = DeviceBuffer(bytes, lane.device(), stream);
  const MatrixView from = view_;
  view_ = view_to_be(kernel);
  view_.data = is_copy_ ? widened_buffer_.get() : room.take(bytes);
  widen(operation_, host_.items, from, view_, stream);
  widened_ = &lane.event();
  widened_->record(stream);
  return view_;
}

PackedKey Operand::key_for(const Kernel& kernel, const Launch& launch, Side side) const {
  PackedKey key{&kernel, launch.path, side == Side::kA, view_, host_.items, double(range_.minimum), 1, {}, false};
  if (launch.is_structured) key.band = key.is_a ? launch.structure.a : launch.structure.b;
  if (launch.dtype == DataType::kFloat32) {
    key.offset = range_.levels.offset;
    key.step = common_step(launch.range_a.levels, launch.range_b.levels);
  }
  if (launch.path == ArithmeticKind::kExponentBounded) {
    const auto exponents = ExponentBounded<MaxPlus<int32_t>>::for_operands(launch.path, launch.range_a, launch.range_b);
    key.offset = 0;
    key.skips_outliers = key.is_a ? exponents.is_outlier_a : exponents.is_outlier_b;
  }
  return key;
}

int64_t Operand::bytes_to_keep(const Kernel& kernel, const Launch& launch, Side side) {
  if (!kernel.pack || !keeps_forms(kernel)) return 0;
  held_form_ = forms().find(key_for(kernel, launch, side), launch.stream);
  return held_form_ ? 0 : kernel.packed_bytes(launch, side);
}

int64_t Operand::extra_workspace_bytes(const Kernel& kernel, const Launch& launch, Side side) const {
  const bool widens = !is_copy_ && must_widen(kernel), packs = kernel.pack && !keeps_forms(kernel);
  return ScratchArena::piece(widens ? host_.elements() * element_bytes(operation_.dtype) : 0) +
         ScratchArena::piece(packs ? kernel.packed_bytes(launch, side) : 0);
}

void* Operand::packed_for(const Kernel& kernel, const Launch& launch, Side side, Lane& lane, ScratchArena& room) {
  const int64_t bytes = kernel.pack ? kernel.packed_bytes(launch, side) : 0;
  if (bytes == 0) return nullptr;
  if (keeps_forms(kernel)) return kept_form(kernel, launch, side, bytes, lane);
  Launch packing = launch;
  void*& target = side == Side::kA ? packing.packed_a : packing.packed_b;
  target = room.take(bytes);
  kernel.pack(packing, side);
  return target;
}

void Operand::keep_packed(const Kernel& kernel, const Launch& launch, Side side, Lane& lane) {
  const int64_t bytes = bytes_to_keep(kernel, launch, side);
  if (bytes > 0) kept_form(kernel, launch, side, bytes, lane);
}

void* Operand::kept_form(const Kernel& kernel, const Launch& launch, Side side, int64_t bytes, Lane& lane) {
  const PackedKey key = key_for(kernel, launch, side);
  held_form_ = forms().find(key, launch.stream);
  if (held_form_) {
    if (held_form_->done) held_form_->done->hold(launch.stream);
    return held_form_->buffer.get();
  }
  // Packings of resident matrices need no event, because all of their users are in the same stream.
  Event* const done = is_copy_ ? &lane.event() : nullptr;
  const auto form = std::make_shared<PackedForm>(key, DeviceBuffer(bytes, lane.device(), launch.stream), bytes, done);
  Launch packing = launch;
  void*& target = side == Side::kA ? packing.packed_a : packing.packed_b;
  target = form->buffer.get();
  kernel.pack(packing, side);
  if (done) done->record(launch.stream);
  forms().add(form);
  held_form_ = form;
  return target;
}

}  // namespace mpmml::cuda
