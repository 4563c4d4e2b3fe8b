// Products: off the event loop or on the calling thread, one or a group of them, on the host or on a device that has
// been opened.
#include <algorithm>

#include "addon/engine.h"
#include "addon/products.h"
#include "addon/request.h"
#include "core/host/clock.h"

namespace mpmml::addon {
namespace {

/// The request of a group. JavaScript's thread locates the matrices, and the computing thread reads the remaining
/// fields.
struct Members {
  Call call;
  const double* fields;
  size_t count;
  bool is_on_device;
  std::vector<Source> sources{};  ///< of all present matrices, in order
};

/// Returns the field with the location of a matrix of a product.
constexpr size_t place_field(size_t matrix) {
  return MemberField::aMemory + matrix * (MemberField::bMemory - MemberField::aMemory);
}
static_assert(place_field(kFirstAuxiliary) == MemberField::witnessMemory);

/// Computes or plans one product, and writes its report.
void compute_one(const Problem& problem, const Request& request, bool is_only_planned, double* report) {
  const auto start = Clock::now();
  const Result result = is_only_planned ? engine().plan(problem, request) : engine().execute(problem, request);
  write_report(report, problem, result, milliseconds_since(start));
  find_name(result.backend, result.device);
}

/// The products of a call.
struct Products {
  std::vector<Problem> problems;
  Request request;  ///< shared by all products
  double* reports = nullptr;
  double all_steps = 0;  ///< see DeviceWork
  const std::atomic<int32_t>* cancel = nullptr;
  bool is_group = false;
  bool is_only_planned = false;
  bool may_wait = false;

  /// Memory that the call allocates for matrices without memory.
  struct Made {
    std::vector<std::optional<int64_t>> at{};  ///< by product, up to the last one with new memory; see Places
    int64_t bytes = 0;

    bool is_needed() const { return !at.empty(); }
    bool has(size_t index) const { return index < at.size() && at[index]; }
    void add(size_t index, const std::optional<int64_t>& place, int64_t size) {
      if (!place) return;
      at.resize(index + 1);
      at[index] = place;
      bytes = std::max(bytes, *place + size);
    }
    /// Places the matrix of product `index` in `memory`, if the matrix needs new memory.
    void place(size_t index, Memory& memory, MutableMatrixView& matrix) const {
      if (!has(index)) return;
      matrix.data = static_cast<char*>(memory.data()) + *at[index];
      matrix.memory = &memory;
    }
  };
  Made results{};
  std::array<Made, kAuxiliaryCount> auxiliary{};
  std::optional<Members> unread{};  ///< a group, until read()

  Products(const Call& call, double* reported)
      : request(call.request), reports(reported), is_only_planned(call.is_only_planned), may_wait(call.may_wait) {}

  /// Reads a product in place: problems are too large to be copied for each product of a group.
  Places read(const Call& call, const Matrices& matrices, const double* member, bool is_on_device) {
    Problem& problem = problems.emplace_back();
    const Places places = read_product(call, matrices, member, is_on_device, problem);
    // JavaScript cancels the product through this flag.
    problem.cancelled = cancel;
    return places;
  }

  void make(const Places& places) {
    const size_t index = problems.size() - 1;
    const Problem& it = problems.back();
    results.add(index, places.c, it.outputs() * element_bytes(it.operation.dtype));
    for (size_t which = 0; which < kAuxiliaryCount; ++which) {
      auxiliary[which].add(index, places.auxiliary[which], it.outputs() * kAuxiliaryBytes);
    }
  }

  /// Reads the problems of a group, unless they have been read. Callable on any thread.
  void read() {
    if (!unread) return;
    const auto& [call, fields, count, is_on_device, sources] = *unread;
    problems.clear();
    problems.reserve(count);
    results = {};
    auxiliary = {};
    results.at.reserve(count);
    auto next = sources.begin();
    for (size_t index = 0; index < count; ++index) {
      const double* const member = fields + index * MemberField::count;
      Matrices matrices;
      for (size_t matrix = 0; matrix < matrices.size(); ++matrix) {
        if (member[place_field(matrix)] != 0 && next != sources.end()) matrices[matrix] = *next++;
      }
      make(read(call, matrices, member, is_on_device));
    }
    unread.reset();
  }

  void count_steps(const double* member) {
    using F = MemberField;
    // A product with K = 0 still writes C.
    all_steps += member[F::batch] * member[F::m] * member[F::n] *
                 std::max(member[F::k], static_cast<double>(DeviceWork::kStepsPerElement));
  }

  double steps() const { return all_steps; }

  bool is_for_gpu() {
    read();
    return !is_only_planned && engine().is_for_gpu(problems, request);
  }

  void compute() {
    if (!is_group) return compute_one(problems[0], request, is_only_planned, reports);
    const auto start = Clock::now();
    read();
    const std::vector<Result> results = engine().execute(problems, request);
    const double total = milliseconds_since(start);
    for (size_t index = 0; index < results.size(); ++index) {
      report(index, results[index], total);
      find_name(results[index].backend, results[index].device);
    }
  }

  std::unique_ptr<Pending> start(DeviceWork& work, Session& session) {
    read();
    request.where.device = session.device();
    request.backend = only(session.backend());
    if (is_only_planned) {
      Outcome outcome;
      outcome.plan = engine().plan(session, problems[0], request.where);
      return std::make_unique<Done>(std::vector<Outcome>{outcome});
    }
    if (results.is_needed()) place_results(work);
    for (size_t which = 0; which < kAuxiliaryCount; ++which) {
      if (auxiliary[which].is_needed()) place_auxiliary(work, which);
    }
    return engine().multiply(session, problems, request.where);
  }

  bool is_short() const {
    // Limit of a short work in steps: about 256³, which take 20 µs on an H200.
    constexpr double kShort = 2e7;
    if (!may_wait || is_group) return false;
    const Problem& it = problems.front();
    return it.a.memory && it.b.memory && (!it.c0.data || it.c0.memory) && all_steps <= kShort;
  }

  void report(size_t index, const Result& result, double total_ms) const {
    write_report(reports + index * ReportField::count, problems[index], result, total_ms);
  }

  Napi::Value result(Napi::Env, Napi::Value memories) const { return memories; }

 private:
  /// Results of several products share memory.
  int64_t units_of_result() const {
    return problems.size() > 1 ? 1 : problems[0].batch > 1 ? problems[0].batch : problems[0].m();
  }

  void place_results(DeviceWork& work) {
    Memory& memory = work.make(results.bytes, problems[0].operation.dtype, Storage::kElement, units_of_result());
    for (size_t index = 0; index < problems.size(); ++index) {
      results.place(index, memory, problems[index].c);
      if (results.has(index)) problems[index].keeps_c = false;
    }
  }
  void place_auxiliary(DeviceWork& work, size_t which) {
    Memory& memory = work.make(auxiliary[which].bytes, kAuxiliaryType, Storage::kElement, units_of_result());
    for (size_t index = 0; index < problems.size(); ++index) {
      auxiliary[which].place(index, memory, problems[index].*kAuxiliaryResults[which].view);
    }
  }
};

Matrices matrices_of(const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                     const Napi::Value& auxiliary, const Uses* uses) {
  Matrices matrices{source_of(a, uses), source_of(b, uses), source_of(c, uses), source_of(c0, uses)};
  const AuxiliarySources sources = auxiliary_of(auxiliary, uses);
  std::copy(sources.begin(), sources.end(), matrices.begin() + kFirstAuxiliary);
  return matrices;
}

Products read_one(const Matrices& matrices, const double* fields, double* report, std::atomic<int32_t>* cancel,
                  Uses* uses) {
  const Call call = read_call(fields);
  Products products(call, report);
  products.cancel = cancel;
  products.problems.reserve(1);
  Places places = products.read(call, matrices, fields, uses != nullptr);
  if (places.c) places.c = 0;
  for (std::optional<int64_t>& place : places.auxiliary) {
    if (place) place = 0;
  }
  products.make(places);
  products.count_steps(fields);
  if (uses) use_matrices(*uses, matrices, fields);
  // JavaScript reads the progress from the report.
  products.problems[0].steps_done = steps_done_in(report);
  return products;
}

/// Returns the location of a matrix from a field of a group's member.
Source source_at(double place, const Napi::Array& arrays, const Uses* uses) {
  if (place == 0) return {};
  if (place <= -1 && place >= -static_cast<double>(arrays.Length())) {
    return source_of(arrays.Get(static_cast<uint32_t>(-1 - place)), nullptr);
  }
  RegisteredMemory* const memory = uses ? uses->device()->known(place) : nullptr;
  if (!memory) malformed(arrays.Env(), "a matrix that isn't there");
  return source_in(*memory);
}

/// Reads the products of a group.
Products read_group(const Napi::Value& list, const double* asked, const Napi::Value& given, const Napi::Value& reports,
                    std::atomic<int32_t>* cancel, Uses* uses) {
  const Napi::Env env = list.Env();
  if (!list.IsArray()) malformed(env, "expected an array of arrays");
  const auto arrays = list.As<Napi::Array>();
  const bool has_arrays = arrays.Length() > 0;
  const auto* member = static_cast<const double*>(elements_of(given, napi_float64_array, MemberField::count));
  const size_t count = typed_array(given).length / MemberField::count;
  const Call call = read_call(asked);
  if (call.is_only_planned) malformed(env, "a plan of a group");
  Products products(call, static_cast<double*>(elements_of(reports, napi_float64_array, count * ReportField::count)));
  products.is_group = true;
  products.cancel = cancel;
  Members& members = products.unread.emplace(Members{call, member, count, uses != nullptr});
  members.sources.reserve(3 * count);
  for (size_t index = 0; index < count; ++index, member += MemberField::count) {
    std::optional<Napi::HandleScope> scope;
    if (has_arrays) scope.emplace(env);
    Matrices matrices;
    for (size_t matrix = 0; matrix < matrices.size(); ++matrix) {
      const double place = member[place_field(matrix)];
      if (place != 0) members.sources.push_back(matrices[matrix] = source_at(place, arrays, uses));
    }
    products.count_steps(member);
    if (!uses) continue;
    uses->set_product(index);
    use_matrices(*uses, matrices, member);
  }
  return products;
}

}  // namespace

Napi::Value multiply(const Napi::CallbackInfo& info, const Napi::Value& a, const Napi::Value& b, const Napi::Value& c,
                     const Napi::Value& c0, const double* request, double* report, std::atomic<int32_t>* cancel,
                     const std::shared_ptr<Device>& device, const Napi::Value& auxiliary) {
  return run_products(info, device, cancel, [&](Uses* uses) {
    return read_one(matrices_of(a, b, c, c0, auxiliary, uses), request, report, cancel, uses);
  });
}

Napi::Value multiply_sync(const Napi::CallbackInfo& info, const Napi::Value& a, const Napi::Value& b,
                          const Napi::Value& c, const Napi::Value& c0, const double* request, double* report,
                          const std::shared_ptr<Device>& device, const Napi::Value& auxiliary) {
  const Napi::Env env = info.Env();
  if (!device) {
    const Call call = read_call(request);
    Problem problem;
    read_product(call, matrices_of(a, b, c, c0, auxiliary, nullptr), request, false, problem);
    compute_one(problem, call.request, call.is_only_planned, report);
    return env.Undefined();
  }
  return run_products_and_wait(info, device, [&](Uses* uses) {
    return read_one(matrices_of(a, b, c, c0, auxiliary, uses), request, report, nullptr, uses);
  });
}

Napi::Value multiply_group(const Napi::CallbackInfo& info, const Napi::Value& arrays, const double* request,
                           const Napi::Value& members, const Napi::Value& reports, std::atomic<int32_t>* cancel,
                           const std::shared_ptr<Device>& device) {
  return run_products(info, device, cancel,
                      [&](Uses* uses) { return read_group(arrays, request, members, reports, cancel, uses); });
}

}  // namespace mpmml::addon
