#include "cuda/runtime/product.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/host/clock.h"
#include "core/problem/destination.h"
#include "core/problem/scan.h"
#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/plan/block_partition.h"
#include "cuda/plan/workspace.h"
#include "cuda/runtime/executor.h"
#include "cuda/runtime/pages.h"
#include "cuda/runtime/shared_b.h"

namespace mpmml::cuda {
namespace {

/// Returns the host layout of a result.
HostLayout host_of(const Problem& problem, const MutableMatrixView& result, DataType dtype) {
  HostLayout host = host_layout(read_only(result), problem.batch, dtype, false);
  host.band = problem.structure.c;
  return host;
}

/// Returns whether the device can copy the elements directly: pinned memory in dense order.
bool is_direct(const HostLayout& host, const Band& band) {
  return host.dense() && (host.by_columns ? band.transposed() : band).is_all(host.lines, host.length) &&
         is_pinned(host.data);
}

/// Sets gathered elements outside the band to zero.
void clear_gathered(const Operation& operation, const HostLayout& host, Storage storage, const Band& whole,
                    void* gathered) {
  const Band band = host.by_columns ? whole.transposed() : whole;
  if (band.is_all(host.lines, host.length)) return;
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto clear = [&](auto zero) {
      auto* line_data = static_cast<decltype(zero)*>(gathered);
      for (int64_t line = 0; line < host.items * host.lines; ++line, line_data += host.length) {
        const Span inside = band.of_row(line % host.lines);
        const int64_t first = std::clamp(inside.first, int64_t{0}, host.length);
        const int64_t end = std::clamp(inside.end, first, host.length);
        std::fill(line_data, line_data + first, zero);
        std::fill(line_data + end, line_data + host.length, zero);
      }
    };
    with_stored<S>(storage, clear);
  });
}

/// A product on the streams of a session, which it uses exclusively until it ends.
class OnStreams : public Pending {
 public:
  OnStreams(const Problem& problem, const Problem& whole, const Placement& where, Planner& planner,
            SessionDevice& device, bool overlaps)
      : problem_(problem),
        device_(device),
        lane_(device.lane()),
        where_(where),
        executor_(problem_, where_, device, lane_, Executor::Timed::kPreparation, overlaps),
        whole_(whole),
        planner_(planner) {}
  OnStreams(const OnStreams&) = delete;

  /// finish() waits for the device and copies the results.
  bool is_done() override { return true; }

  std::vector<Outcome> finish() override {
    MPMML_CUDA(cudaSetDevice(lane_.device()));
    return {fetch()};
  }

 protected:
  virtual Outcome fetch() = 0;

  /// Returns the plan for available operands. Throws Error(kValue) if they contain values that aren't elements of the
  /// semiring.
  Plan choose(const Operand& a, const Operand& b) {
    if (problem_.is_cancelled()) throw aborted();
    require_elements(problem_, a.range(), b.range());
    const Plan planned = planner_.plan(whole_, a.range(), b.range(), where_);
    const Plan plan = executor_.improve(planned, a.range(), a.view(), b.range(), b.view());
    outcome_.take_plan(plan);
    return plan;
  }
  RegionPlan plan_region(const Plan& plan, const Region& region, const Problem& part, const Operand& a,
                         const Operand& b) const {
    return executor_.plan(plan, executor_.kernel_for(plan, a.range(), b.range()), region, part, a, b);
  }

  /// Waits for queued work, which may still use buffers and the caller's memory unless all results were fetched. Must
  /// be called by the destructor of every derived class with buffers.
  void end() {
    if (!is_fetched_) lane_.quiesce();
    lane_.reset();
  }
  void fetched() { is_fetched_ = true; }

  const Problem& problem_;
  SessionDevice& device_;
  Lane& lane_;
  const Placement where_;
  Executor executor_;
  Outcome outcome_;

 private:
  const Problem& whole_;
  Planner& planner_;
  bool is_fetched_ = false;
};

/// Returns whether SmallProduct computes the product, unless lines must be scanned.
bool is_small(const Problem& problem) { return has_few_bytes(problem) && !requested_auxiliary(problem); }

/// A product whose operands fit one pinned slot: one launch on one stream. The host scans the elements that it gathers.
/// The kernel writes its results directly to pinned memory (zero-copy), to C itself if C is pinned. The launch of a
/// small copy would take longer (10 µs of 111 end-to-end at 256³, H200).
class SmallProduct final : public OnStreams {
 public:
  SmallProduct(const Problem& problem, const Problem& whole, const Placement& where, Planner& planner,
               SessionDevice& device)
      : OnStreams(problem, whole, where, planner, device, false),
        a_(problem.operation, problem.a, problem.batch),
        b_(problem.operation, problem.b, problem.batch),
        c0_(problem.operation, problem.c0, problem.batch) {}
  ~SmallProduct() override { end(); }

  void start() {
    const cudaStream_t stream = lane_.compute(0);
    StagingRing& ring = lane_.ring(0);
    auto* const slot = static_cast<char*>(ring.acquire());
    memory_ = DeviceBuffer(operand_bytes(problem_), lane_.device(), stream);
    begin_ = &lane_.event();
    begin_->record(stream);
    stage(slot, a_, problem_.a.storage, problem_.structure.a);
    stage(slot, b_, problem_.b.storage, problem_.structure.b);
    if (problem_.c0.data) stage(slot, c0_, problem_.c0.storage, Band{});
    ring.release(stream);
    a_.arrived(stream);
    const Plan plan = choose(a_, b_);
    host_ = host_of(problem_, problem_.c, problem_.operation.dtype);
    target_.emplace(problem_, may_overflow(problem_, plan.path), is_c_reachable());
    target_->place(target_->is_separate() ? ring.acquire() : host_.data);
    Problem there = target_->there(problem_);
    there.c0 = c0_.view();
    RegionPlan planned = plan_region(plan, whole(problem_), there, a_, b_);
    times_ = executor_.launch(planned, a_, b_, stream);
    ring.release(stream);
    executor_.require_no_overflow();
  }

 private:
  /// Returns whether the kernel can write its results directly to C.
  bool is_c_reachable() const {
    return host_.is_all_written() && reinterpret_cast<uintptr_t>(host_.data) % kMatrixAlignment == 0 &&
           is_direct(host_, Band{});
  }

  Outcome fetch() override {
    lane_.ring(0).finish();
    fetched();
    target_->commit([&](const MatrixView& from, const MutableMatrixView&) {
      host_.scatter(0, host_.elements(), static_cast<const char*>(from.data));
    });
    problem_.count_steps(static_cast<double>(problem_.outputs()));
    outcome_.timing.h2d = a_.arrival(*begin_);
    outcome_.timing.analysis = times_.packed->since(*times_.started);
    outcome_.timing.kernel = times_.computed->since(*times_.packed);
    return std::move(outcome_);
  }

  void stage(char* slot, Operand& operand, Storage storage, const Band& band) {
    operand.place_at(static_cast<char*>(memory_.get()) + used_, lane_);
    const HostLayout& host = operand.host();
    const char* source = host.data;
    if (!is_direct(host, band)) {
      char* const gathered = slot + used_;
      host.gather(0, host.elements(), gathered);
      clear_gathered(problem_.operation, host, storage, band, gathered);
      source = gathered;
    }
    MPMML_CUDA(cudaMemcpyAsync(operand.data(), source, host.bytes(), cudaMemcpyHostToDevice, lane_.compute(0)));
    operand.set_range(scan_elements(problem_.operation, storage, source, host.elements()));
    used_ += round_up(host.bytes(), kMatrixAlignment);
  }

  DeviceBuffer memory_;
  int64_t used_ = 0;  ///< bytes of the memory and of the slot in use
  Operand a_, b_, c0_;
  HostLayout host_{};  ///< of C
  std::optional<ResultTarget> target_;
  Event* begin_ = nullptr;
  LaunchTimes times_{};
};

/// Lease of a device's shard of the shared B: keeps the shard's memory until no other device reads it. Must be declared
/// after all shared members.
class SharedOperandLease {
 public:
  SharedOperandLease(BroadcastOperand* shared, size_t part) : shared_(shared), part_(part) {}
  ~SharedOperandLease() {
    if (!shared_) return;
    if (!has_received_) shared_->received(part_, true);
    shared_->await_readers(part_);
  }
  SharedOperandLease(const SharedOperandLease&) = delete;

  /// Marks all of B as received.
  void received() {
    if (shared_) shared_->received(part_, false);
    has_received_ = true;
  }

 private:
  BroadcastOperand* const shared_;
  const size_t part_;
  bool has_received_ = false;
};

/// A product in output blocks (plan/block_partition.h).
class BlockedProduct final : public OnStreams {
 public:
  BlockedProduct(const Problem& problem, const Problem& whole, const Placement& where, Planner& planner,
                 SessionDevice& device, BlockPartition cut)
      : OnStreams(problem, whole, where, planner, device, cut.cells.size() > 1),
        dtype_(problem.operation.dtype),
        scans_lines_(cuda::scans_lines(problem, where, planner)),
        shared_(static_cast<BroadcastOperand*>(where.shared_b)),
        cut_(std::move(cut)),
        room_(device.reserved() - matrix_bytes(problem)),
        there_(problem),
        sharing_(shared_, where.part) {
    for (const Region& region : cut_.a) {
      const Problem part = sub(problem, region);
      a_.emplace_back(problem.operation, part.a, part.batch, part.structure.a);
    }
    for (const Region& region : cut_.b) {
      const Problem part = sub(problem, region);
      b_.emplace_back(problem.operation, part.b, part.batch, part.structure.b);
    }
    for (const Region& region : cut_.c0) {
      const Problem part = sub(problem, region);
      c0_.emplace_back(problem.operation, part.c0, part.batch);
    }
  }
  ~BlockedProduct() override { end(); }

  void start() {
    compute();
    sharing_.received();
    if (executor_.watches_overflow()) await_parts();
    executor_.require_no_overflow();
    prepare_download();
  }

 private:
  /// C or an auxiliary output, and its memory on the device.
  struct Result {
    MutableMatrixView Problem::* view;
    DataType dtype;
    DeviceBuffer memory;
  };

  /// A panel of C, and the event after which it is computed.
  struct Completed {
    int part;
    Event* event;
  };

  Outcome fetch() override {
    const double waited_and_copied = download();
    fetched();
    outcome_.timing = times(waited_and_copied);
    return std::move(outcome_);
  }

  void compute() {
    TransferQueue uploads(TransferQueue::Direction::kUpload, lane_, [this] { return problem_.is_cancelled(); });
    start_uploads(uploads);
    for (const Result& result : results_) {
      const HostLayout host = host_of(problem_, problem_.*result.view, result.dtype);
      if (host.dense() && !is_pinned(host.data)) pages_.emplace_back(host.data, host.bytes());
    }
    compute_cells(uploads);
  }

  void allocate_result(MutableMatrixView Problem::* view, DataType dtype) {
    ResultTarget target(problem_.*view, problem_.batch, dtype, true);
    DeviceBuffer memory(target.bytes(), lane_.device(), lane_.compute(0));
    target.place(memory.get());
    there_.*view = target.view();
    results_.push_back({view, dtype, std::move(memory)});
  }

  void start_uploads(TransferQueue& queue) {
    const cudaStream_t first = lane_.compute(0);
    allocate_result(&Problem::c, dtype_);
    for_auxiliary(problem_, [&](const AuxiliaryOutput& it) { allocate_result(it.view, kAuxiliaryType); });
    for (std::vector<Operand>* operands : {&a_, &b_, &c0_}) {
      const bool is_for_peers = shared_ && operands == &b_;
      for (Operand& operand : *operands) operand.allocate(lane_, first, is_for_peers);
    }
    for (const Upload& upload : cut_.uploads) add_upload(queue, upload);
    reset_scans(device_.results_on_device()->scans[0], 2 * kMaxParts, first);
    // Memory is allocated and initialized in one stream but used in others, so they wait.
    Event& ready = lane_.event();
    ready.record(first);
    for (const cudaStream_t stream : {lane_.upload(), lane_.scan(), lane_.download()}) ready.hold(stream);
    for (int index = 1; index < Lane::kComputeStreams; ++index) ready.hold(lane_.compute(index));
    begin_ = &lane_.event();
    begin_->record(lane_.upload());
    queue.start();
  }

  void add_upload(TransferQueue& queue, const Upload& upload) {
    Operand& operand = operands(upload.input)[upload.part];
    const bool is_shared = shared_ && upload.input == Input::kB;
    if (is_shared) own_pieces_.push_back(&lane_.event());
    HostLayout host = operand.host();
    char* to = operand.data();
    if (is_shared) {
      const Span piece = shared_->piece_of(where_.part, host);
      host.data += piece.first * host.line_stride * host.element_bytes;
      host.lines = piece.size();
      to += piece.first * host.length * host.element_bytes;
    }
    queue.add({host, to, [this, upload, is_shared, &operand] {
                 if (is_shared) {
                   gather_strip(operand, static_cast<size_t>(upload.part));
                 } else {
                   operand.arrived(lane_.upload());
                 }
                 if (upload.input == Input::kC0) return;
                 const Side side = upload.input == Input::kA ? Side::kA : Side::kB;
                 SmallResults &on_host = *device_.results_on_host(), &on_device = *device_.results_on_device();
                 const auto index = static_cast<size_t>(side);
                 if (scans_lines_) {
                   operand.sample(lane_, side, &on_host.levels[index][upload.part],
                                  &on_device.levels[index][upload.part]);
                 }
                 operand.scan(lane_, &on_host.scans[index][upload.part], &on_device.scans[index][upload.part]);
               }});
  }

  /// Offers this device's piece of a strip to the other devices after it has been queued, and fetches their pieces. It
  /// uses the download stream, which is still idle.
  void gather_strip(Operand& operand, size_t strip) {
    const size_t part = where_.part;
    const cudaStream_t stream = lane_.download();
    own_pieces_[strip]->record(lane_.upload());
    own_pieces_[strip]->hold(stream);
    shared_->offer(part, strip, operand.data(), *own_pieces_[strip]);
    shared_->fetch(part, strip, operand.host(), operand.data(), stream, [this] { return problem_.is_cancelled(); });
    operand.arrived(stream);
  }

  std::vector<Operand>& operands(Input input) { return input == Input::kA ? a_ : input == Input::kB ? b_ : c0_; }

  /// Waits until a part of an input is on the device and scanned.
  void await(TransferQueue& queue, Input input, int part) {
    const auto upload = std::find_if(cut_.uploads.begin(), cut_.uploads.end(), [&](const Upload& candidate) {
      return candidate.input == input && candidate.part == part;
    });
    queue.wait(upload - cut_.uploads.begin());
    operands(input)[part].await();
  }

  void compute_cells(TransferQueue& uploads) {
    const bool sleeps = cut_.cells.size() > 1;
    std::vector<size_t> left(cut_.c.size());
    for (const OutputBlock& cell : cut_.cells) ++left[cell.c];
    for (const OutputBlock& cell : cut_.cells) {
      await(uploads, Input::kA, cell.a);
      await(uploads, Input::kB, cell.b);
      if (!c0_.empty()) await(uploads, Input::kC0, cell.c0);
      Operand &a = a_[cell.a], &b = b_[cell.b];
      if (scans_lines_) Operand::scan_lines(a, b, lane_);
      const cudaStream_t stream = lane_.compute(static_cast<int>(times_.size()));
      RegionPlan planned = plan_region(choose(a, b), cell.region, problem_of(cell), a, b);
      make_room(planned, a, b);
      times_.push_back(executor_.launch(planned, a, b, stream));
      if (executor_.leaves_auxiliary(*planned.variant, *planned.kernel)) {
        times_.back().computed = executor_.find_auxiliary(planned, a, b, {}, stream).computed;
      }
      if (--left[cell.c] > 0) continue;
      // The block that completes a panel of C waits for the panel's other blocks, which are on other streams.
      for (size_t index = 0; index < times_.size(); ++index) {
        if (cut_.cells[index].c == cell.c) times_[index].computed->hold(stream);
      }
      completed_.push_back({cell.c, &lane_.event(sleeps)});
      completed_.back().event->record(stream);
    }
  }

  /// Drops the packed forms of earlier blocks, after these are computed, if the memory doesn't suffice for the forms of
  /// the next block. The reservation covers the forms of one plan, but blocks may have different plans.
  void make_room(const RegionPlan& plan, Operand& a, Operand& b) {
    const auto bytes = [&] {
      return a.bytes_to_keep(*plan.kernel, plan.launch, Side::kA) +
             b.bytes_to_keep(*plan.kernel, plan.launch, Side::kB);
    };
    if (packed_ + bytes() > room_) {
      for (const LaunchTimes& earlier : times_) earlier.computed->wait();
      for (std::vector<Operand>* operands : {&a_, &b_}) {
        for (Operand& operand : *operands) operand.drop_forms();
      }
      packed_ = 0;
    }
    packed_ += bytes();
  }

  /// Returns the product of an output block, with C0 and the results on the device.
  Problem problem_of(const OutputBlock& cell) const {
    Problem part = sub(there_, cell.region);
    if (!c0_.empty()) part.c0 = sub(c0_[cell.c0].view(), dtype_, {0, part.m()}, cell.region.cols);
    return part;
  }

  /// Waits until all panels of C are computed, and reports the progress of each.
  void await_parts() {
    for (const Completed& completed : completed_) {
      completed.event->wait();
      count(completed);
    }
  }

  void count(const Completed& completed) const {
    problem_.count_steps(static_cast<double>(sub(problem_, cut_.c[completed.part]).outputs()));
  }

  /// Allocates the resources of the download in advance, so that no allocation can fail after C has changed, here or on
  /// another device.
  void prepare_download() {
    downloads_ = std::make_unique<TransferQueue>(TransferQueue::Direction::kDownload, lane_,
                                                 [this] { return problem_.is_cancelled(); });
    for (const auto& [part, event] : completed_) {
      const Problem on_host = sub(problem_, cut_.c[part]), on_device = sub(there_, cut_.c[part]);
      for (const Result& result : results_) {
        const auto view = result.view;
        downloads_->add({host_of(on_host, on_host.*view, result.dtype), static_cast<char*>((on_device.*view).data),
                         nullptr, event});
      }
    }
    downloads_->prepare();
  }

  /// Downloads the results, and returns its duration in milliseconds.
  double download() {
    const auto start = Clock::now();
    // The queue's threads have ended when this function returns or throws.
    const std::unique_ptr<TransferQueue> queue = std::move(downloads_);
    queue->start();
    size_t index = 0;
    for (const Completed& completed : completed_) {
      for (size_t copied = 0; copied < results_.size(); ++copied) queue->wait(index++);
      if (!executor_.watches_overflow()) count(completed);
    }
    return milliseconds_since(start);
  }

  Timing times(double waited_and_copied) const {
    Timing timing;
    for (const std::vector<Operand>* operands : {&a_, &b_}) {
      timing.h2d = std::max(timing.h2d, operands->back().arrival(*begin_));
      // Later parts are scanned and packed while earlier ones are computed. The kernels wait only for the first part.
      timing.analysis += operands->front().scan_time();
    }
    timing.analysis += times_.front().packed->since(*times_.front().started);
    // Blocks overlap, so time in which two of them are computed counts once.
    double until = 0;
    for (const LaunchTimes& times : times_) {
      const double from = std::max(until, times.packed->since(*begin_));
      until = std::max(until, times.computed->since(*begin_));
      timing.kernel += std::max(0.0, until - from);
    }
    // The download waits for the kernels, so only the time beyond the kernel time counts.
    timing.d2h = std::max(0.0, waited_and_copied - timing.kernel);
    return timing;
  }

  const DataType dtype_;
  const bool scans_lines_;
  BroadcastOperand* const shared_;
  const BlockPartition cut_;
  const int64_t room_;  ///< for packed forms, in bytes
  int64_t packed_ = 0;
  Problem there_;  ///< the product with its results on the device
  std::vector<Result> results_;
  std::vector<Operand> a_, b_, c0_;
  std::vector<Event*> own_pieces_;    ///< arrival of this device's piece of each shared strip of B
  std::vector<LaunchTimes> times_;    ///< of the output blocks, in their order
  std::vector<Completed> completed_;  ///< panels of C, in order of completion
  Event* begin_ = nullptr;
  std::deque<Pages> pages_;
  std::unique_ptr<TransferQueue> downloads_;
  SharedOperandLease sharing_;
};

}  // namespace

bool has_few_bytes(const Problem& problem) {
  return operand_bytes(problem) <= StagingRing::kSlotBytes && result_bytes(problem) <= kFewBytes;
}

bool scans_lines(const Problem& problem, const Placement& where, Planner& planner) {
  // A scan of the lines of a small product would take longer than the product.
  return (where.variant || !is_small(problem)) && may_scan_lines(problem, where, planner);
}

std::unique_ptr<Pending> stream_product(const Problem& problem, const Problem& whole, const Placement& where,
                                        Planner& planner, SessionDevice& device) {
  if (is_small(problem) && !scans_lines(problem, where, planner)) {
    auto product = std::make_unique<SmallProduct>(problem, whole, where, planner, device);
    product->start();
    return product;
  }
  const auto* const shared = static_cast<const BroadcastOperand*>(where.shared_b);
  auto product = std::make_unique<BlockedProduct>(problem, whole, where, planner, device,
                                                  partition_into_blocks(problem, shared ? shared->strips() : 0));
  product->start();
  return product;
}

}  // namespace mpmml::cuda
