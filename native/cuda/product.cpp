#include "cuda/product.h"

#include <chrono>
#include <list>

#include "core/dispatch.h"
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
  Event arrived, scanned;
};

/// Rows of A and C, or instances of the batch.
struct Panel {
  explicit Panel(bool one_of_several) : computed(one_of_several) {}

  int64_t first_item, items, first_row, rows;
  DeviceMatrix a;
  DeviceBuffer packed_a;
  Event started, packed, computed;
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

/// Waits for a lane's streams when it goes out of scope: declared after the buffers that they use.
class Quiesce {
 public:
  explicit Quiesce(const Lane& lane) : lane_(lane) {}
  ~Quiesce() {
    for (cudaStream_t stream : {lane_.upload(), lane_.compute(), lane_.download()}) cudaStreamSynchronize(stream);
  }

 private:
  const Lane& lane_;
};

class DeviceProduct {
 public:
  DeviceProduct(const Problem& problem, Lane& lane, const Planner& planner, const KernelLookup& kernel_of)
      : problem_(problem),
        lane_(lane),
        planner_(planner),
        kernel_of_(kernel_of),
        device_results_(sizeof(Results), lane.device(), lane.compute()) {
    cut_into_panels();
  }

  Outcome run() {
    TransferQueue uploads(TransferQueue::Direction::kUpload, lane_, [this] { return problem_.is_cancelled(); });
    const Quiesce quiesce(lane_);
    start_uploads(uploads);
    compute(uploads);
    if (overflows()) return outcome_;
    download();
    report_times();
    return outcome_;
  }

 private:
  void cut_into_panels() {
    const double steps = double(problem_.outputs()) * problem_.k();
    const auto panels = std::clamp(static_cast<int64_t>(steps / kPanelSteps), int64_t{1}, kMostPanels);
    const bool by_rows = problem_.batch == 1;
    const int64_t size = by_rows ? problem_.m() : problem_.batch;
    const int64_t granule = by_rows ? kPanelRows : 1;
    const int64_t step = divide_up(divide_up(size, panels), granule) * granule;
    for (int64_t first = 0; first < size; first += step) {
      Panel& panel = panels_.emplace_back(step < size);
      const int64_t count = std::min(step, size - first);
      panel.first_item = by_rows ? 0 : first;
      panel.items = by_rows ? 1 : count;
      panel.first_row = by_rows ? first : 0;
      panel.rows = by_rows ? count : problem_.m();
    }
  }

  Results* pinned() const { return static_cast<Results*>(lane_.results()); }
  Results* remote() const { return static_cast<Results*>(device_results_.get()); }

  /// Adds the upload of a matrix batch, followed by its scan where `result` isn't null.
  void add_upload(TransferQueue& queue, DeviceMatrix& matrix, const MatrixView& view, int64_t items,
                  ScanResult* result) {
    const HostLayout host = host_layout(view, items, kElementBytes, true);
    matrix.buffer = DeviceBuffer(host.elements() * kElementBytes, lane_.device(), lane_.compute());
    matrix.view = view;
    matrix.view.data = matrix.buffer.get();
    matrix.view.row_stride = host.by_columns ? 1 : view.cols;
    matrix.view.col_stride = host.by_columns ? view.rows : 1;
    matrix.view.batch_stride = host.items == 1 ? 0 : view.rows * view.cols;
    queue.add({host, static_cast<char*>(matrix.buffer.get()), [this, &matrix, result, count = host.elements()] {
                 const cudaStream_t stream = lane_.upload();
                 matrix.arrived.record(stream);
                 if (result) {
                   const auto offset = reinterpret_cast<char*>(result) - reinterpret_cast<char*>(pinned());
                   auto* scanned = reinterpret_cast<ScanResult*>(reinterpret_cast<char*>(remote()) + offset);
                   scan_range(problem_.semiring, problem_.dtype, matrix.view.data, count, scanned, stream);
                   MPMML_CUDA(cudaMemcpyAsync(result, scanned, sizeof(ScanResult), cudaMemcpyDeviceToHost, stream));
                 }
                 matrix.scanned.record(stream);
               }});
  }

  void start_uploads(TransferQueue& queue) {
    add_upload(queue, b_, problem_.b, problem_.batch, &pinned()->b);
    int index = 0;
    for (Panel& panel : panels_) {
      add_upload(queue, panel.a, panel_view(problem_.a, panel), panel.items, &pinned()->a[index++]);
      if (index == 1 && problem_.c0.data) add_upload(queue, c0_, problem_.c0, problem_.batch, nullptr);
    }
    c_ = DeviceBuffer(problem_.outputs() * kElementBytes, lane_.device(), lane_.compute());
    MPMML_CUDA(cudaMemsetAsync(&remote()->overflow, 0xff, sizeof(kNoOverflow), lane_.compute()));
    // What is allocated in the order of one stream is used in another.
    allocated_.record(lane_.compute());
    allocated_.hold(lane_.upload());
    begin_.record(lane_.upload());
    queue.start();
  }

  void compute(TransferQueue& uploads) {
    uploads.wait(0);
    b_.scanned.wait();
    b_.scanned.hold(lane_.compute());
    size_t upload = 1;
    int index = 0;
    for (Panel& panel : panels_) {
      uploads.wait(upload++);
      panel.a.scanned.wait();
      panel.a.scanned.hold(lane_.compute());
      if (index == 0 && problem_.c0.data) {
        uploads.wait(upload++);
        c0_.scanned.hold(lane_.compute());
      }
      if (problem_.is_cancelled()) throw Error(ErrorCode::kAborted, "the product was given up before it was complete");
      compute(panel, pinned()->a[index++].range(), pinned()->b.range());
    }
  }

  void compute(Panel& panel, const ValueRange& range_a, const ValueRange& range_b) {
    const Plan plan = with_semiring(problem_.semiring, problem_.dtype, [&](auto semiring) {
      return planner_(exact_paths<decltype(semiring)>(range_a, range_b, problem_.overflow));
    });
    const bool new_plan = !outcome_.plan.variant || plan.variant != last_.variant || plan.path != last_.path;
    // The report names the costliest path that a panel took.
    if (!outcome_.plan.variant || plan.path > outcome_.plan.path) outcome_.plan = plan;
    last_ = plan;

    Launch launch{};
    launch.batch = panel.items;
    launch.m = panel.rows;
    launch.n = problem_.n();
    launch.k = problem_.k();
    launch.first_output = panel.first_item * problem_.m() * problem_.n() + panel.first_row * problem_.n();
    launch.a = panel.a.view;
    launch.b = panel_of_b(panel);
    if (problem_.c0.data) launch.c0 = panel_view(c0_.view, panel);
    const MutableMatrixView c{c_.get(), problem_.m(), launch.n, launch.n, 1, problem_.m() * launch.n};
    launch.c = panel_view(c, panel);
    launch.element_bytes = kElementBytes;
    launch.path = plan.path;
    launch.range_a = range_a;
    launch.range_b = range_b;
    launch.overflow = problem_.overflow == OverflowPolicy::kThrow ? &remote()->overflow : nullptr;
    launch.stream = lane_.compute();

    const Kernel& kernel = kernel_of_(*plan.variant);
    panel.started.record(lane_.compute());
    if (kernel.pack) {
      pack(kernel, launch, Operand::kA, panel.packed_a);
      // B is the same for every panel of rows, and packed anew only for another kernel or path.
      if (new_plan || problem_.batch > 1) {
        pack(kernel, launch, Operand::kB, packed_b_);
      }
      launch.packed_a = panel.packed_a.get();
      launch.packed_b = packed_b_.get();
    }
    panel.packed.record(lane_.compute());
    kernel.launch(launch);
    panel.computed.record(lane_.compute());
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
    buffer = DeviceBuffer(bytes, lane_.device(), lane_.compute());
    (operand == Operand::kA ? launch.packed_a : launch.packed_b) = buffer.get();
    kernel.pack(launch, operand);
  }

  /// Under the throwing policy C must be left as it was when something overflowed, so it is asked for before the first
  /// result is copied: where 64-bit sums were needed, after the last panel; elsewhere nothing can have overflowed.
  bool overflows() {
    if (problem_.overflow != OverflowPolicy::kThrow || outcome_.plan.path != RangePath::kWide) return false;
    MPMML_CUDA(cudaMemcpyAsync(&pinned()->overflow, &remote()->overflow, sizeof(kNoOverflow), cudaMemcpyDeviceToHost,
                               lane_.compute()));
    MPMML_CUDA(cudaStreamSynchronize(lane_.compute()));
    if (pinned()->overflow == kNoOverflow) return false;
    outcome_.overflow = static_cast<int64_t>(pinned()->overflow);
    return true;
  }

  void download() {
    const auto start = std::chrono::steady_clock::now();
    TransferQueue queue(TransferQueue::Direction::kDownload, lane_, [this] { return problem_.is_cancelled(); });
    const char* c = static_cast<const char*>(c_.get());
    for (Panel& panel : panels_) {
      const int64_t first = panel.first_item * problem_.m() * problem_.n() + panel.first_row * problem_.n();
      const MutableMatrixView target = panel_view(problem_.c, panel);
      const MatrixView view{target.data,       target.rows,       target.cols,
                            target.row_stride, target.col_stride, target.batch_stride};
      queue.add({host_layout(view, panel.items, kElementBytes, false), const_cast<char*>(c) + first * kElementBytes,
                 nullptr, &panel.computed});
    }
    queue.start();
    for (size_t index = 0; index < panels_.size(); ++index) queue.wait(index);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    outcome_.timing.d2h = elapsed.count();
  }

  void report_times() {
    Timing& timing = outcome_.timing;
    timing.h2d = panels_.back().a.arrived.since(begin_);
    timing.analysis = b_.scanned.since(b_.arrived);
    for (const Panel& panel : panels_) {
      timing.analysis += panel.a.scanned.since(panel.a.arrived) + panel.packed.since(panel.started);
      timing.kernel += panel.computed.since(panel.packed);
    }
    // Downloading waits for the kernels; what it took beyond them is its own.
    timing.d2h = std::max(0.0, timing.d2h - timing.kernel);
  }

  const Problem& problem_;
  Lane& lane_;
  const Planner& planner_;
  const KernelLookup& kernel_of_;
  DeviceBuffer device_results_;
  std::list<Panel> panels_;
  DeviceMatrix b_, c0_;
  DeviceBuffer packed_b_, c_;
  Event begin_, allocated_;
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
