#include "core/spread_product.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/destination.h"
#include "core/dispatch.h"
#include "core/joined.h"
#include "core/overflow.h"
#include "core/parts.h"
#include "core/range.h"
#include "core/scan.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// A part has other indices than the message must name.
void require_elements_of_operands(Session& whole, const Problem& problem) {
  if (!restricts_elements(problem.operation) || problem.known) return;
  const Structure& structure = problem.structure;
  const std::tuple<const MatrixView&, const Band&, const char*> operands[] = {
      {problem.c0, structure.c, "accumulate"}, {problem.a, structure.a, "a"}, {problem.b, structure.b, "b"}};
  for (const auto& [view, band, name] : operands) {
    if (view.data && view.memory) require_elements_of(whole, problem.operation, problem.batch, view, band, name);
  }
}

/// What each device computes: what it has of C, if the witness is divided in the same way.
std::optional<std::vector<Region>> regions_of(const Peers& peers, const Problem& problem) {
  auto regions = peers.regions_of(problem.c, problem.operation.dtype, problem.batch);
  if (!regions || !problem.witness.data) return regions;
  if (peers.regions_of(problem.witness, DataType::kInt32, problem.batch) != regions) return std::nullopt;
  return regions;
}

/// The product that a region is, with its operands where the device can read them. Results are for the caller.
Problem part_for(Peers& peers, size_t device, const Problem& problem, const Region& region, Kept& kept) {
  const DataType dtype = problem.operation.dtype;
  Problem part = sub(problem, region);
  part.a = peers.on(device, part.a, dtype, part.batch, kept);
  part.b = peers.on(device, part.b, dtype, part.batch, kept);
  part.c0 = peers.on(device, part.c0, dtype, part.batch, kept);
  part.through = peers.on(device, part.through, DataType::kInt32, part.batch, kept);
  return part;
}

/// The same with its results in the rows that the device has.
Problem part_on(Peers& peers, size_t device, const Problem& problem, const Region& region, Kept& kept) {
  Problem part = part_for(peers, device, problem, region, kept);
  part.c = peers.on_piece(device, part.c);
  part.witness = peers.on_piece(device, part.witness);
  return part;
}

}  // namespace

void require_elements_of(Session& whole, const Operation& operation, int64_t batch, const MatrixView& view,
                         const Band& band, const char* name) {
  if (!whole.range(operation, batch, view).has_outsider) return;
  const int64_t rows = view.rows, cols = view.cols, bytes = stored_bytes(operation.dtype, view.storage);
  const int64_t items = items_of(view, batch);
  std::vector<char> copy(static_cast<size_t>(items * rows * cols * bytes));
  MutableMatrixView to = row_major<void*>(copy.data(), rows, cols);
  to.storage = view.storage;
  whole.download(operation.dtype, items, view, to, nullptr)->finish();
  if (items == 1) to.batch_stride = 0;
  require_elements(operation, read_only(to), batch, name, band);
}

std::unique_ptr<Pending> multiply(Peers& peers, Session& whole, const std::vector<Problem>& problems,
                                  const Placement& where) {
  std::vector<Joined::Share> shares(peers.count());
  Kept kept;
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    const DataType dtype = problem.operation.dtype;
    const Writing writing_c(problem.c.memory), writing_witness(problem.witness.memory);
    try {
      require_elements_of_operands(whole, problem);
      const auto regions = regions_of(peers, problem);
      if (!regions) {
        Problem there = problem;
        const Whole c = peers.fetch_whole(problem.c, dtype, problem.batch);
        kept.push_back(c.memory);
        there.c = c.view;
        const bool in_place = problem.c0.data == problem.c.data && problem.c0.memory == problem.c.memory;
        there.c0 = in_place ? moved(problem.c0, *c.memory, c.bytes.first)
                            : peers.on(0, problem.c0, dtype, problem.batch, kept);
        there.a = peers.on(0, problem.a, dtype, problem.batch, kept);
        there.b = peers.on(0, problem.b, dtype, problem.batch, kept);
        there.through = peers.on(0, problem.through, DataType::kInt32, problem.batch, kept);
        std::optional<Whole> witness;
        if (problem.witness.data) {
          witness = peers.fetch_whole(problem.witness, DataType::kInt32, problem.batch);
          kept.push_back(witness->memory);
          there.witness = witness->view;
        }
        shares[0].works.push_back(peers.multiply(0, there, where, kept));
        shares[0].products.push_back({index});
        peers.put_back(problem.c, c);
        if (witness) peers.put_back(problem.witness, *witness);
        continue;
      }
      // Somebody must say what computes a product without results.
      const auto has_work = [&](size_t device) {
        return !(*regions)[device].is_empty() || (device == 0 && problem.outputs() == 0);
      };
      std::vector<Problem> parts(peers.count());
      std::vector<Kept> copies(peers.count());
      size_t busy = 0;
      for (size_t device = 0; device < peers.count(); ++device) busy += has_work(device);
      const auto prepare = [&](size_t device) {
        if (has_work(device)) parts[device] = part_on(peers, device, problem, (*regions)[device], copies[device]);
      };
      if (busy > 1) {
        peers.exchange(prepare);
      } else {
        for (size_t device = 0; device < peers.count(); ++device) prepare(device);
      }
      for (const Kept& copy : copies) kept.insert(kept.end(), copy.begin(), copy.end());
      // C changes only if all parts have been started.
      const bool is_apart = writes_apart(problem, busy > 1);
      struct OnDevice {
        MutableMatrixView target;
        std::shared_ptr<Memory> apart;
        std::unique_ptr<Pending> work;
        Kept kept;
        std::optional<int64_t> overflow;
        int64_t sum = 0;
      };
      std::vector<OnDevice> there(peers.count());
      peers.run([&](size_t device) {
        if (!has_work(device)) return;
        OnDevice& mine = there[device];
        Problem& part = parts[device];
        mine.target = part.c;
        if (is_apart) {
          mine.apart = peers.of_device(
              device, [&] { return peers.session(device).allocate(part.outputs() * element_bytes(dtype)); });
          mine.kept.push_back(mine.apart);
          part.c = row_major(mine.apart->data(), part.m(), part.n());
          part.c.memory = mine.apart.get();
          part.keeps_c = false;
          if (!part.structure.c.is_all(part.m(), part.n())) {
            // What is outside stays as it is, though the whole is copied back.
            peers.of_device(device, [&] {
              peers.session(device).copy(dtype, part.batch, read_only(mine.target), part.c)->finish();
            });
          }
        }
        try {
          mine.work = peers.multiply(device, part, for_part(problem, (*regions)[device], where), mine.kept);
        } catch (const OverflowError& error) {
          mine.overflow = index_in_whole((*regions)[device], problem.m(), problem.n(), error.index());
          mine.sum = error.sum();
        }
      });
      const OnDevice* first = nullptr;
      for (const OnDevice& it : there) {
        if (it.overflow && (!first || *it.overflow < *first->overflow)) first = &it;
      }
      if (first) throw OverflowError(problem, *first->overflow, first->sum);
      for (size_t device = 0; device < peers.count(); ++device) {
        OnDevice& it = there[device];
        if (!it.work) continue;
        kept.insert(kept.end(), it.kept.begin(), it.kept.end());
        shares[device].works.push_back(std::move(it.work));
        shares[device].products.push_back({index});
        if (!is_apart) continue;
        const Problem& part = parts[device];
        peers.of_device(device, [&] {
          shares[device].works.push_back(peers.session(device).copy(dtype, part.batch, read_only(part.c), it.target));
        });
        shares[device].products.push_back({});
      }
    } catch (const Error& error) {
      if (problems.size() == 1) throw;
      throw Error(error.code(), error.what(), index);
    }
  }
  return std::make_unique<Joined>(std::move(shares), std::move(kept), problems.size());
}

Plan plan(Peers& peers, const Problem& problem, const Placement& where) {
  Kept kept;
  Span Region::* const axis = Peers::axis_of(problem.batch);
  Region region = whole(problem);
  const int64_t units = (region.*axis).size();
  const int64_t unit_bytes = problem.outputs() / units * element_bytes(problem.operation.dtype);
  const std::vector<Span> shares = peers.divide(units, unit_bytes);
  Outcome all;
  for (size_t device = 0; device < peers.count(); ++device) {
    region.*axis = shares[device];
    if (region.is_empty()) continue;
    const Problem part = part_for(peers, device, problem, region, kept);
    const Placement place = peers.place(device, for_part(problem, region, where));
    all.take_plan(peers.of_device(device, [&] { return peers.session(device).plan(part, place); }));
  }
  return all.plan;
}

}  // namespace mpmml
