// Runs products from several threads at once under ThreadSanitizer and cancels some of them. Also computes closures on
// several devices while another thread reads the memory in use. It is a separate program because Node itself causes
// reports. Each result is compared with the naive product's, or with the definition.
//
//   npm run sanitize -- thread
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/algebra/dispatch.h"
#include "core/algebra/semiring.h"
#include "core/closure/closure.h"
#include "core/engine/execute.h"
#include "core/status.h"
#include "cpu/backend.h"
#include "cpu/machine.h"
#include "testing/altered.h"

namespace mpmml {
namespace {

struct Shape {
  int64_t batch, m, n, k;
};

/// Shapes with and without work for several threads: skinny, divided along K, in slabs, and in batches.
constexpr Shape kShapes[] = {{1, 170, 165, 160}, {1, 20, 30, 40},  {1, 1, 2100, 2100}, {1, 2, 1, 1200000},
                             {1, 40, 30, 5000},  {30, 50, 61, 52}, {7, 3, 900, 300},   {1, 1, 1, 1}};

/// Whole numbers for each arithmetic kind, including numbers whose sums are near the limits of the finite range. Values
/// that aren't elements of a semiring become 0, and one byte in eight is true.
struct Values {
  int32_t least;
  int32_t most;
  bool zeros;
};
constexpr Values kValues[] = {{-1000, 1000, false},
                              {-1000, 1000, true},
                              {-300000000, 300000000, false},
                              {-300000000, 300000000, true},
                              {-2000000000, 2000000000, false},
                              {-2000000000, 2000000000, true},
                              {1073741820, 1073741827, true},
                              {-1073741828, -1073741820, true}};

class Client {
 public:
  Client(Engine& engine, unsigned seed) : engine_(engine), random_(seed) {
    for (const Variant* variant : engine.variants()) {
      if (std::strcmp(variant->family, "naive") == 0) naive_.push_back(variant);
    }
  }

  /// Runs one product and returns whether it was right.
  bool run() {
    const Shape shape = kShapes[random_() % std::size(kShapes)];
    Problem problem;
    const Variant& variant = *naive_[random_() % naive_.size()];
    problem.operation = {variant.semiring, variant.dtype,
                         random_() % 2 ? OverflowPolicy::kSaturate : OverflowPolicy::kWrap};
    problem.batch = shape.batch;
    return with_semiring(problem.operation,
                         [&](auto semiring) { return run<decltype(semiring)>(problem, shape, variant); });
  }

 private:
  template <class S>
  bool run(Problem& problem, const Shape& shape, const Variant& variant) {
    using Element = typename S::Element;
    const Values values = kValues[random_() % std::size(kValues)];
    const auto a = filled<S>(shape.batch * shape.m * shape.k, values);
    const auto b = filled<S>(shape.batch * shape.k * shape.n, values);
    auto c = filled<S>(shape.batch * shape.m * shape.n, values), expected = c;
    // Initial witnesses, and expected ones: a distinct number for each element of A.
    std::vector<int32_t> witness(c.size(), -7), expected_witness = witness, through(a.size());
    std::iota(through.begin(), through.end(), 0);
    problem.a = row_major<const void*>(a.data(), shape.m, shape.k);
    problem.b = row_major<const void*>(b.data(), shape.k, shape.n);
    problem.c = row_major<void*>(c.data(), shape.m, shape.n);
    if (random_() % 2) problem.c0 = read_only(problem.c);
    if (S::idempotent && random_() % 2) problem.witness = row_major<void*>(witness.data(), shape.m, shape.n);
    if (problem.witness.data && random_() % 2) {
      problem.through = row_major<const void*>(through.data(), shape.m, shape.k);
    }
    const bool aborted = random_() % 4 == 0 ? run_and_abort(problem) : (engine_.execute(problem, {}), false);
    if (aborted) return true;
    problem.c.data = expected.data();
    if (problem.c0.data) problem.c0.data = expected.data();
    if (problem.witness.data) problem.witness.data = expected_witness.data();
    Request naive;
    naive.where.variant = &variant;
    engine_.execute(problem, naive);
    // plus-times rounds, and its order of additions differs.
    return S::adds_floats || (c == expected && witness == expected_witness);
  }

  template <class S>
  std::vector<typename S::Element> filled(int64_t count, const Values& values) {
    using Element = typename S::Element;
    std::vector<Element> data(count);
    std::uniform_int_distribution<int32_t> value(values.least, values.most);
    for (Element& element : data) {
      element = static_cast<Element>(value(random_));
      if (S::is_boolean) element = random_() % 8 == 0;
      if (!S::holds(element) || (values.zeros && random_() % 8 == 0)) element = S::zero;
    }
    return data;
  }

  /// Returns whether the product was cancelled before it was done.
  bool run_and_abort(Problem problem) {
    std::atomic<int32_t> cancelled{0};
    problem.cancelled = &cancelled;
    std::thread other([&, delay = random_() % 3000] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      cancelled.store(1, std::memory_order_relaxed);
    });
    bool aborted = false;
    try {
      engine_.execute(problem, {});
    } catch (const Error& error) {
      aborted = error.code() == ErrorCode::kAborted;
    }
    other.join();
    return aborted;
  }

  Engine& engine_;
  std::minstd_rand random_;
  std::vector<const Variant*> naive_;  ///< one for each semiring and element type
};

/// Computes the closure of a matrix that is sharded over fake devices, and returns whether it was right.
bool close_on_devices(Engine& engine, unsigned seed) {
  constexpr int64_t kNodes = 300;
  std::minstd_rand random(seed);
  std::uniform_int_distribution<int32_t> weight(-1000, -1);
  std::vector<int32_t> d(kNodes * kNodes);
  for (int32_t& element : d) element = weight(random);
  const std::unique_ptr<Session> session = engine.open(BackendChoice::kAuto, kAllDevices, 0);
  const std::shared_ptr<Memory> memory = session->allocate_units(kNodes, kNodes * int64_t{sizeof(int32_t)});
  Closure closure;
  closure.operation = {SemiringId::max_plus, DataType::kInt32, OverflowPolicy::kThrow};
  closure.d = row_major<void*>(memory->data(), kNodes, kNodes);
  closure.d.memory = memory.get();
  const MutableMatrixView host = row_major<void*>(d.data(), kNodes, kNodes);
  session->upload(DataType::kInt32, 1, read_only(host), closure.d, nullptr);
  for (int64_t via = 0; via < kNodes; ++via) {
    for (int64_t from = 0; from < kNodes; ++from) {
      for (int64_t to = 0; to < kNodes; ++to) {
        d[from * kNodes + to] = std::max(d[from * kNodes + to], d[from * kNodes + via] + d[via * kNodes + to]);
      }
    }
  }
  for (int64_t node = 0; node < kNodes; ++node) d[node * (kNodes + 1)] = 0;
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    while (!is_done) session->memory_use();
  });
  close(*session, closure, {})->finish();
  is_done = true;
  other.join();
  std::vector<int32_t> closed(d.size());
  session->download(DataType::kInt32, 1, read_only(closure.d), row_major<void*>(closed.data(), kNodes, kNodes), nullptr)
      ->finish();
  return closed == d;
}

}  // namespace
}  // namespace mpmml

int main(int count, char** arguments) {
  const int products = count > 1 ? std::atoi(arguments[1]) : 40;
  constexpr int kClients = 4;
  mpmml::cpu::configure({3, {}, {}});
  mpmml::Engine engine({mpmml::cpu::make_backend(), nullptr, mpmml::BackendKind::kCuda, "this program has none"});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= kClients; ++seed) {
    threads.emplace_back([&, seed] {
      mpmml::Client client(engine, seed);
      for (int product = 0; product < products; ++product) wrong += client.run() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr int kClosures = 4;
  mpmml::Backends several = engine.backends();
  mpmml::Alteration three;
  three.devices = 3;
  several.gpu = mpmml::altered(several.processor, three);
  mpmml::Engine multi_device_engine(std::move(several));
  for (unsigned seed = 1; seed <= kClosures; ++seed)
    wrong += mpmml::close_on_devices(multi_device_engine, seed) ? 0 : 1;
  std::printf("%d products from %d threads and %d closures, %d wrong\n", kClients * products, kClients, kClosures,
              wrong.load());
  return wrong == 0 ? 0 : 1;
}
