#include "cuda/product.h"

#include <chrono>
#include <list>

#include "core/scan.h"
#include "core/status.h"
#include "cuda/error.h"
#include "cuda/range.h"
#include "cuda/transfer.h"

namespace mpmml::cuda {
namespace {

constexpr int kElementBytes = sizeof(int32_t);

// A panel is worth its own launches from about this many steps (half a millisecond on an H200); more than eight hide
// no more of the transfers.
constexpr double kPanelSteps = 1.5e10;
constexpr int64_t kMostPanels = 8;
constexpr int64_t kPanelRows = 512;  ///< a panel's rows are a multiple of this, so that its tiles fill the device

constexpr int64_t kAlignment = 256;  ///< bytes that device memory is aligned to

constexpr unsigned long long kNoOverflow = ~0ull;

/// Small results of a call, on the device and in the lane's pinned memory.
struct Results {
  ScanResult b;
  ScanResult a[kMostPanels];
  unsigned long long overflow;
};
static_assert(sizeof(Results) <= Lane::kResultBytes, "the results fit the lane's pinned memory");

/// An operand, or a panel of one, on the device.
struct DeviceMatrix {
  DeviceBuffer buffer;
  MatrixView view;
  Event* arrived = nullptr;
  Event* scanned = nullptr;
};

/// Rows of A and C, or instances of the batch.
struct Panel {
  int64_t first_item, items, first_row, rows;
  cudaStream_t stream;
  DeviceMatrix a;
  DeviceBuffer packed_a;
  Event* started = nullptr;
  Event* packed = nullptr;
  Event* computed = nullptr;
};

int64_t divide_up(int64_t size, int64_t by) { return (size + by - 1) / by; }

template <class View>
View panel_view(View view, const Panel& panel) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>, const char, char>;
  view.data = static_cast<Byte*>(view.data) +
              (panel.first_item * view.batch_stride + panel.first_row * view.row_stride) * kElementBytes;
  view.rows = panel.rows;
  return view;
}

/// Waits for a lane's streams when it goes out of scope: after an error work may still be queued that uses the caller's
/// memory, or the buffers declared before it.
class Quiesce {
 public:
  explicit Quiesce(Lane& lane) : lane_(lane) {}
  ~Quiesce() { lane_.quiesce(); }

 private:
  Lane& lane_;
};

class DeviceProduct {
 public:
  DeviceProduct(const Problem& problem, Lane& lane, const Planner& planner, const KernelLookup& kernel_of)
      : problem_(problem), lane_(lane), planner_(planner), kernel_of_(kernel_of) {
    cut_into_panels();
  }

  Outcome run() {
    const Quiesce quiesce(lane_);
    if (operand_bytes() <= StagingRing::kSlotBytes && problem_.outputs() * kElementBytes <= StagingRing::kSlotBytes) {
      run_small();
    } else {
      run_by_panels();
    }
    return outcome_;
  }

 private:
  int64_t operand_bytes() const {
    return kElementBytes * (host_elements(problem_.a) + host_elements(problem_.b) + host_elements(problem_.c0));
  }
  int64_t host_elements(const MatrixView& view) const {
    return view.data ? (view.batch_stride == 0 ? 1 : problem_.batch) * view.rows * view.cols : 0;
  }

  void cut_into_panels() {
    const double steps = double(problem_.outputs()) * problem_.k();
    const auto panels = std::clamp(static_cast<int64_t>(steps / kPanelSteps), int64_t{1}, kMostPanels);
    const bool by_rows = problem_.batch == 1;
    const int64_t size = by_rows ? problem_.m() : problem_.batch;
    const int64_t granule = by_rows ? kPanelRows : 1;
    const int64_t step = divide_up(divide_up(size, panels), granule) * granule;
    for (int64_t first = 0; first < size; first += step) {
      Panel& panel = panels_.emplace_back();
      const int64_t count = std::min(step, size - first);
      panel.first_item = by_rows ? 0 : first;
      panel.items = by_rows ? 1 : count;
      panel.first_row = by_rows ? first : 0;
      panel.rows = by_rows ? count : problem_.m();
      panel.stream = lane_.compute(static_cast<int>(panels_.size()) - 1);
      panel.started = &lane_.event();
      panel.packed = &lane_.event();
      panel.computed = &lane_.event(step < size);
    }
  }

  Results* pinned() const { return static_cast<Results*>(lane_.results()); }
  Results* remote() const { return static_cast<Results*>(lane_.device_results()); }
  bool may_throw() const { return problem_.overflow == OverflowPolicy::kThrow; }

  void throw_if_cancelled() const {
    if (problem_.is_cancelled()) throw Error(ErrorCode::kAborted, "the product was given up before it was complete");
  }

  /// The dense form of `view`, which lies as `host` says, at `data`.
  static MatrixView dense_view(const MatrixView& view, const HostLayout& host, void* data) {
    MatrixView dense = view;
    dense.data = data;
    dense.row_stride = host.by_columns ? 1 : view.cols;
    dense.col_stride = host.by_columns ? view.rows : 1;
    dense.batch_stride = host.items == 1 ? 0 : view.rows * view.cols;
    return dense;
  }

  /// A product whose operands fit one pinned slot: one stream, and the host scans what it gathers.
  void run_small() {
    const cudaStream_t stream = lane_.compute(0);
    StagingRing& ring = lane_.ring(0);
    auto* slot = static_cast<char*>(ring.acquire());
    Panel& panel = panels_.front();
    const int64_t c_bytes = problem_.outputs() * kElementBytes;
    const int64_t c_offset = divide_up(operand_bytes(), kAlignment) * kAlignment;
    memory_ = DeviceBuffer(c_offset + c_bytes, lane_.device(), stream);
    auto* operands = static_cast<char*>(memory_.get());
    c_ = operands + c_offset;
    Event& begin = lane_.event();
    Event& arrived = lane_.event();
    int64_t used = 0;
    const auto stage = [&](DeviceMatrix& matrix, const MatrixView& view) {
      const HostLayout host = host_layout(view, problem_.batch, kElementBytes, true);
      const int64_t bytes = host.elements() * kElementBytes;
      char* target = operands + used;
      host.gather(0, host.elements(), slot + used);
      MPMML_CUDA(cudaMemcpyAsync(target, slot + used, bytes, cudaMemcpyHostToDevice, stream));
      matrix.view = dense_view(view, host, target);
      const ValueRange range = scan_elements(problem_.semiring, problem_.dtype, slot + used, host.elements());
      used += bytes;
      return range;
    };
    throw_if_cancelled();
    begin.record(stream);
    const ValueRange range_a = stage(panel.a, problem_.a);
    const ValueRange range_b = stage(b_, problem_.b);
    if (problem_.c0.data) stage(c0_, problem_.c0);
    ring.release(stream);
    arrived.record(stream);
    compute(panel, range_a, range_b);

    slot = static_cast<char*>(ring.acquire());
    MPMML_CUDA(cudaMemcpyAsync(slot, c_, c_bytes, cudaMemcpyDeviceToHost, stream));
    ring.release(stream);
    Event& returned = lane_.event();
    returned.record(stream);
    if (overflows()) return;
    returned.wait();
    const HostLayout target = host_of_c(panel);
    target.scatter(0, target.elements(), slot);
    outcome_.timing.h2d = arrived.since(begin);
    outcome_.timing.analysis = panel.packed->since(*panel.started);
    outcome_.timing.kernel = panel.computed->since(*panel.packed);
    outcome_.timing.d2h = returned.since(*panel.computed);
  }

  void run_by_panels() {
    TransferQueue uploads(TransferQueue::Direction::kUpload, lane_, [this] { return problem_.is_cancelled(); });
    start_uploads(uploads);
    compute_panels(uploads);
    if (overflows()) return;
    download();
    report_times();
  }

  /// Adds the upload of a matrix batch, followed by its scan where `result` isn't null.
  void add_upload(TransferQueue& queue, DeviceMatrix& matrix, const MatrixView& view, int64_t items,
                  ScanResult* result) {
    const HostLayout host = host_layout(view, items, kElementBytes, true);
    matrix.buffer = DeviceBuffer(host.elements() * kElementBytes, lane_.device(), lane_.compute(0));
    matrix.view = dense_view(view, host, matrix.buffer.get());
    matrix.arrived = &lane_.event();
    matrix.scanned = &lane_.event();
    queue.add({host, static_cast<char*>(matrix.buffer.get()), [this, &matrix, result, count = host.elements()] {
                 matrix.arrived->record(lane_.upload());
                 matrix.arrived->hold(lane_.scan());
                 if (result) {
                   const auto offset = reinterpret_cast<char*>(result) - reinterpret_cast<char*>(pinned());
                   auto* scanned = reinterpret_cast<ScanResult*>(reinterpret_cast<char*>(remote()) + offset);
                   scan_range(problem_.semiring, problem_.dtype, matrix.view.data, count, scanned, lane_.scan());
                   MPMML_CUDA(
                       cudaMemcpyAsync(result, scanned, sizeof(ScanResult), cudaMemcpyDeviceToHost, lane_.scan()));
                 }
                 matrix.scanned->record(lane_.scan());
               }});
  }

  void start_uploads(TransferQueue& queue) {
    memory_ = DeviceBuffer(problem_.outputs() * kElementBytes, lane_.device(), lane_.compute(0));
    c_ = memory_.get();
    add_upload(queue, b_, problem_.b, problem_.batch, &pinned()->b);
    int index = 0;
    for (Panel& panel : panels_) {
      add_upload(queue, panel.a, panel_view(problem_.a, panel), panel.items, &pinned()->a[index++]);
      if (index == 1 && problem_.c0.data) add_upload(queue, c0_, problem_.c0, problem_.batch, nullptr);
    }
    reset_scans(&remote()->b, 1 + kMostPanels, lane_.compute(0));
    // What is allocated and set in the order of one stream is used in others.
    Event& ready = lane_.event();
    ready.record(lane_.compute(0));
    for (cudaStream_t stream : {lane_.upload(), lane_.scan(), lane_.compute(1)}) ready.hold(stream);
    begin_ = &lane_.event();
    begin_->record(lane_.upload());
    queue.start();
  }

  void compute_panels(TransferQueue& uploads) {
    uploads.wait(0);
    b_.scanned->wait();
    size_t upload = 1;
    int index = 0;
    for (Panel& panel : panels_) {
      uploads.wait(upload++);
      panel.a.scanned->wait();
      if (index == 0 && problem_.c0.data) {
        uploads.wait(upload++);
        c0_.scanned->wait();
      }
      throw_if_cancelled();
      compute(panel, pinned()->a[index++].range(), pinned()->b.range());
    }
  }

  void compute(Panel& panel, const ValueRange& range_a, const ValueRange& range_b) {
    const Plan plan = planner_(range_a, range_b);
    const bool new_plan = !last_.variant || plan.variant != last_.variant || plan.path != last_.path;
    // The report names the costliest path that a panel took.
    if (!outcome_.plan.variant || plan.path > outcome_.plan.path) outcome_.plan = plan;
    last_ = plan;

    Launch launch{};
    launch.batch = panel.items;
    launch.m = panel.rows;
    launch.n = problem_.n();
    launch.k = problem_.k();
    launch.first_output = first_output(panel);
    launch.a = panel.a.view;
    launch.b = panel_of_b(panel);
    if (problem_.c0.data) launch.c0 = panel_view(c0_.view, panel);
    const MutableMatrixView c{c_, problem_.m(), launch.n, launch.n, 1, problem_.m() * launch.n};
    launch.c = panel_view(c, panel);
    launch.element_bytes = kElementBytes;
    launch.path = plan.path;
    launch.range_a = range_a;
    launch.range_b = range_b;
    launch.stream = panel.stream;
    if (may_throw() && plan.path == RangePath::kWide) {
      launch.overflow = &remote()->overflow;
      if (!watches_overflow_) {
        MPMML_CUDA(cudaMemsetAsync(launch.overflow, 0xff, sizeof(kNoOverflow), panel.stream));
        // Panels on the other stream report there too.
        MPMML_CUDA(cudaStreamSynchronize(panel.stream));
      }
      watches_overflow_ = true;
    }

    const Kernel& kernel = kernel_of_(*plan.variant);
    panel.started->record(panel.stream);
    if (kernel.pack) {
      pack(kernel, launch, Operand::kA, panel.packed_a);
      // B is the same for every panel of rows, and packed anew only for another kernel or path.
      if (new_plan || problem_.batch > 1) {
        pack(kernel, launch, Operand::kB, packed_b_.emplace_back());
        b_packed_ = &lane_.event();
        b_packed_->record(panel.stream);
      } else {
        b_packed_->hold(panel.stream);
      }
      launch.packed_b = packed_b_.back().get();
    }
    panel.packed->record(panel.stream);
    kernel.launch(launch);
    panel.computed->record(panel.stream);
  }

  int64_t first_output(const Panel& panel) const {
    return (panel.first_item * problem_.m() + panel.first_row) * problem_.n();
  }

  /// B's instances that belong to the panel's.
  MatrixView panel_of_b(const Panel& panel) const {
    MatrixView view = b_.view;
    view.data = static_cast<const char*>(view.data) + panel.first_item * view.batch_stride * kElementBytes;
    return view;
  }

  void pack(const Kernel& kernel, Launch& launch, Operand operand, DeviceBuffer& buffer) {
    const int64_t bytes = kernel.packed_bytes(launch, operand);
    if (bytes == 0) return;
    buffer = DeviceBuffer(bytes, lane_.device(), launch.stream);
    (operand == Operand::kA ? launch.packed_a : launch.packed_b) = buffer.get();
    kernel.pack(launch, operand);
  }

  /// Under the throwing policy C must be left as it was when something overflowed, so that is asked before the first
  /// result is copied: where 64-bit sums were needed, after the last panel; elsewhere nothing can have overflowed.
  bool overflows() {
    if (!watches_overflow_) return false;
    lane_.quiesce();
    MPMML_CUDA(cudaMemcpy(&pinned()->overflow, &remote()->overflow, sizeof(kNoOverflow), cudaMemcpyDeviceToHost));
    if (pinned()->overflow == kNoOverflow) return false;
    outcome_.overflow = static_cast<int64_t>(pinned()->overflow);
    return true;
  }

  HostLayout host_of_c(const Panel& panel) const {
    const MutableMatrixView c = panel_view(problem_.c, panel);
    return host_layout({c.data, c.rows, c.cols, c.row_stride, c.col_stride, c.batch_stride}, panel.items, kElementBytes,
                       false);
  }

  void download() {
    const auto start = std::chrono::steady_clock::now();
    TransferQueue queue(TransferQueue::Direction::kDownload, lane_, [this] { return problem_.is_cancelled(); });
    for (const Panel& panel : panels_) {
      queue.add(
          {host_of_c(panel), static_cast<char*>(c_) + first_output(panel) * kElementBytes, nullptr, panel.computed});
    }
    queue.start();
    for (size_t index = 0; index < panels_.size(); ++index) queue.wait(index);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    outcome_.timing.d2h = elapsed.count();
  }

  void report_times() {
    Timing& timing = outcome_.timing;
    timing.h2d = panels_.back().a.arrived->since(*begin_);
    // Later panels are scanned and packed while earlier ones are computed; computing waits for the first alone.
    const Panel& front = panels_.front();
    timing.analysis =
        b_.scanned->since(*b_.arrived) + front.a.scanned->since(*front.a.arrived) + front.packed->since(*front.started);
    // Panels overlap: a moment in which two are computed counts once.
    double until = 0;
    for (const Panel& panel : panels_) {
      const double from = std::max(until, panel.packed->since(*begin_));
      until = std::max(until, panel.computed->since(*begin_));
      timing.kernel += std::max(0.0, until - from);
    }
    // Downloading waits for the kernels; what it took beyond them is its own.
    timing.d2h = std::max(0.0, timing.d2h - timing.kernel);
  }

  const Problem& problem_;
  Lane& lane_;
  const Planner& planner_;
  const KernelLookup& kernel_of_;
  DeviceBuffer memory_;  ///< C, and the operands of a small product
  void* c_ = nullptr;
  std::list<Panel> panels_;
  DeviceMatrix b_, c0_;
  std::list<DeviceBuffer> packed_b_;  ///< the last is in use by new panels, earlier ones still by older panels
  Event* b_packed_ = nullptr;
  Event* begin_ = nullptr;
  bool watches_overflow_ = false;
  Plan last_{};
  Outcome outcome_;
};

int64_t dense_bytes(const Problem& problem, const MatrixView& view) {
  if (!view.data) return 0;
  return (view.batch_stride == 0 ? 1 : problem.batch) * view.rows * view.cols * kElementBytes;
}

}  // namespace

int64_t needed_bytes(const Problem& problem) {
  return 2 * (dense_bytes(problem, problem.a) + dense_bytes(problem, problem.b)) + dense_bytes(problem, problem.c0) +
         problem.outputs() * kElementBytes;
}

Outcome multiply_on_device(const Problem& problem, int device, const Planner& planner, const KernelLookup& kernel_of) {
  const LaneHandle lane = take_lane(device);
  return DeviceProduct(problem, *lane, planner, kernel_of).run();
}

}  // namespace mpmml::cuda
