// The microbenchmarks: which there are, and how one is run. Chapter 2 of P. P. Ghalsasi, "Max-Plus Matrix
// Multiplication Library for GPUs – MPMML" (Colorado State University, 2019), with its names: X × Y steps per thread
// and iteration, blocks of BS_i × BS_j threads, a grid of GS_i × GS_j blocks, N, M and K iterations, Const.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpmml::microbench {

/// The arguments of a kernel. The pointers are device pointers.
struct Arguments {
  int32_t n, m;
  uint32_t constant;
  uint32_t one, zero;  ///< 1 and 0, but the compiler mustn't know: see steps.cuh
  uint32_t seed;
  uint32_t* results;  ///< one word per thread
  uint64_t* clock;    ///< the clocks and nanoseconds that the loop of the grid's first thread took
};

/// The instructions that a step is written for. machine.h says what a compiler makes of them on an architecture.
enum class Form : uint8_t {
  kPlain,
  kAddMax,
  kFused,
  kMultiplyMax,
  kMultiplyMax3,
  kMixedRows,
  kFloatAddMax,
  kFloatMultiplyAdd
};

/// A compiled kernel: a row that the generator writes from native/variants/microbenchmarks.mjs.
struct Instance {
  int x, y, k;
  const char* max;  ///< "ternary" or "intrinsic"
  const void* function;
  /// Iterations that its loop over N is unrolled by. N is rounded up to a multiple of it.
  int unrolled;
  int body;  ///< iterations in the body of the innermost loop
  Form form;
  int lanes;  ///< elements per word
  bool is_signed;
  int multiplied;  ///< how many of the X·Y elements are summed as a multiplication by 1 and an addition
  /// Max-plus operations per iteration that update operands, which the thesis counts in addition to the X·Y steps.
  double updates;
  bool shared_a, shared_b;  ///< whether X·BS_i rows, and Y·BS_j columns, of M elements are in shared memory

  int steps() const { return x * y * lanes; }
  int64_t shared_bytes(int64_t m, int64_t bsi, int64_t bsj) const {
    return (shared_a * x * bsi + shared_b * y * bsj) * m * int64_t{sizeof(uint32_t)};
  }
};

struct Microbenchmark {
  const char* name;
  const char* summary;
  std::vector<Instance> instances;

  /// The names of the run-time parameters of Request that it has.
  std::vector<std::string> parameters() const {
    std::vector<std::string> all{"bsi", "bsj", "gsi", "gsj", "n", "constant"};
    const auto is_in_shared = [](const Instance& instance) { return instance.shared_a || instance.shared_b; };
    if (std::any_of(instances.begin(), instances.end(), is_in_shared)) all.push_back("m");
    return all;
  }
};

/// The microbenchmarks in the table's order.
const std::vector<Microbenchmark>& microbenchmarks();

/// Asks for an instance by its compile-time parameters. 0 and the empty string mean the first that there is.
struct Selection {
  std::string name;
  int x = 0, y = 0, k = 0;
  std::string max;
};

/// An instance, and what its occupancy depends on.
struct Kernel {
  Selection selection;
  int64_t m, bsi, bsj;
};

struct Request : Kernel {
  int64_t gsi, gsj;  ///< 0: as many blocks as the device holds at a time
  int64_t n;
  int32_t constant;
  int repetitions, warmup, device;
};

struct Result {
  std::vector<double> ms;
  double clock_mhz;
  int multiprocessors;
  int64_t threads_per_block, threads, iterations;
  int lanes, steps_per_iteration;
  double operations_per_iteration;
  std::map<std::string, double> instructions;
  double peak_operations_per_clock;
  std::string peak_reason;

  double operations_per_thread() const { return operations_per_iteration * static_cast<double>(iterations); }
};

/// The instance that `selection` asks for. Throws Error(kVariant) if there is none.
const Instance& find(const Selection& selection);

/// Throws Error.
Result run(const Request& request);

}  // namespace mpmml::microbench
