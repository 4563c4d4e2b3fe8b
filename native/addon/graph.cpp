// Graph queries: searches, components, orders, trees and the k shortest paths.
#include <algorithm>
#include <string>
#include <utility>

#include "addon/computation.h"
#include "addon/device.h"
#include "addon/request.h"
#include "core/graph/dissection/dissection_cache.h"
#include "core/graph/k_shortest.h"
#include "core/graph/query_error.h"
#include "core/graph/search.h"
#include "core/graph/source.h"
#include "core/graph/structure.h"
#include "cpu/threads.h"
#include "generated/addon.h"

namespace mpmml::addon {
namespace {

int64_t length_of(const TypedArray& array) { return static_cast<int64_t>(array.length); }

graph::WeightType weight_type(Napi::Env env, napi_typedarray_type type) {
  switch (type) {
#define MPMML_CASE(name, stored, id, element, storage) \
  case napi_##name##_array:                            \
    return graph::WeightType::name;
    MPMML_FOR_EACH_STORED_TYPE(MPMML_CASE)
#undef MPMML_CASE
    default:
      malformed(env, "weights");
  }
}

/// Throws if an element at `first` + i · stride1 + j · stride2, for i ≤ steps1 and j ≤ steps2, is outside of `length`.
void require_inside(Napi::Env env, int64_t length, int64_t first, int64_t steps1, int64_t stride1, int64_t steps2,
                    int64_t stride2) {
  const auto reach = [](int64_t steps, int64_t stride) { return static_cast<__int128>(steps) * stride; };
  const __int128 along1 = reach(steps1, stride1), along2 = reach(steps2, stride2);
  const __int128 zero = 0;
  const __int128 least = first + std::min(along1, zero) + std::min(along2, zero);
  const __int128 most = first + std::max(along1, zero) + std::max(along2, zero);
  if (least < 0 || most >= length) malformed(env, "elements outside of an array");
}

graph::Source graph_of(Napi::Env env, const GraphSource& request) {
  graph::Source source;
  source.nodes = request.nodes;
  source.zero = request.zero;
  const std::optional<TypedArray>& weights = request.weights;
  if (weights) {
    source.weights = weights->data;
    source.type = weight_type(env, weights->type);
  }
  source.is_list = request.from.has_value();
  if (source.is_list) {
    const TypedArray& from = *request.from;
    if (!request.to || request.to->length != from.length || (weights && weights->length != from.length)) {
      malformed(env, "edges");
    }
    source.edges = length_of(from);
    source.from = static_cast<const int32_t*>(from.data);
    source.to = static_cast<const int32_t*>(request.to->data);
    source.has_zero = request.has_zero;
    return source;
  }
  if (!weights) malformed(env, "weights");
  source.row_stride = request.matrix_row_stride;
  source.col_stride = request.matrix_col_stride;
  if (source.nodes > 0) {
    const int64_t steps = source.nodes - 1;
    require_inside(env, length_of(*weights), request.offset, steps, source.row_stride, steps, source.col_stride);
  }
  size_t bytes = 0;
  with_weights(source.type, [&](auto type) { bytes = sizeof(*type); });
  source.weights = static_cast<const char*>(weights->data) + request.offset * static_cast<int64_t>(bytes);
  return source;
}

/// Returns the edge list of a request, for work that needs no other representation.
graph::Source list_of(Napi::Env env, const GraphSource& request) {
  if (!request.from) malformed(env, "no edges");
  return graph_of(env, request);
}

template <class Request>
graph::Rules rules_of(const Request& request) {
  return {request.extension, request.maximizes, request.no_path};
}

graph::Nodes nodes_of(Napi::Env env, const std::optional<TypedArray>& list, const char* name, int32_t nodes) {
  if (!list) return {nullptr, nodes};
  const auto* const data = static_cast<const int32_t*>(list->data);
  const bool are_nodes =
      std::all_of(data, data + list->length, [&](int32_t node) { return node >= 0 && node < nodes; });
  if (!are_nodes) malformed(env, name);
  return {data, length_of(*list)};
}

/// Returns the type of the elements. Refuses narrower storage types.
DataType element_type(Napi::Env env, const TypedArray& array, const char* name) {
  switch (array.type) {
#define MPMML_CASE(of_array, stored, id, element, storage)          \
  case napi_##of_array##_array:                                     \
    if (Storage::storage == Storage::kElement) return DataType::id; \
    break;
    MPMML_FOR_EACH_STORED_TYPE(MPMML_CASE)
#undef MPMML_CASE
    default:
      break;
  }
  malformed(env, name);
}

graph::Query query_of(Napi::Env env, const GraphSearchRequest& request, const graph::CancellationToken& watch) {
  graph::Query query{};
  query.source = graph_of(env, request);
  query.rules = rules_of(request);
  query.direction = request.backward ? graph::Direction::kBackward : graph::Direction::kForward;
  query.roots = nodes_of(env, request.roots, "roots", query.source.nodes);
  query.ends = nodes_of(env, request.ends, "ends", query.source.nodes);
  query.limit = request.limit;
  query.overflow = request.overflow;
  query.least = request.least;
  query.most = request.most;
  query.method = request.method;
  query.within = request.within;
  query.max_workers = request.max_workers;
  query.memory = request.memory;
  query.division = request.division;
  query.watch = watch;

  query.type = element_type(env, request.distances, "distances");
  const bool is_link = query.rules.extension == graph::Extension::kLinks;
  if (is_link != (query.type == DataType::kUint8)) malformed(env, "distances");
  const bool is_integer = query.type == DataType::kInt32;
  if (is_integer && query.rules.extension == graph::Extension::kProduct) malformed(env, "distances");
  graph::Results& results = query.results;
  results.root_stride = request.root_stride;
  results.end_stride = request.end_stride;
  results.reduction = request.reduction;
  if (results.reduction != graph::Reduction::kNone) {
    const bool is_nearest = results.reduction == graph::Reduction::kNearest;
    const int64_t each = is_nearest ? request.max_nearest : 1;
    const auto has_room = [&](const std::optional<TypedArray>& array, int64_t for_each) {
      return array && length_of(*array) / std::max<int64_t>(1, for_each) >= query.roots.count;
    };
    if (is_link || each < 1 || !has_room(request.reduced, each) || !has_room(request.reached, 1)) {
      malformed(env, "reduced");
    }
    if (is_nearest && !has_room(request.nearest, each)) malformed(env, "nearest");
    results.reduced = static_cast<double*>(request.reduced->data);
    results.reached = static_cast<int32_t*>(request.reached->data);
    results.max_nearest = each;
    results.nearest = is_nearest ? static_cast<int32_t*>(request.nearest->data) : nullptr;
    return query;
  }
  if (request.divides) {
    // A null pointer means that next nodes aren't requested.
    results.next = request.next ? static_cast<int32_t*>(request.next->data) : nullptr;
    return query;
  }
  const bool is_empty = query.roots.count == 0 || query.ends.count == 0;
  const auto require = [&](const TypedArray& array) {
    if (is_empty) return;
    require_inside(env, length_of(array), request.place, query.roots.count - 1, results.root_stride,
                   query.ends.count - 1, results.end_stride);
  };
  require(request.distances);
  results.distances = static_cast<char*>(request.distances.data) + request.place * element_bytes(query.type);
  if (request.next) {
    require(*request.next);
    results.next = static_cast<int32_t*>(request.next->data) + request.place;
  }
  if (request.trees) {
    if (request.tree_place + query.roots.count * query.source.nodes > length_of(*request.trees)) {
      malformed(env, "trees");
    }
    results.trees = static_cast<int32_t*>(request.trees->data) + request.tree_place;
  }
  return query;
}

graph::ThreadPool thread_pool() {
  return {cpu::thread_count(), [](int64_t count, const std::function<void(int64_t)>& call) {
            auto body = [&](int64_t index) { call(index); };
            cpu::parallel_for(count, cpu::Task(body));
          }};
}

graph::CancellationToken watch_of(double* report, std::atomic<int32_t>* cancel) {
  return {cancel, steps_done_in(report)};
}

/// Returns a promise of the answer that `write` writes, or of the query's error.
template <class Answer, class Write>
Napi::Value answered(const Napi::CallbackInfo& info, std::atomic<int32_t>* cancel, Write write) {
  const auto compute = [write] {
    Answer answer{};
    try {
      write(answer);
    } catch (graph::QueryError& refusal) {
      answer.refusal = std::move(refusal);
    }
    return answer;
  };
  return in_background(info, compute, {cancel});
}

using DissectionHandle = HandleOf<HandleKind::kDissection, const graph::Dissection>;

}  // namespace

std::shared_ptr<const graph::Dissection> dissection_of(const Napi::Value& value) {
  return handle_in<DissectionHandle>(value, "expected a division").kept;
}

Napi::Value to_value(Env env, const std::shared_ptr<const graph::Dissection>& division) {
  const Napi::Value external = external_of<DissectionHandle>(
      env, std::make_unique<DissectionHandle>(division), [](Napi::Env env, DissectionHandle& released) {
        Napi::MemoryManagement::AdjustExternalMemory(env, -released.kept->bytes());
      });
  // The garbage collector must know the memory that this small object retains.
  Napi::MemoryManagement::AdjustExternalMemory(env, division->bytes());
  return external;
}

Napi::Value graph_search(const Napi::CallbackInfo& info, const GraphSearchRequest& request, double* report,
                         std::atomic<int32_t>* cancel) {
  const graph::Query query = query_of(info.Env(), request, watch_of(report, cancel));
  const bool divides = request.divides;
  return answered<GraphSearchAnswer>(info, cancel, [=](GraphSearchAnswer& answer) {
    graph::Query asked = query;
    std::shared_ptr<const graph::Dissection> division;
    if (divides) asked.divided = &division;
    answer.dissected = graph::search(asked, thread_pool()) == graph::Method::kDissection;
    if (division) answer.division = std::move(division);
  });
}

Napi::Value graph_components(const Napi::CallbackInfo& info, const GraphComponentsRequest& request, double* report,
                             std::atomic<int32_t>* cancel) {
  const graph::Source source = list_of(info.Env(), request);
  const graph::CancellationToken watch = watch_of(report, cancel);
  const bool is_strong = request.strong;
  return answered<GraphComponents>(info, cancel, [=](GraphComponents& answer) {
    static_cast<graph::ComponentMembers&>(answer) =
        is_strong ? graph::strong_components(source, watch) : graph::weak_components(source, watch);
  });
}

Napi::Value graph_order(const Napi::CallbackInfo& info, const GraphSource& request, double* report,
                        std::atomic<int32_t>* cancel) {
  const graph::Source source = list_of(info.Env(), request);
  const graph::CancellationToken watch = watch_of(report, cancel);
  return answered<GraphOrder>(info, cancel,
                              [=](GraphOrder& answer) { answer.order = graph::topological_order(source, watch); });
}

Napi::Value graph_spanning_tree(const Napi::CallbackInfo& info, const GraphTreeRequest& request, double* report,
                                std::atomic<int32_t>* cancel) {
  const graph::Source source = list_of(info.Env(), request);
  if (!source.weights && source.edges > 0) malformed(info.Env(), "weights");
  const graph::Rules rules = rules_of(request);
  const graph::CancellationToken watch = watch_of(report, cancel);
  return answered<GraphTree>(info, cancel, [=](GraphTree& answer) {
    for (const int64_t edge : graph::spanning_tree(source, rules, watch)) {
      answer.edges.push_back(static_cast<double>(edge));
    }
  });
}

Napi::Value graph_shortest(const Napi::CallbackInfo& info, const GraphShortestRequest& request, double* report,
                           std::atomic<int32_t>* cancel) {
  graph::RankedQuery query{};
  query.source = list_of(info.Env(), request);
  query.type = request.weights ? element_type(info.Env(), *request.weights, "weights") : DataType::kInt32;
  if (query.type == DataType::kUint8) malformed(info.Env(), "weights");
  if (request.source >= query.source.nodes) malformed(info.Env(), "source");
  if (request.target >= query.source.nodes) malformed(info.Env(), "target");
  query.from = request.source;
  query.to = request.target;
  query.most = request.most;
  query.limit = request.limit;
  query.watch = watch_of(report, cancel);
  return answered<GraphPaths>(info, cancel, [query](GraphPaths& answer) {
    for (graph::RankedPath& path : graph::k_shortest_paths(query, thread_pool())) {
      answer.lengths.push_back(path.length);
      answer.paths.push_back(std::move(path.nodes));
    }
  });
}

}  // namespace mpmml::addon
