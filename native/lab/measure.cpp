#include "lab/measure.h"

#include <algorithm>
#include <memory>

#include "core/algebra/dispatch.h"
#include "core/plan/plan.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/memory_reservation.h"
#include "cuda/runtime/range.h"
#include "cuda/runtime/stream_k.h"
#include "lab/kernels.h"
#include "lab/timing.h"

namespace mpmml::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  MPMML_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// Product and operand sets of a measurement.
class Bench {
 public:
  Bench(const MeasureRequest& request, Lane& lane)
      : request_(request), lane_(lane), stream_(lane.compute(0)), kernel_(kernel_of(*request.variant)) {
    problem_.operation = {request.variant->semiring, request.variant->dtype, OverflowPolicy::kThrow};
    problem_.batch = request.batch;
    problem_.a = row_major<const void*>(nullptr, request.m, request.k);
    problem_.b = row_major<const void*>(nullptr, request.k, request.n);
    allocate();
  }

  Measurement run() {
    const StreamSyncGuard guard{lane_};
    Measurement measurement{};
    measurement.operand_sets = static_cast<int>(sets_);
    const ValueRange range = scan();
    measurement.path = choose_path(range);
    Event &start = lane_.event(), &prepared = lane_.event(), &computed = lane_.event(), &scanned = lane_.event();
    for (int repetition = -request_.warmup; repetition < request_.repetitions; ++repetition) {
      const int64_t set = (repetition + request_.warmup) % sets_;
      Launch launch = launch_of(set, measurement.path, range);
      // Priming excludes the host's launch overhead from the time of a short kernel (2 µs of 79 at 1024³, H200).
      prime_stream(stream_);
      start.record(stream_);
      if (kernel_.pack) {
        pack(launch, Side::kA, packed_a_);
        pack(launch, Side::kB, packed_b_);
      }
      const StreamKSchedule division = division_of(kernel_, launch, lane_.device());
      ScratchArena room(extra_workspace_bytes(kernel_, launch, division), lane_.device(), stream_);
      const StreamKLaunch parts(kernel_, launch, division, room);
      prepared.record(stream_);
      parts.launch(kernel_, launch);
      computed.record(stream_);
      scan_operands(set);
      scanned.record(stream_);
      scanned.wait();
      if (repetition < 0) continue;
      measurement.prepare.push_back(kernel_.pack ? prepared.since(start) : 0);
      measurement.kernel.push_back(computed.since(prepared));
      measurement.analysis.push_back(scanned.since(computed));
    }
    probe_clock(ticks(), stream_);
    measurement.clock_mhz = clock_mhz_of(lane_, ticks());
    return measurement;
  }

 private:
  int64_t elements_a() const { return request_.batch * request_.m * request_.k; }
  int64_t elements_b() const { return request_.batch * request_.k * request_.n; }
  int64_t elements_c() const { return request_.batch * request_.m * request_.n; }

  char* a(int64_t set) const {
    return static_cast<char*>(operands_.get()) + set * (elements_a() + elements_b()) * element_bytes_;
  }
  char* b(int64_t set) const { return a(set) + elements_a() * element_bytes_; }

  void allocate() {
    constexpr double kMost =
        4e12;  // limit in bytes, above every device's memory; larger products might overflow 64 bits
    const double batch = double(request_.batch) * element_bytes_;
    const double one = batch * (double(request_.m) * request_.k + double(request_.k) * request_.n);
    const double rest = batch * request_.m * request_.n + packed_bytes();
    const double capacity = one + rest < kMost ? double(device_capacity(request_.device, 0)) : 0;
    if (one + rest > capacity) {
      throw Error(ErrorCode::kOutOfMemory, "operands and result don't fit the free memory of device " +
                                               std::to_string(request_.device) + ": measure smaller sizes");
    }
    const double cached = 2.0 * attribute(cudaDevAttrL2CacheSize, request_.device);
    const double wanted = std::min(cached / one + 2, double(request_.repetitions + request_.warmup));
    sets_ = std::max(int64_t{1}, static_cast<int64_t>(std::min(wanted, (0.8 * capacity - rest) / one)));
    reservation_ = std::make_unique<MemoryReservation>(
        reserve(request_.device, {static_cast<int64_t>(sets_ * one + rest)}, 0, [] { return false; }));
    const auto buffer = [&](int64_t bytes) { return DeviceBuffer(bytes, request_.device, stream_); };
    operands_ = buffer(sets_ * (elements_a() + elements_b()) * element_bytes_);
    c_ = buffer(elements_c() * element_bytes_);
    small_ = buffer(2 * sizeof(ScanResult) + 2 * sizeof(uint64_t) + sizeof(unsigned long long));
    const RandomValues values{request_.minimum, request_.maximum, request_.zero_fraction, request_.seed};
    fill_random(problem_.operation, a(0), sets_ * (elements_a() + elements_b()), values, stream_);
  }

  /// Returns the bytes of one set of operands in the kernel's packed format.
  double packed_bytes() const {
    if (!kernel_.packed_bytes) return 0;
    const Launch launch = mpmml::cuda::launch_of(problem_, {request_.variant, request_.variant->paths.cheapest()});
    return double(kernel_.packed_bytes(launch, Side::kA)) + double(kernel_.packed_bytes(launch, Side::kB));
  }

  ScanResult* scans() const { return static_cast<ScanResult*>(small_.get()); }
  uint64_t* ticks() const { return reinterpret_cast<uint64_t*>(scans() + 2); }

  void scan_operands(int64_t set) {
    reset_scans(scans(), 2, stream_);
    if (!must_scan(problem_.operation)) return;
    find_facts(problem_.operation.dtype, Storage::kElement, a(set), elements_a(), scans(), stream_);
    find_facts(problem_.operation.dtype, Storage::kElement, b(set), elements_b(), scans() + 1, stream_);
  }

  /// Scans A and B, and returns their common range. All sets are drawn from one distribution.
  ValueRange scan() {
    reset_scans(scans(), 1, stream_);
    const int64_t elements = sets_ * (elements_a() + elements_b());
    find_facts(problem_.operation.dtype, Storage::kElement, a(0), elements, scans(), stream_);
    auto* result = static_cast<ScanResult*>(lane_.results());
    MPMML_CUDA(cudaMemcpyAsync(result, scans(), sizeof(ScanResult), cudaMemcpyDeviceToHost, stream_));
    MPMML_CUDA(cudaStreamSynchronize(stream_));
    ValueRange range = range_of(problem_.operation, result->facts(), Storage::kElement);
    // Floats are whole numbers, too.
    range.levels.range = int64_t{request_.maximum} - request_.minimum;
    range.levels.has_zero = range.has_zero;
    return range;
  }

  ArithmeticKind choose_path(const ValueRange& range) const {
    const ArithmeticSet exact = exact_arithmetics(problem_.operation, range, range);
    const auto judge = [&](const Variant&, ArithmeticKind path) {
      const bool fits = resident_blocks(kernel_, path, request_.device) > 0;
      return VariantCost{fits ? "" : "a block of it doesn't fit a multiprocessor of this device", 0};
    };
    return make_plan(problem_.operation, exact, {}, request_.variant, judge).path;
  }

  Launch launch_of(int64_t set, ArithmeticKind path, const ValueRange& range) const {
    Launch launch = mpmml::cuda::launch_of(problem_, {request_.variant, path});
    launch.a.data = a(set);
    launch.b.data = b(set);
    launch.c = row_major(c_.get(), request_.m, request_.n);
    launch.range_a = launch.range_b = range;
    if (path == ArithmeticKind::kWide) launch.overflow = reinterpret_cast<unsigned long long*>(ticks() + 2);
    launch.stream = stream_;
    return launch;
  }

  void pack(Launch& launch, Side side, DeviceBuffer& buffer) {
    const int64_t bytes = kernel_.packed_bytes(launch, side);
    if (bytes == 0) return;
    if (!buffer.get()) buffer = DeviceBuffer(bytes, request_.device, stream_);
    (side == Side::kA ? launch.packed_a : launch.packed_b) = buffer.get();
    kernel_.pack(launch, side);
  }

  const MeasureRequest& request_;
  Lane& lane_;
  cudaStream_t stream_;
  const Kernel& kernel_;
  Problem problem_;
  const int64_t element_bytes_ = element_bytes(request_.variant->dtype);
  int64_t sets_ = 1;
  std::unique_ptr<MemoryReservation> reservation_;
  DeviceBuffer operands_, c_, small_, packed_a_, packed_b_;
};

}  // namespace

Measurement measure(const MeasureRequest& request) {
  const LaneHandle lane = take_lane(request.device);
  return Bench(request, *lane).run();
}

Occupancy occupancy(const void* function, int64_t threads, int dynamic_shared_bytes, int device) {
  MPMML_CUDA(cudaSetDevice(device));
  cudaFuncAttributes attributes;
  MPMML_CUDA(cudaFuncGetAttributes(&attributes, function));
  Occupancy occupancy{};
  occupancy.registers = attributes.numRegs;
  occupancy.local_bytes = static_cast<int>(attributes.localSizeBytes);
  occupancy.shared_bytes = static_cast<int>(attributes.sharedSizeBytes) + dynamic_shared_bytes;
  occupancy.threads = static_cast<int>(std::min<int64_t>(threads, 1 << 20));
  occupancy.max_threads = attributes.maxThreadsPerBlock;
  const int max_shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (threads > attributes.maxThreadsPerBlock || occupancy.shared_bytes > max_shared) return occupancy;
  allow_shared_bytes(function, dynamic_shared_bytes);
  MPMML_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy.active_blocks, function, occupancy.threads,
                                                           static_cast<size_t>(dynamic_shared_bytes)));
  const int warp = attribute(cudaDevAttrWarpSize, device);
  occupancy.active_warps = occupancy.active_blocks * ((occupancy.threads + warp - 1) / warp);
  occupancy.active_threads = occupancy.active_blocks * occupancy.threads;
  occupancy.percent = 100.0 * occupancy.active_warps * warp / attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  return occupancy;
}

Occupancy occupancy(const Variant& variant, int device) {
  const Kernel& kernel = kernel_of(variant);
  return occupancy(kernel.function(variant.paths.cheapest()), kernel.shape.threads, kernel.shape.shared_bytes, device);
}

void fault(int device) {
  const LaneHandle lane = take_lane(device);
  read_from_nowhere(lane->device_results(), lane->compute(0));
  // The lane isn't used again.
  lane->quiesce();
  MPMML_CUDA(cudaStreamSynchronize(lane->compute(0)));
}

}  // namespace mpmml::cuda
