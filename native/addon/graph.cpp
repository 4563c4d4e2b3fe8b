#include "addon/graph.h"

#include <algorithm>
#include <optional>
#include <string>

#include "addon/background.h"
#include "addon/fields.h"
#include "addon/request.h"
#include "cpu/threads.h"
#include "graph/k_shortest.h"
#include "graph/refusal.h"
#include "graph/search.h"
#include "graph/source.h"
#include "graph/structure.h"

namespace mpmml::addon {
namespace {

using graph::Refusal;

/// A typed array of a request.
struct Elements {
  napi_typedarray_type type;
  int64_t length;
  void* data;
};

std::optional<Elements> elements_in(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (value.IsUndefined() || value.IsNull()) return std::nullopt;
  Elements found{};
  size_t length = 0;
  if (napi_get_typedarray_info(value.Env(), value, &found.type, &length, &found.data, nullptr, nullptr) != napi_ok) {
    malformed(value.Env(), name);
  }
  found.length = static_cast<int64_t>(length);
  return found;
}

std::optional<Elements> integers_in(const Napi::Object& object, const char* name) {
  const auto found = elements_in(object, name);
  if (found && found->type != napi_int32_array) malformed(object.Env(), name);
  return found;
}

graph::WeightType weight_type(Napi::Env env, napi_typedarray_type type) {
  switch (type) {
    case napi_uint8_array:
      return graph::WeightType::kUint8;
    case napi_int16_array:
      return graph::WeightType::kInt16;
    case napi_int32_array:
      return graph::WeightType::kInt32;
    case napi_float32_array:
      return graph::WeightType::kFloat32;
    case napi_float64_array:
      return graph::WeightType::kFloat64;
    default:
      malformed(env, "weights");
  }
}

constexpr double kMostNodes = 2147483647;
constexpr double kMostElements = 9e15;

/// Throws if elements from `first` on, so many times each stride, aren't all among `length`.
void require_inside(Napi::Env env, int64_t length, int64_t first, int64_t steps1, int64_t stride1, int64_t steps2,
                    int64_t stride2) {
  const auto reach = [](int64_t steps, int64_t stride) { return static_cast<__int128>(steps) * stride; };
  const __int128 along1 = reach(steps1, stride1), along2 = reach(steps2, stride2);
  const __int128 zero = 0;
  const __int128 least = first + std::min(along1, zero) + std::min(along2, zero);
  const __int128 most = first + std::max(along1, zero) + std::max(along2, zero);
  if (least < 0 || most >= length) malformed(env, "elements outside of an array");
}

graph::Source source_in(const Napi::Object& object) {
  const Fields fields(object);
  graph::Source source;
  source.nodes = fields.integer<int32_t>("nodes", 0, kMostNodes);
  source.zero = object.Get("zero").ToNumber();
  const auto weights = elements_in(object, "weights");
  if (weights) {
    source.weights = weights->data;
    source.type = weight_type(object.Env(), weights->type);
  }
  const auto from = integers_in(object, "from"), to = integers_in(object, "to");
  source.is_list = from.has_value();
  if (source.is_list) {
    if (!to || to->length != from->length || (weights && weights->length != from->length)) {
      malformed(object.Env(), "edges");
    }
    source.edges = from->length;
    source.from = static_cast<const int32_t*>(from->data);
    source.to = static_cast<const int32_t*>(to->data);
    source.has_zero = object.Get("hasZero").ToBoolean();
    return source;
  }
  if (!weights) malformed(object.Env(), "weights");
  const auto offset = fields.integer<int64_t>("offset", 0, kMostElements);
  source.row_stride = fields.integer<int64_t>("matrixRowStride", -kMostElements, kMostElements);
  source.col_stride = fields.integer<int64_t>("matrixColStride", -kMostElements, kMostElements);
  if (source.nodes > 0) {
    const int64_t steps = source.nodes - 1;
    require_inside(object.Env(), weights->length, offset, steps, source.row_stride, steps, source.col_stride);
  }
  size_t bytes = 0;
  with_weights(source.type, [&](auto type) { bytes = sizeof(*type); });
  source.weights = static_cast<const char*>(weights->data) + offset * static_cast<int64_t>(bytes);
  return source;
}

graph::Rules rules_in(const Napi::Object& object) {
  const Fields fields(object);
  return {fields.integer<graph::Extension>("extension", 0, 3), object.Get("maximizes").ToBoolean(),
          object.Get("noPath").ToNumber()};
}

graph::Nodes nodes_in(const Napi::Object& object, const char* name, int32_t nodes) {
  const auto list = integers_in(object, name);
  if (!list) return {nullptr, nodes};
  const auto* const data = static_cast<const int32_t*>(list->data);
  const bool are_nodes =
      std::all_of(data, data + list->length, [&](int32_t node) { return node >= 0 && node < nodes; });
  if (!are_nodes) malformed(object.Env(), name);
  return {data, list->length};
}

graph::ValueType value_type(Napi::Env env, napi_typedarray_type type) {
  switch (type) {
    case napi_uint8_array:
      return graph::ValueType::kUint8;
    case napi_int32_array:
      return graph::ValueType::kInt32;
    case napi_float32_array:
      return graph::ValueType::kFloat32;
    case napi_float64_array:
      return graph::ValueType::kFloat64;
    default:
      malformed(env, "distances");
  }
}

graph::Watch watch_in(const Napi::CallbackInfo& info) {
  auto* const report = static_cast<double*>(elements_of(info[1], napi_float64_array, ReportField::count));
  return {cancel_of(info[2]), steps_done_in(report)};
}

graph::Query query_in(const Napi::CallbackInfo& info) {
  const Napi::Object object = info[0].As<Napi::Object>();
  const Napi::Env env = info.Env();
  const Fields fields(object);
  graph::Query query{};
  query.source = source_in(object);
  query.rules = rules_in(object);
  query.direction = object.Get("backward").ToBoolean() ? graph::Direction::kBackward : graph::Direction::kForward;
  query.roots = nodes_in(object, "roots", query.source.nodes);
  query.ends = nodes_in(object, "ends", query.source.nodes);
  if (fields.has("limit")) query.limit = object.Get("limit").ToNumber().DoubleValue();
  query.overflow = fields.integer<graph::Overflow>("overflow", 0, 2);
  query.least = object.Get("least").ToNumber();
  query.most = object.Get("most").ToNumber();
  query.most_workers = fields.integer<int64_t>("mostWorkers", 1, kMostElements);
  query.watch = watch_in(info);

  const auto distances = elements_in(object, "distances");
  if (!distances) malformed(env, "distances");
  query.type = value_type(env, distances->type);
  const bool is_link = query.rules.extension == graph::Extension::kLinks;
  if (is_link != (query.type == graph::ValueType::kUint8)) malformed(env, "distances");
  const bool is_integer = query.type == graph::ValueType::kInt32;
  if (is_integer && query.rules.extension == graph::Extension::kProduct) malformed(env, "distances");
  const auto offset = fields.integer<int64_t>("place", 0, kMostElements);
  graph::Results& results = query.results;
  results.root_stride = fields.integer<int64_t>("rootStride", 0, kMostElements);
  results.end_stride = fields.integer<int64_t>("endStride", 0, kMostElements);
  const bool is_empty = query.roots.count == 0 || query.ends.count == 0;
  const auto require = [&](const Elements& elements) {
    if (is_empty) return;
    require_inside(env, elements.length, offset, query.roots.count - 1, results.root_stride, query.ends.count - 1,
                   results.end_stride);
  };
  require(*distances);
  constexpr int64_t kBytes[] = {1, 4, 4, 8};
  results.distances = static_cast<char*>(distances->data) + offset * kBytes[static_cast<int>(query.type)];
  if (const auto next = integers_in(object, "next")) {
    require(*next);
    results.next = static_cast<int32_t*>(next->data) + offset;
  }
  if (const auto trees = integers_in(object, "trees")) {
    const auto first = fields.integer<int64_t>("treePlace", 0, kMostElements);
    if (first + query.roots.count * query.source.nodes > trees->length) malformed(env, "trees");
    results.trees = static_cast<int32_t*>(trees->data) + first;
  }
  return query;
}

graph::Crew crew() {
  return {cpu::thread_count(), [](int64_t count, const std::function<void(int64_t)>& call) {
            auto body = [&](int64_t index) { call(index); };
            cpu::parallel_for(count, cpu::Task(body));
          }};
}

template <class Element, class Array>
Napi::Value array_of(Napi::Env env, const std::vector<Element>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

Napi::Value object_of(Napi::Env env, const Refusal& refusal) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("kind", graph::kRefusalKindNames[refusal.kind]);
  object.Set("at", static_cast<double>(refusal.at));
  object.Set("from", refusal.from);
  object.Set("to", refusal.to);
  object.Set("value", refusal.value);
  object.Set("cycle", array_of<int32_t, Napi::Int32Array>(env, refusal.cycle));
  object.Set("keys", array_of<double, Napi::Float64Array>(env, refusal.keys));
  return object;
}

/// Work on a graph. Its promise gives `{ refusal }` if there is no answer.
class GraphWork : public Work {
 public:
  explicit GraphWork(const Napi::CallbackInfo& info) : Work(cancel_of(info[2])), arguments_(keep(info)) {}

 protected:
  void start() final {
    try {
      answer();
    } catch (Refusal& refusal) {
      refusal_ = std::move(refusal);
    }
  }
  Napi::Value result(Napi::Env env) final {
    Napi::Object object = Napi::Object::New(env);
    if (refusal_) {
      object.Set("refusal", object_of(env, *refusal_));
    } else {
      give(env, object);
    }
    return object;
  }

  virtual void answer() = 0;
  /// Sets what the promise gives.
  virtual void give(Napi::Env, Napi::Object&) {}

 private:
  const Napi::ObjectReference arguments_;
  std::optional<Refusal> refusal_;
};

class SearchWork final : public GraphWork {
 public:
  explicit SearchWork(const Napi::CallbackInfo& info) : GraphWork(info), query_(query_in(info)) {}

 private:
  void answer() override { graph::search(query_, crew()); }

  const graph::Query query_;
};

constexpr int64_t kMostPaths = 1 << 24;

template <class Element, class Array>
Napi::Value copy_of(Napi::Env env, const Element* data, int64_t size) {
  Array array = Array::New(env, static_cast<size_t>(size));
  std::copy_n(data, size, array.Data());
  return array;
}

Napi::Value copy_of(Napi::Env env, const graph::Array<int32_t>& values) {
  return copy_of<int32_t, Napi::Int32Array>(env, values.data(), values.size());
}

/// An edge list, for work that looks at nothing else.
graph::Source list_in(const Napi::CallbackInfo& info) {
  graph::Source source = source_in(info[0].As<Napi::Object>());
  if (!source.is_list) malformed(info.Env(), "no edges");
  return source;
}

class ComponentsWork final : public GraphWork {
 public:
  explicit ComponentsWork(const Napi::CallbackInfo& info)
      : GraphWork(info),
        source_(list_in(info)),
        is_strong_(info[0].As<Napi::Object>().Get("strong").ToBoolean()),
        watch_(watch_in(info)) {}

 private:
  void answer() override {
    parts_ = is_strong_ ? graph::strong_components(source_, watch_) : graph::weak_components(source_, watch_);
  }
  void give(Napi::Env env, Napi::Object& object) override {
    object.Set("of", copy_of(env, parts_.of));
    object.Set("members", copy_of(env, parts_.members));
    object.Set("start", array_of<int32_t, Napi::Int32Array>(env, parts_.start));
  }

  const graph::Source source_;
  const bool is_strong_;
  const graph::Watch watch_;
  graph::Parts parts_;
};

class OrderWork final : public GraphWork {
 public:
  explicit OrderWork(const Napi::CallbackInfo& info)
      : GraphWork(info), source_(list_in(info)), watch_(watch_in(info)) {}

 private:
  void answer() override { order_ = graph::topological_order(source_, watch_); }
  void give(Napi::Env env, Napi::Object& object) override { object.Set("order", copy_of(env, order_)); }

  const graph::Source source_;
  const graph::Watch watch_;
  graph::Array<int32_t> order_;
};

class TreeWork final : public GraphWork {
 public:
  explicit TreeWork(const Napi::CallbackInfo& info)
      : GraphWork(info), source_(list_in(info)), rules_(rules_in(info[0].As<Napi::Object>())), watch_(watch_in(info)) {
    if (!source_.weights && source_.edges > 0) malformed(info.Env(), "weights");
  }

 private:
  void answer() override { edges_ = graph::spanning_tree(source_, rules_, watch_); }
  void give(Napi::Env env, Napi::Object& object) override {
    const std::vector<double> edges(edges_.begin(), edges_.end());
    object.Set("edges", array_of<double, Napi::Float64Array>(env, edges));
  }

  const graph::Source source_;
  const graph::Rules rules_;
  const graph::Watch watch_;
  std::vector<int64_t> edges_;
};

class RankedWork final : public GraphWork {
 public:
  explicit RankedWork(const Napi::CallbackInfo& info) : GraphWork(info) {
    const Napi::Object object = info[0].As<Napi::Object>();
    const Fields fields(object);
    query_.source = list_in(info);
    switch (query_.source.type) {
      case graph::WeightType::kInt32:
        query_.type = graph::ValueType::kInt32;
        break;
      case graph::WeightType::kFloat32:
        query_.type = graph::ValueType::kFloat32;
        break;
      case graph::WeightType::kFloat64:
        query_.type = graph::ValueType::kFloat64;
        break;
      default:
        malformed(info.Env(), "weights");
    }
    const double last = query_.source.nodes - 1;
    query_.from = fields.integer<int32_t>("source", 0, last);
    query_.to = fields.integer<int32_t>("target", 0, last);
    query_.most = fields.integer<int64_t>("most", 1, kMostPaths);
    if (fields.has("limit")) query_.limit = object.Get("limit").ToNumber().DoubleValue();
    query_.watch = watch_in(info);
  }

 private:
  void answer() override { paths_ = graph::k_shortest_paths(query_, crew()); }
  void give(Napi::Env env, Napi::Object& object) override {
    Napi::Array paths = Napi::Array::New(env, paths_.size());
    std::vector<double> lengths;
    for (uint32_t index = 0; index < paths_.size(); ++index) {
      paths.Set(index, array_of<int32_t, Napi::Int32Array>(env, paths_[index].nodes));
      lengths.push_back(paths_[index].length);
    }
    object.Set("paths", paths);
    object.Set("lengths", array_of<double, Napi::Float64Array>(env, lengths));
  }

  graph::RankedQuery query_{};
  std::vector<graph::RankedPath> paths_;
};

template <class W>
Napi::Value run(const Napi::CallbackInfo& info) {
  return run_in_background(info.Env(), std::make_unique<W>(info));
}

}  // namespace

void export_graph(Napi::Env env, Napi::Object exports) {
  exports.Set("graphSearch", Napi::Function::New<guarded<run<SearchWork>>>(env, "graphSearch"));
  exports.Set("graphComponents", Napi::Function::New<guarded<run<ComponentsWork>>>(env, "graphComponents"));
  exports.Set("graphOrder", Napi::Function::New<guarded<run<OrderWork>>>(env, "graphOrder"));
  exports.Set("graphSpanningTree", Napi::Function::New<guarded<run<TreeWork>>>(env, "graphSpanningTree"));
  exports.Set("graphShortest", Napi::Function::New<guarded<run<RankedWork>>>(env, "graphShortest"));
}

}  // namespace mpmml::addon
