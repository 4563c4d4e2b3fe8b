// Interface of device sessions and of device-resident matrices.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "core/session/backend.h"
#include "core/user/product.h"

namespace mpmml {

class PeerTransfers;  // core/devices/sharded_memory.h

/// Consecutive problems in memory of the caller, which must outlive this object.
class Problems {
 public:
  Problems(const Problem& one) : first_(&one), count_(1) {}
  Problems(const std::vector<Problem>& all) : first_(all.data()), count_(all.size()) {}

  const Problem* begin() const { return first_; }
  const Problem* end() const { return first_ + count_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const Problem& front() const { return *first_; }
  const Problem& operator[](size_t index) const { return first_[index]; }

 private:
  const Problem* first_;
  size_t count_;
};

/// Device memory for elements. Matrices are views of it: their `memory` points to it. The memory is freed when its last
/// owner releases it, which may happen on any thread.
class Memory {
 public:
  Memory(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  /// Excludes this memory from the used-bytes count before its last owner frees it, which may take long. Idempotent.
  virtual void retire() {}

 private:
  void* const data_;
  const int64_t bytes_;
};

/// Returns `view` with its first element at the start of a memory.
inline MutableMatrixView placed_in(Memory& memory, MutableMatrixView view) {
  view.data = memory.data();
  view.memory = &memory;
  return view;
}

/// Reservation of device memory, released by the destructor.
class Share {
 public:
  Share() = default;
  virtual ~Share() = default;
  Share(const Share&) = delete;
};

/// Memory usage in bytes.
struct MemoryUse {
  int64_t used;      ///< by existing matrices
  int64_t reserved;  ///< allocated by the library: matrices, packed formats, workspaces, and cached free blocks
  int64_t peak;      ///< maximum of `used` so far
  int64_t free;      ///< free memory of the device
  int64_t total;     ///< memory of the device
};

/// Started work, which may still run on the device.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Returns whether the work is done. Doesn't wait.
  virtual bool is_done() = 0;
  /// Waits for the work and returns an outcome for each product. Must be called at most once. Throws Error if the work
  /// failed.
  virtual std::vector<Outcome> finish() = 0;
};

/// Work that is already done.
class Done final : public Pending {
 public:
  explicit Done(std::vector<Outcome> outcomes = {}) : outcomes_(std::move(outcomes)) {}
  bool is_done() override { return true; }
  std::vector<Outcome> finish() override { return std::move(outcomes_); }

 private:
  std::vector<Outcome> outcomes_;
};

/// A block of pivots of a closure by Floyd and Warshall: intermediate nodes of paths, processed one after the other.
/// Elimination relaxes only paths that begin or end at a pivot: the columns of the pivots (`down`) and their rows
/// (`along`). One product relaxes the paths between other nodes. With i and j for any nodes that have rows and columns
/// here:
///
///   for k = 0 … count − 1:
///     columns[i, k] = d[i, pivot k] and rows[k, j] = d[pivot k, j], at this moment
///     d[i, j] = d[i, j] ⊕ columns[i, k] ⊗ rows[k, j], if i or j is a pivot
///
///   d[i, j] = d[i, j] ⊕ (columns ⊗ rows)[i, j] for all other i and j
///
/// The candidates of an element are the same, in the same order, as if there were only one pivot at a time. So neither
/// its value, rounding included, nor the path that `next` follows depends on the grouping of pivots. Sums of finite
/// elements must not leave the type.
struct Pivots {
  Operation operation;  ///< requires an idempotent ⊕
  int64_t batch = 1;
  int64_t count = 0;  ///< 1 … max_pivots()
  /// m × count and count × n. The pivots are rows first_row … of `down` and columns first_col … of `along`. If these
  /// two are parts of one matrix, they overlap in the block of the pivots. Otherwise both must contain that block,
  /// which is unspecified afterwards.
  MutableMatrixView down, along;
  int64_t first_row = 0, first_col = 0;
  /// Next nodes of `down` and `along`: int32, of their sizes. If pivot k strictly improves an element, its next node
  /// becomes next_columns[i, k]. Data is null if they aren't requested.
  MutableMatrixView next_down, next_along;
  /// m × count. Data of `columns` and `rows` is null if they aren't requested and all nodes are pivots.
  MutableMatrixView columns;
  MutableMatrixView rows;          ///< count × n
  MutableMatrixView next_columns;  ///< m × count, int32: recorded from next_down like `columns` from `down`
  int64_t first_node = 0;          ///< number of the first pivot in `gain`
  /// batch × 1 × 1, int32: the smallest pivot with an improving cycle, whose diagonal element is strictly better than
  /// one when it is processed. Initially kNoGain. Once it is set, all other results are unspecified, and needn't be
  /// computed.
  MutableMatrixView gain;
  const std::atomic<int32_t>* cancelled = nullptr;  ///< polled by sessions that eliminate before they return
};

/// Derivation of next nodes from the distances of a closure over sums. Every edge must make a path worse, and sums must
/// be exact. An edge is *tight* if its weight equals the distance between its nodes. Tight edges begin best paths, and
/// every best path consists of tight edges. For i ≠ j the next node becomes j if there is a tight edge from i to j,
/// else the smallest v with one from i to v and d[i, v] + d[v, j] = d[i, j]. On the diagonal, and if no path exists, it
/// is −1. Each edge along next nodes reduces the distance to j.
struct NextNodes {
  Operation operation;  ///< ⊗ must be the sum, over int32 or over integers in float64
  int64_t batch = 1;
  MatrixView d;            ///< m × n: distances from the nodes first_row …
  int64_t first_row = 0;   ///< node of the first row
  MutableMatrixView next;  ///< m × n, int32
  MatrixView via;          ///< k × n: distances from the intermediate nodes first_via … of find_next_nodes()
  int64_t first_via = 0;
  double best_edge = 0;  ///< bound of the weights: no edge has a better one
  const std::atomic<int32_t>* cancelled = nullptr;
};

/// Relaxation of paths over the essential edges of a graph. An edge with w(i, j) = d(i, j) is *essential*: best paths
/// consist of such edges, because d is at best the distance and at worst w.
struct EssentialEdges {
  Operation
      operation;  ///< ⊗ must be the sum over int32; no edge may improve a path, and sums of two elements must stay in the type
  MatrixView weights;     ///< n × n
  MutableMatrixView d;    ///< n × n: lengths of paths of the graph, none worse than its edge
  int64_t max_edges = 0;  ///< maximum number of essential edges
  int64_t max_reads = 0;  ///< maximum number of rows that all rounds read; each round counts as additional reads
  const std::atomic<int32_t>* cancelled = nullptr;
};

/// Counts of equal elements of two matrices.
struct Equal {
  int64_t elements;  ///< other than zero
  int64_t zeros;     ///< where the second matrix is the semiring's zero
};

/// Operations of a session that close a matrix over its essential edges. Matrices must be in memory of the session;
/// calls wait for the work.
class Relaxer {
 public:
  virtual ~Relaxer() = default;
  /// Counts equal elements of two int32 matrices of the same sizes.
  virtual Equal count_equal(const Operation& operation, const MatrixView& a, const MatrixView& b) = 0;
  /// Returns whether a ⊗ a needs only a small part of its n³ steps, judged from a sample.
  virtual bool has_fast_square(const Operation& operation, const MatrixView& a) = 0;
  /// Relaxes d over its essential edges until nothing changes: d is closed then. Returns false if d has more than
  /// `max_edges` essential edges, or `max_reads` don't suffice; d then holds paths that may have improved. Throws
  /// Error.
  virtual bool relax(const EssentialEdges& edges) = 0;
};

/// Position in the order of a session's work.
class StreamEvent {
 public:
  virtual ~StreamEvent() = default;
};

/// An open device. Started work takes effect in the order of the calls, as if each were complete before the next. Only
/// one thread at a time may call a session, unless a function is documented otherwise. A session must outlive its
/// memories and its pending work.
class Session {
 public:
  virtual ~Session() = default;

  virtual BackendKind backend() const = 0;
  virtual int device() const = 0;
  /// Returns the name of the GPU model; empty on the CPU.
  virtual std::string name() const = 0;
  /// Returns whether the session's memory is host memory. Then it reads operands in any memory, and scans their values
  /// at no cost.
  virtual bool is_host() const { return false; }
  /// Returns whether work is complete when the call that starts it returns.
  virtual bool works_at_once() const { return false; }

  /// Sets the flag that cancels subsequent work, also while the work waits for memory; null: no flag.
  virtual void set_cancelled(const std::atomic<int32_t>* /*cancelled*/) {}

  /// Allocates memory with undefined content. Throws Error(kOutOfMemory).
  virtual std::shared_ptr<Memory> allocate(int64_t bytes) = 0;

  /// Like allocate(), for memory that other sessions receive from.
  virtual std::shared_ptr<Memory> allocate_for_peers(int64_t bytes) { return allocate(bytes); }

  /// Like allocate(), for `units` units of equal sizes (rows, or matrices of a batch), none of which a multi-device
  /// session divides.
  virtual std::shared_ptr<Memory> allocate_units(int64_t units, int64_t bytes) { return allocate(units * bytes); }

  /// Returns the devices of a multi-device session; empty for a single device.
  virtual std::vector<int> devices() const { return {}; }
  virtual PeerTransfers* peers() { return nullptr; }

  /// Opens another session of the same device, whose work has priority over the work of this one; null if the backend
  /// has none.
  virtual std::unique_ptr<Session> open_ahead() { return nullptr; }

  /// Copies `batch` host matrices into the matrices `to` of the same sizes and storage. Returns when the host memory
  /// has been read. `cancelled` as in Problem.
  virtual void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                      const std::atomic<int32_t>* cancelled) = 0;

  /// Starts to copy the matrices `from` to the host's matrices `to`, which must stay until the work is done.
  virtual std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from,
                                            const MutableMatrixView& to, const std::atomic<int32_t>* cancelled) = 0;

  /// Starts to set all elements of `to` to `value`, which the type can represent.
  virtual std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) = 0;

  /// Starts C = C ⊕ D, element by element. Both are in memory of this session and have the same sizes. D may be stored
  /// as int16. Throws Error(kValue) for values that aren't elements of the semiring.
  virtual std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                           const MatrixView& d) = 0;

  /// Starts to copy matrices of this session to others of the same sizes and storage. They must not overlap.
  virtual std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                        const MutableMatrixView& to) = 0;

  /// Returns an event after the work started so far, for other sessions of the backend to wait for; null if all work is
  /// done.
  virtual std::shared_ptr<StreamEvent> moment() { return nullptr; }
  /// Orders subsequent work after an event of another session; null: no dependency.
  virtual void follow(const StreamEvent* /*moment*/) {}

  /// Starts to copy bytes from memory of another session of the same backend, which must come from
  /// allocate_for_peers(). The copy isn't ordered with work of the other session: see moment(). Known bounds of a
  /// memory are copied too if all of its bytes are. The other session may receive concurrently, on another thread.
  virtual void receive(Session& from, const Memory& source, int64_t source_at, Memory& target, int64_t target_at,
                       int64_t bytes) = 0;

  /// Returns the range of the elements of matrices of this session. May wait.
  virtual ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) = 0;
  /// Returns the index (item, row, column in row-major order) of the first NaN in matrices of this session. May wait.
  virtual std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix);

  /// Returns the maximum number of pivots in a call of eliminate().
  virtual int64_t max_pivots(const Operation& operation) const = 0;
  /// Starts to eliminate pivots. All matrices must be in memory of this session, with contiguous rows (column stride
  /// 1).
  virtual std::unique_ptr<Pending> eliminate(const Pivots& pivots) = 0;
  /// Starts to set next[i, j] = j if d[i, j] isn't zero, and −1 if it is. Both must be in memory of this session.
  virtual std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                                  const MutableMatrixView& next) = 0;
  /// Starts to replace the weights of edges in `next`, as int32 with its zero for no edge, by the next nodes of tight
  /// edges. Other pairs with a path become open (core/algebra/successors.h).
  virtual std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) = 0;
  /// Starts to search the next nodes of open pairs among paths through the nodes of `via`. After calls for all nodes in
  /// ascending order no pair is open.
  virtual std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) = 0;

  /// Returns the operations on essential edges; null if the session closes matrices by elimination only.
  virtual Relaxer* relaxer() { return nullptr; }

  /// Starts products. Operands and C0 are in memory of this session or in host memory; host memory has been read when
  /// the call returns. C and the witness are in session memory for all products, or in host memory for all. The first
  /// `Problem::cancelled` cancels all products. Throws Error, and so does finish() of the result; an overflow is an
  /// OverflowError. After an error a C with `keeps_c` contains its product or is unchanged, except after kAborted and
  /// kCuda.
  virtual std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) = 0;

  /// Returns whether the results of a product in host memory are written by Pending::finish(), and not before.
  virtual bool writes_at_finish() const { return false; }

  /// Returns the shared operand by which the parts of a product broadcast B to each other, so that the host sends it
  /// only once. The parts are rows of a product of host matrices. Returns null if separate reads are faster. `sessions`
  /// are of this backend, and compute the parts.
  virtual std::unique_ptr<SharedOperand> broadcast_b(const std::vector<Problem>& /*parts*/,
                                                     const std::vector<Session*>& /*sessions*/) {
    return nullptr;
  }

  /// Returns the plan that multiply() would use. The problem must have steps; its C needs no memory. Throws Error.
  virtual Plan plan(const Problem& problem, const Placement& where) = 0;

  /// Starts a product over a custom semiring. It must have results, but K may be 0. Its matrices must be in memory of
  /// this session; operands may be in host memory if the session is the CPU's or has multiple devices. Throws Error,
  /// and so does finish() of the result; only the timing of the outcome is set.
  virtual std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement& where) = 0;

  /// Waits until a product of host matrices can reserve its memory on this device. Allocations count towards the
  /// reservation until it ends; the session must have no matrices before. Returns null if products don't wait for
  /// memory on this backend. Throws Error(kOutOfMemory) if the product exceeds the device's memory, and
  /// Error(kAborted).
  virtual std::unique_ptr<Share> reserve_for_user(const UserProduct& /*product*/) { return nullptr; }

  /// Returns a description of how multiply_user() would compute the product, with a line for each property. The
  /// matrices need no memory. Throws Error.
  virtual std::string explain_user(const UserProduct& product, const Placement& where) = 0;

  /// Returns the memory usage. May be called from any thread.
  virtual MemoryUse memory_use() = 0;

  /// Releases unused memory. Called when no work runs or waits.
  virtual void collect() {}
};

/// Sets the elements outside of the structure of results in memory of the session. Matrices are filled as a whole,
/// because the product is written afterwards.
template <class Product>
void clear_outside(Session& session, const Product& product) {
  for (const ClearedResult& it : cleared_results(product)) {
    session.fill(it.dtype, product.batch, it.view, it.value)->finish();
  }
}

}  // namespace mpmml
