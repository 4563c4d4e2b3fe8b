#include "cuda/runtime/session_user.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "core/session/logarithms.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/runtime/reserved_memory.h"
#include "cuda/user/choice.h"
#include "cuda/user/kernels.h"
#include "cuda/user/pack.h"
#include "cuda/user/splice.h"
#include "cuda/user/templates/launch.h"

namespace mpmml::cuda {
namespace {

static_assert(kMaxLanes == kMaxUserLanes);

/// Limit of the k-steps per launch, about 10 ms on an H200. A product can be cancelled between two launches.
constexpr double kMaxSteps = 1.5e11;
/// Least number of waves per launch. At the end of a launch, multiprocessors wait for the slowest block.
constexpr int64_t kMinWaves = 8;

/// Returns the cost of a step relative to a built-in semiring, whose steps are two instructions.
double cost_of_step(const UserSemiring& semiring) { return std::max(1.0, instructions_of_step(semiring) / 2.0); }
double cost_of_step(const UserProduct& product) {
  return product.is_of_logarithms() ? 1 : cost_of_step(*product.semiring);
}

/// Returns the reason why a size exceeds the index range of the kernels; empty if none does.
std::string too_large(const UserProduct& product) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"rows", product.m()}, {"columns", product.n()}, {"steps", product.k()}};
  for (const auto& [name, size] : sizes) {
    if (size <= kMaxUserSide) continue;
    return "a product over a semiring of one's own has at most " + std::to_string(kMaxUserSide) + " " + name +
           " on a GPU, but this has " + std::to_string(size) + ": choose backend 'cpu'";
  }
  return {};
}

void require_sizes(const UserProduct& product) {
  const std::string reason = too_large(product);
  if (!reason.empty()) throw Error(ErrorCode::kShape, reason);
}

/// Returns the bytes of the product's matrices.
int64_t bytes_of(const UserProduct& product) {
  int64_t elements = product.witness.data ? product.outputs() : 0;
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    elements += items_of(product.a[lane], product.batch) * product.m() * product.k() +
                items_of(product.b[lane], product.batch) * product.k() * product.n() +
                product.outputs() * (product.accumulates() ? 2 : 1);
  }
  return elements * int64_t{sizeof(uint32_t)};
}

/// Returns the bytes of the packed operands, for dense row-major matrices.
int64_t bytes_to_pack(const UserProduct& product) {
  int64_t bytes = 0;
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    bytes += packed_bytes(items_of(product.a[lane], product.batch), product.k(), product.m()) +
             packed_bytes(items_of(product.b[lane], product.batch), product.k(), product.n());
  }
  return bytes;
}

UserChoice choice_of(const UserProduct& product, int device, bool may_pack) {
  return {*product.semiring,
          product.batch,
          product.m(),
          product.n(),
          product.k(),
          product.is_structured(),
          device_limits(device).multiprocessors,
          may_pack};
}

/// Returns the lanes of an operand as lines: rows of A, columns of B.
std::vector<UserLines> lines_of(const UserProduct& product, const UserLanes<MatrixView>& lanes, bool is_a) {
  std::vector<UserLines> all;
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    const MatrixView& view = lanes[lane];
    all.push_back({items_of(view, product.batch), product.k(), is_a ? product.m() : product.n(), view.batch_stride,
                   is_a ? view.col_stride : view.row_stride, is_a ? view.row_stride : view.col_stride});
  }
  return all;
}

/// Returns whether kernels can copy chunks of the operand in place.
bool has_chunks(const UserLines& lines, const void* data) {
  constexpr int64_t kChunk = 4;
  if (lines.depth == 0) return true;  // no element is copied
  const auto address = reinterpret_cast<uintptr_t>(data);
  return (lines.line_stride == 1 || lines.lines == 1) && lines.lines % kChunk == 0 &&
         address % (kChunk * sizeof(uint32_t)) == 0 && (lines.depth == 1 || lines.depth_stride % kChunk == 0) &&
         (lines.items == 1 || lines.item_stride % kChunk == 0);
}

/// Pending work of a product in a session's stream.
class UserWork final : public Pending {
 public:
  UserWork(const UserProduct& product, SessionDevice& device)
      : product_(product), device_(device), stream_(device.stream()) {
    require_sizes(product);
    if (product.is_cancelled()) throw aborted();
    find_kernels();
    launch_.m = static_cast<int>(product.m());
    launch_.n = static_cast<int>(product.n());
    launch_.k = static_cast<int>(product.k());
    launch_.structure = product.structure;
    launch_.is_structured = product.is_structured();
    for (size_t lane = 0; lane < product.lane_count(); ++lane) launch_.zero[lane] = product.semiring->zero[lane];
    set_results();
    started_.record(stream_);
    pack();
    packed_.record(stream_);
    for (size_t lane = 0; lane < product.lane_count(); ++lane) mark_written(product.c[lane], stored(lane));
    queue(*kernel_, cost_of_step(*product.semiring));
    if (witness_kernel_) {
      mark_written(product.witness, DataType::kInt32);
      launch_.witness = static_cast<int32_t*>(product.witness.data);
      launch_.witness_row_stride = product.witness.row_stride;
      launch_.witness_col_stride = product.witness.col_stride;
      launch_.witness_batch_stride = product.witness.batch_stride;
      queue(*witness_kernel_, cost_of_step(*product.semiring));
    }
    buffers_.clear();  // in the stream's order: the next part of a product of logarithms packs its own
    computed_.record(stream_);
  }
  ~UserWork() override {
    if (!is_finished_) cudaStreamSynchronize(stream_);
  }

  bool is_done() override { return computed_.has_passed(); }

  std::vector<Outcome> finish() override {
    computed_.wait();
    is_finished_ = true;
    Outcome outcome{};
    outcome.timing.analysis = packed_.since(started_);
    outcome.timing.kernel = computed_.since(packed_);
    product_.count_steps(product_.steps());
    return {std::move(outcome)};
  }

 private:
  DataType stored(size_t lane) const { return stored_type(product_.semiring->lanes[lane]); }

  void find_kernels() {
    const UserChoice choice = choice_of(product_, device_.device(), may_pack_);
    kernel_ = user_kernel(*product_.semiring, product_template(choice), device_.device());
    if (product_.witness.data) {
      witness_kernel_ = user_kernel(*product_.semiring, witness_template(choice), device_.device());
    }
  }

  /// Marks results as written. Must be called before a kernel writes them.
  void mark_written(const MutableMatrixView& view, DataType dtype) {
    // Results may have any value of the type.
    cuda::mark_written(view, dtype, product_.batch, unbounded());
  }

  void set_results() {
    const auto set = [&](UserResult& result, size_t lane, const auto& view) {
      result.data[lane] = static_cast<uint32_t*>(const_cast<void*>(static_cast<const void*>(view.data)));
      result.row_stride[lane] = view.row_stride;
      result.col_stride[lane] = view.col_stride;
      result.batch_stride[lane] = view.batch_stride;
    };
    for (size_t lane = 0; lane < product_.lane_count(); ++lane) {
      set(launch_.c, lane, product_.c[lane]);
      if (product_.accumulates()) set(launch_.c0, lane, product_.c0[lane]);
    }
  }

  bool needs_chunks() const {
    return !kernel_->shape().loads_elements || (witness_kernel_ && !witness_kernel_->shape().loads_elements);
  }

  /// Packs the operands if the kernel needs it.
  void pack() {
    try {
      set_operand(launch_.a, product_.a, true);
      set_operand(launch_.b, product_.b, false);
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
    // Fallback: kernels without packed operands are slower.
    buffers_.clear();
    may_pack_ = false;
    find_kernels();
    set_operand(launch_.a, product_.a, true);
    set_operand(launch_.b, product_.b, false);
  }

  void set_operand(UserOperand& operand, const UserLanes<MatrixView>& lanes, bool is_a) {
    const std::vector<UserLines> all = lines_of(product_, lanes, is_a);
    for (size_t lane = 0; lane < all.size(); ++lane) {
      const UserLines& lines = all[lane];
      const void* data = lanes[lane].data;
      operand.pitch[lane] = lines.depth_stride;
      operand.line_stride[lane] = lines.line_stride;
      operand.batch_stride[lane] = lines.items == 1 ? 0 : lines.item_stride;
      if (needs_chunks() && !has_chunks(lines, data)) {
        buffers_.push_back(device_.workspace(packed_bytes(lines.items, lines.depth, lines.lines)));
        pack_lines(lines, data, buffers_.back().get(), stream_);
        data = buffers_.back().get();
        operand.pitch[lane] = packed_pitch(lines.lines);
        operand.line_stride[lane] = 1;
        operand.batch_stride[lane] = lines.items == 1 ? 0 : lines.depth * packed_pitch(lines.lines);
      }
      operand.data[lane] = static_cast<const uint32_t*>(data);
    }
  }

  /// Queues all blocks of a kernel, in launches of limited duration.
  void queue(const UserKernel& kernel, double cost) {
    const UserTemplate& shape = kernel.shape();
    launch_.tiles_m = static_cast<int>(ceil_div(product_.m(), int64_t{shape.tile_m}));
    launch_.tiles_n = static_cast<int>(ceil_div(product_.n(), int64_t{shape.tile_n}));
    const int64_t blocks = product_.batch * launch_.tiles_m * launch_.tiles_n;
    const double steps_of_block = cost * shape.tile_m * shape.tile_n * static_cast<double>(product_.k());
    const int64_t wave = int64_t{device_limits(device_.device()).multiprocessors} * kernel.blocks_per_multiprocessor();
    const auto waves = static_cast<int64_t>(std::min(kMaxSteps / steps_of_block, 1e9)) / wave;
    const int64_t together = std::max(waves, kMinWaves) * wave;
    for (int64_t first = 0; first < blocks; first += together) {
      const int64_t count = std::min(together, blocks - first);
      launch_.first_block = first;
      device_.queue_in_turn(
          steps_of_block * static_cast<double>(count), stream_, [&] { return product_.is_cancelled(); },
          [&] { launch(kernel, static_cast<unsigned>(count)); });
    }
  }

  void launch(const UserKernel& kernel, unsigned blocks) {
    const UserTemplate& shape = kernel.shape();
    void* arguments[] = {&launch_};
    const CUresult status = driver().launch(kernel.function(), blocks, 1, 1, static_cast<unsigned>(shape.threads()), 1,
                                            1, 0, stream_, arguments, nullptr);
    if (status == CUDA_SUCCESS) return;
    // A sticky error is returned again, and recorded.
    MPMML_CUDA(cudaFree(nullptr));
    throw Error(ErrorCode::kCuda,
                std::string("launching the kernel ") + shape.name + " failed with " + driver().describe(status));
  }

  const UserProduct product_;
  SessionDevice& device_;
  const cudaStream_t stream_;
  bool may_pack_ = true, is_finished_ = false;
  std::shared_ptr<const UserKernel> kernel_, witness_kernel_;
  std::vector<DeviceBuffer> buffers_;
  UserLaunch launch_{};
  Event started_, packed_, computed_;
};

std::string described(const UserKernel& kernel) {
  const UserTemplate& shape = kernel.shape();
  char milliseconds[32];
  std::snprintf(milliseconds, sizeof(milliseconds), "%.1f ms", kernel.milliseconds());
  return std::string(shape.name) + ": tiles of " + std::to_string(shape.tile_m) + " × " + std::to_string(shape.tile_n) +
         ", " + std::to_string(shape.threads()) + " threads with " + std::to_string(kernel.registers()) +
         " registers each, " + (kernel.origin() == UserKernel::Origin::kDisk ? "read from the cache" : "compiled") +
         " in " + milliseconds;
}

}  // namespace

std::unique_ptr<Pending> multiply_user(const UserProduct& product, SessionDevice& device) {
  return std::make_unique<UserWork>(product, device);
}

std::unique_ptr<Share> reserve_for_user(const UserProduct& product, SessionDevice& device) {
  const int64_t needed = bytes_of(product) + bytes_to_pack(product) + bytes_of_parts(product);
  if (!fits_device(device.device(), needed, device.limit())) {
    throw Error(ErrorCode::kOutOfMemory, "a part of the product needs " + in_mebibytes(needed) +
                                             " of device memory, but device " + std::to_string(device.device()) +
                                             " has " + in_mebibytes(device_capacity(device.device(), device.limit())) +
                                             " for it: choose backend 'cpu'");
  }
  return std::make_unique<ReservedMemory>(device, Ledger::Demand{needed}, device.limit(),
                                          [&product] { return product.is_cancelled(); });
}

std::string refuses_user_product(const UserProduct& product, int device) {
  const std::string reason = too_large(product);
  if (!reason.empty()) return reason;
  const int capability = device_limits(device).capability;
  if (has_user_templates(capability)) return {};
  return "this build has no kernels for semirings of one's own on sm_" + std::to_string(capability) +
         ": rebuild it with MPMML_CUDA_ARCHS=" + std::to_string(capability);
}

double user_product_ms(const UserProduct& product, int device) {
  // Estimates for an H200: cost of a call, bytes of pageable memory per millisecond, and k-steps of the least cost per
  // millisecond and multiprocessor.
  constexpr double kCallMs = 0.1, kBytesPerMs = 9e6, kStepsPerMs = 1.1e8;
  constexpr int64_t kTile = 32;
  const double tiles =
      double(product.batch) * double(ceil_div(product.m(), kTile)) * double(ceil_div(product.n(), kTile));
  const double busy = std::min(double(device_limits(device).multiprocessors), tiles);
  const double steps = cost_of_step(product) * tiles * kTile * kTile * double(product.k());
  return kCallMs + double(bytes_of(product)) / kBytesPerMs + steps / (kStepsPerMs * busy);
}

std::string explain_user(const UserProduct& product, SessionDevice& device) {
  require_sizes(product);
  const UserChoice choice = choice_of(product, device.device(), true);
  std::string text = "cuda: " + described(*user_kernel(*product.semiring, product_template(choice), device.device()));
  if (product.witness.data) {
    text += "\n" + described(*user_kernel(*product.semiring, witness_template(choice), device.device()));
  }
  return text;
}

}  // namespace mpmml::cuda
