#include "cuda/runtime/product.h"

#include <algorithm>
#include <chrono>
#include <list>

#include "core/scan.h"
#include "core/status.h"
#include "cuda/plan/cells.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"
#include "cuda/runtime/transfer.h"

namespace mpmml::cuda {
namespace {

constexpr int64_t kAlignment = 256;  ///< bytes that device memory is aligned to

constexpr unsigned long long kNoOverflow = ~0ull;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Bytes of the operands side by side.
int64_t operand_bytes(const Problem& problem) {
  return aligned(dense_bytes(problem, problem.a)) + aligned(dense_bytes(problem, problem.b)) +
         aligned(dense_bytes(problem, problem.c0));
}

/// Small results of a call, on the device and in the lane's pinned memory.
struct Results {
  ScanResult a[kMostParts];
  ScanResult b[kMostParts];
  unsigned long long overflow;
};
static_assert(sizeof(Results) <= Lane::kResultBytes, "the results fit the lane's pinned memory");

/// A part of an operand on the device: as it is, and packed for each kernel and path that asked.
struct Part {
  struct Packed {
    Plan plan;
    DeviceBuffer buffer;
    Event* done;
  };

  DeviceBuffer buffer;
  MatrixView view;
  int64_t count = 0;  ///< elements
  size_t upload = 0;  ///< its number in the queue
  Event* arrived = nullptr;
  Event* scanned = nullptr;
  ValueRange range;
  DeviceBuffer elements;  ///< what was stored as int16, once a kernel wanted it so
  Event* widened = nullptr;
  std::list<Packed> packed;
};

/// The events of a cell's launch.
struct CellTimes {
  Event *started, *packed, *computed;
};

class DeviceProduct {
 public:
  DeviceProduct(const Problem& problem, Lane& lane, const Planner& planner, const KernelLookup& kernel_of)
      : problem_(problem),
        dtype_(problem.dtype),
        lane_(lane),
        planner_(planner),
        kernel_of_(kernel_of),
        cut_(cut_into_cells(problem)),
        a_(cut_.a.size()),
        b_(cut_.b.size()),
        c0_(cut_.c0.size()) {}

  Outcome run() {
    try {
      if (fits_slots(problem_)) {
        run_small();
      } else {
        run_by_cells();
      }
    } catch (...) {
      // Work may still be queued that uses the caller's memory, or the buffers here.
      lane_.quiesce();
      throw;
    }
    return outcome_;
  }

 private:
  int64_t c_bytes() const { return problem_.outputs() * element_bytes(dtype_); }
  Results* pinned() const { return static_cast<Results*>(lane_.results()); }
  Results* remote() const { return static_cast<Results*>(lane_.device_results()); }
  bool may_throw() const { return problem_.overflow == OverflowPolicy::kThrow; }

  void throw_if_cancelled() const {
    if (problem_.is_cancelled()) throw Error(ErrorCode::kAborted, "the product was given up before it was complete");
  }

  /// C as it lies on the device.
  MutableMatrixView dense_c() const {
    return {c_, problem_.m(), problem_.n(), problem_.n(), 1, problem_.m() * problem_.n()};
  }

  template <class View>
  View rows_of(View view, const Span& span) const {
    if (cut_.by_instances) return view_from(view, dtype_, span.first, 0, 0);
    view = view_from(view, dtype_, 0, span.first, 0);
    view.rows = span.count;
    return view;
  }
  template <class View>
  View cols_of(View view, const Span& span) const {
    if (cut_.by_instances) return view_from(view, dtype_, span.first, 0, 0);
    view = view_from(view, dtype_, 0, 0, span.first);
    view.cols = span.count;
    return view;
  }
  int64_t items_of(const Span& span) const { return cut_.by_instances ? span.count : 1; }

  /// The dense form of `view`, which lies as `host` says, at `data`.
  static MatrixView dense_view(const MatrixView& view, const HostLayout& host, void* data) {
    MatrixView dense = view;
    dense.data = data;
    dense.row_stride = host.by_columns ? 1 : view.cols;
    dense.col_stride = host.by_columns ? view.rows : 1;
    dense.batch_stride = host.items == 1 ? 0 : view.rows * view.cols;
    return dense;
  }

  /// A product whose operands fit one pinned slot: one cell on one stream. The host scans what it gathers, and the kernel
  /// writes its results where the host reads them: a copy of so little takes longer to start (10 µs of 111 for a whole
  /// call of 256³ on an H200).
  void run_small() {
    const cudaStream_t stream = lane_.compute(0);
    StagingRing& ring = lane_.ring(0);
    auto* slot = static_cast<char*>(ring.acquire());
    memory_ = DeviceBuffer(operand_bytes(problem_), lane_.device(), stream);
    auto* operands = static_cast<char*>(memory_.get());
    Event& begin = lane_.event();
    Event& arrived = lane_.event();
    int64_t used = 0;
    const auto stage = [&](Part& part, const MatrixView& view) {
      const HostLayout host = host_layout(view, problem_.batch, dtype_, true);
      host.gather(0, host.elements(), slot + used);
      MPMML_CUDA(cudaMemcpyAsync(operands + used, slot + used, host.bytes(), cudaMemcpyHostToDevice, stream));
      part.view = dense_view(view, host, operands + used);
      part.count = host.elements();
      part.range = scan_elements(problem_.semiring, dtype_, view.storage, slot + used, host.elements());
      used += aligned(host.bytes());
    };
    throw_if_cancelled();
    begin.record(stream);
    stage(a_.front(), problem_.a);
    stage(b_.front(), problem_.b);
    if (problem_.c0.data) stage(c0_.front(), problem_.c0);
    ring.release(stream);
    arrived.record(stream);
    c_ = ring.acquire();
    const CellTimes times = compute(cut_.cells.front(), stream);
    ring.release(stream);
    if (overflows()) return;
    ring.finish();
    const HostLayout target = host_of_c(cut_.c.front());
    target.scatter(0, target.elements(), static_cast<const char*>(c_));
    outcome_.timing.h2d = arrived.since(begin);
    outcome_.timing.analysis = times.packed->since(*times.started);
    outcome_.timing.kernel = times.computed->since(*times.packed);
  }

  void run_by_cells() {
    TransferQueue uploads(TransferQueue::Direction::kUpload, lane_, [this] { return problem_.is_cancelled(); });
    start_uploads(uploads);
    compute_cells(uploads);
    if (overflows()) return;
    download();
    report_times();
  }

  /// Adds the upload of a part, followed by its scan where `result` isn't null.
  void add_upload(TransferQueue& queue, size_t number, Part& part, const MatrixView& view, int64_t items,
                  ScanResult* result) {
    const HostLayout host = host_layout(view, items, dtype_, true);
    part.buffer = DeviceBuffer(host.bytes(), lane_.device(), lane_.compute(0));
    part.view = dense_view(view, host, part.buffer.get());
    part.count = host.elements();
    part.upload = number;
    part.arrived = &lane_.event();
    part.scanned = &lane_.event();
    queue.add({host, static_cast<char*>(part.buffer.get()), [this, &part, result] {
                 part.arrived->record(lane_.upload());
                 part.arrived->hold(lane_.scan());
                 if (result) {
                   const auto offset = reinterpret_cast<char*>(result) - reinterpret_cast<char*>(pinned());
                   auto* scanned = reinterpret_cast<ScanResult*>(reinterpret_cast<char*>(remote()) + offset);
                   scan_range(problem_.semiring, dtype_, part.view.storage, part.view.data, part.count, scanned,
                              lane_.scan());
                   MPMML_CUDA(
                       cudaMemcpyAsync(result, scanned, sizeof(ScanResult), cudaMemcpyDeviceToHost, lane_.scan()));
                 }
                 part.scanned->record(lane_.scan());
               }});
  }

  void start_uploads(TransferQueue& queue) {
    memory_ = DeviceBuffer(c_bytes(), lane_.device(), lane_.compute(0));
    c_ = memory_.get();
    size_t number = 0;
    for (const Upload& upload : cut_.uploads) {
      const size_t index = upload.part;
      if (upload.source == Source::kA) {
        const Span& span = cut_.a[index];
        add_upload(queue, number++, a_[index], rows_of(problem_.a, span), items_of(span), &pinned()->a[index]);
      } else if (upload.source == Source::kB) {
        const Span& span = cut_.b[index];
        add_upload(queue, number++, b_[index], cols_of(problem_.b, span), items_of(span), &pinned()->b[index]);
      } else {
        const Span& span = cut_.c0[index];
        add_upload(queue, number++, c0_[index], rows_of(problem_.c0, span), items_of(span), nullptr);
      }
    }
    reset_scans(remote()->a, 2 * kMostParts, lane_.compute(0));
    // What is allocated and set in the order of one stream is used in others.
    Event& ready = lane_.event();
    ready.record(lane_.compute(0));
    for (cudaStream_t stream : {lane_.upload(), lane_.scan()}) ready.hold(stream);
    for (int index = 1; index < Lane::kComputeStreams; ++index) ready.hold(lane_.compute(index));
    begin_ = &lane_.event();
    begin_->record(lane_.upload());
    queue.start();
  }

  static void await(TransferQueue& queue, const Part& part) {
    queue.wait(part.upload);
    part.scanned->wait();
  }

  void compute_cells(TransferQueue& uploads) {
    const bool sleeps = cut_.cells.size() > 1;
    std::vector<size_t> left(cut_.c.size());
    for (const Cell& cell : cut_.cells) ++left[cell.c];
    for (const Cell& cell : cut_.cells) {
      Part &a = a_[cell.a], &b = b_[cell.b];
      await(uploads, a);
      await(uploads, b);
      if (!c0_.empty()) await(uploads, c0_[cell.c0]);
      throw_if_cancelled();
      a.range = pinned()->a[cell.a].range();
      b.range = pinned()->b[cell.b].range();
      const cudaStream_t stream = lane_.compute(static_cast<int>(times_.size()));
      times_.push_back(compute(cell, stream));
      if (--left[cell.c] > 0) continue;
      // The cell that completes a part of C waits for the part's others, on other streams.
      for (size_t index = 0; index < times_.size(); ++index) {
        if (cut_.cells[index].c == cell.c) times_[index].computed->hold(stream);
      }
      completed_.push_back({cell.c, &lane_.event(sleeps)});
      completed_.back().event->record(stream);
    }
  }

  CellTimes compute(const Cell& cell, cudaStream_t stream) {
    Part &a = a_[cell.a], &b = b_[cell.b];
    const Plan plan = planner_(a.range, b.range);
    // The report names the costliest path that a cell took.
    if (!outcome_.plan.variant || plan.path > outcome_.plan.path) outcome_.plan = plan;

    const Kernel& kernel = kernel_of_(*plan.variant);
    const CellTimes times{&lane_.event(), &lane_.event(), &lane_.event()};
    times.started->record(stream);
    for (Part* part : {&a, &b}) {
      if (part->widened) part->widened->hold(stream);
      if (!kernel.takes_int16 && part->view.storage == Storage::kInt16) widen_part(*part, stream);
    }

    const Span &rows = cut_.c[cell.c], &cols = cut_.b[cell.b];
    Launch launch{};
    launch.batch = cut_.by_instances ? rows.count : 1;
    launch.m = cut_.by_instances ? problem_.m() : rows.count;
    launch.n = cut_.by_instances ? problem_.n() : cols.count;
    launch.k = problem_.k();
    launch.a = a.view;
    launch.b = b.view;
    const MutableMatrixView c = dense_c();
    launch.c = rows_of(c, rows);
    if (!c0_.empty()) launch.c0 = c0_[cell.c0].view;
    if (!cut_.by_instances) {
      launch.c = cols_of(launch.c, cols);
      launch.c0 = cols_of(launch.c0, cols);
    }
    launch.first_output = (static_cast<char*>(launch.c.data) - static_cast<char*>(c.data)) / element_bytes(dtype_);
    launch.dtype = dtype_;
    launch.path = plan.path;
    launch.range_a = a.range;
    launch.range_b = b.range;
    launch.stream = stream;
    if (may_throw() && plan.path == RangePath::kWide) {
      launch.overflow = &remote()->overflow;
      if (!watches_overflow_) {
        MPMML_CUDA(cudaMemsetAsync(launch.overflow, 0xff, sizeof(kNoOverflow), stream));
        // Cells on other streams report there too.
        if (cut_.cells.size() > 1) MPMML_CUDA(cudaStreamSynchronize(stream));
      }
      watches_overflow_ = true;
    }

    if (kernel.pack) {
      pack(kernel, plan, launch, Operand::kA, a);
      pack(kernel, plan, launch, Operand::kB, b);
    }
    times.packed->record(stream);
    kernel.launch(launch);
    times.computed->record(stream);
    return times;
  }

  void widen_part(Part& part, cudaStream_t stream) {
    MatrixView& view = part.view;
    part.elements = DeviceBuffer(part.count * element_bytes(dtype_), lane_.device(), stream);
    widen(problem_.semiring, dtype_, view.data, part.elements.get(), part.count, stream);
    view.data = part.elements.get();
    view.storage = Storage::kElement;
    part.widened = &lane_.event();
    part.widened->record(stream);
  }

  /// Brings a part into the kernel's form, where no other cell has.
  void pack(const Kernel& kernel, const Plan& plan, Launch& launch, Operand operand, Part& part) {
    const int64_t bytes = kernel.packed_bytes(launch, operand);
    if (bytes == 0) return;
    void*& target = operand == Operand::kA ? launch.packed_a : launch.packed_b;
    for (const Part::Packed& packed : part.packed) {
      if (packed.plan.variant != plan.variant || packed.plan.path != plan.path) continue;
      packed.done->hold(launch.stream);
      target = packed.buffer.get();
      return;
    }
    part.packed.push_back({plan, DeviceBuffer(bytes, lane_.device(), launch.stream), &lane_.event()});
    target = part.packed.back().buffer.get();
    kernel.pack(launch, operand);
    part.packed.back().done->record(launch.stream);
  }

  /// Under the throwing policy C must be left as it was when something overflowed, so that is asked before the first
  /// result is copied: where 64-bit sums were needed, after the last cell; elsewhere nothing can have overflowed.
  bool overflows() {
    if (!watches_overflow_) return false;
    lane_.quiesce();
    MPMML_CUDA(cudaMemcpy(&pinned()->overflow, &remote()->overflow, sizeof(kNoOverflow), cudaMemcpyDeviceToHost));
    if (pinned()->overflow == kNoOverflow) return false;
    outcome_.overflow = static_cast<int64_t>(pinned()->overflow);
    return true;
  }

  HostLayout host_of_c(const Span& span) const {
    const MutableMatrixView c = rows_of(problem_.c, span);
    return host_layout({c.data, c.rows, c.cols, c.row_stride, c.col_stride, c.batch_stride}, items_of(span), dtype_,
                       false);
  }

  void download() {
    const auto start = std::chrono::steady_clock::now();
    TransferQueue queue(TransferQueue::Direction::kDownload, lane_, [this] { return problem_.is_cancelled(); });
    for (const auto& [part, event] : completed_) {
      const Span& span = cut_.c[part];
      queue.add({host_of_c(span), static_cast<char*>(rows_of(dense_c(), span).data), nullptr, event});
    }
    queue.start();
    for (size_t index = 0; index < completed_.size(); ++index) queue.wait(index);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    outcome_.timing.d2h = elapsed.count();
  }

  void report_times() {
    Timing& timing = outcome_.timing;
    for (const std::vector<Part>* parts : {&a_, &b_}) {
      timing.h2d = std::max(timing.h2d, parts->back().arrived->since(*begin_));
      // Later parts are scanned and packed while earlier ones are computed; computing waits for the first alone.
      timing.analysis += parts->front().scanned->since(*parts->front().arrived);
    }
    timing.analysis += times_.front().packed->since(*times_.front().started);
    // Cells overlap: a moment in which two are computed counts once.
    double until = 0;
    for (const CellTimes& times : times_) {
      const double from = std::max(until, times.packed->since(*begin_));
      until = std::max(until, times.computed->since(*begin_));
      timing.kernel += std::max(0.0, until - from);
    }
    // Downloading waits for the kernels; what it took beyond them is its own.
    timing.d2h = std::max(0.0, timing.d2h - timing.kernel);
  }

  struct Completed {
    int part;
    Event* event;
  };

  const Problem& problem_;
  const DataType dtype_;
  Lane& lane_;
  const Planner& planner_;
  const KernelLookup& kernel_of_;
  const Cut cut_;
  DeviceBuffer memory_;  ///< C, or the operands of a small product
  void* c_ = nullptr;
  std::vector<Part> a_, b_, c0_;
  std::vector<CellTimes> times_;      ///< of the cells, in their order
  std::vector<Completed> completed_;  ///< parts of C, in the order in which they are complete
  Event* begin_ = nullptr;
  bool watches_overflow_ = false;
  Outcome outcome_;
};

}  // namespace

int64_t dense_bytes(const Problem& problem, const MatrixView& view) {
  if (!view.data) return 0;
  return (view.batch_stride == 0 ? 1 : problem.batch) * view.rows * view.cols *
         stored_bytes(problem.dtype, view.storage);
}

bool fits_slots(const Problem& problem) {
  return operand_bytes(problem) <= StagingRing::kSlotBytes &&
         problem.outputs() * element_bytes(problem.dtype) <= StagingRing::kSlotBytes;
}

int64_t needed_bytes(const Problem& problem) {
  // A packed operand is about as large as it is with whole elements.
  const auto with_packed = [&](const MatrixView& view) {
    MatrixView whole = view;
    whole.storage = Storage::kElement;
    return dense_bytes(problem, view) + dense_bytes(problem, whole);
  };
  return with_packed(problem.a) + with_packed(problem.b) + dense_bytes(problem, problem.c0) +
         problem.outputs() * element_bytes(problem.dtype);
}

Outcome multiply_on_device(const Problem& problem, int device, const Planner& planner, const KernelLookup& kernel_of) {
  const LaneHandle lane = take_lane(device);
  return DeviceProduct(problem, *lane, planner, kernel_of).run();
}

}  // namespace mpmml::cuda
