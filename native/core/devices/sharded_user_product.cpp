// Products over custom semirings of sharded matrices.
#include <algorithm>
#include <utility>

#include "core/devices/joint_work.h"
#include "core/devices/sharded_product.h"
#include "core/problem/destination.h"
#include "core/session/logarithms.h"
#include "core/session/user_operands.h"

namespace mpmml {
namespace {

bool is_divided(const std::vector<Region>& regions) {
  return std::count_if(regions.begin(), regions.end(), [](const Region& it) { return !it.is_empty(); }) > 1;
}

/// Starts a product whose results are sharded by these regions. No device changes a result before all devices have
/// their operands.
std::unique_ptr<Pending> start(PeerTransfers& peers, const UserProduct& product, const std::vector<Region>& regions,
                               const Placement& where) {
  struct Part {
    UserProduct product;
    KeptMemory uploaded;
    Kept kept;
    std::unique_ptr<Pending> work;
  };
  std::vector<Part> parts(peers.count());
  const auto prepare = [&](size_t device) {
    if (regions[device].is_empty()) return;
    Part& mine = parts[device];
    const UserProduct part = peers.part_for(device, product, regions[device], mine.kept);
    mine.product =
        peers.of_device(device, [&] { return with_operands_in(peers.session(device), part, mine.uploaded); });
  };
  if (is_divided(regions)) {
    peers.exchange(prepare);
  } else {
    for (size_t device = 0; device < peers.count(); ++device) prepare(device);
  }
  peers.each(regions, [&](size_t device, const Region&) {
    parts[device].work = start_user(peers.session(device), parts[device].product, peers.place(device, where));
  });
  auto started = std::make_unique<JointWork>(peers, 1);
  for (size_t device = 0; device < peers.count(); ++device) {
    Part& mine = parts[device];
    if (!mine.work) continue;
    Kept& kept = started->kept();
    kept.insert(kept.end(), mine.kept.begin(), mine.kept.end());
    kept.insert(kept.end(), mine.uploaded.begin(), mine.uploaded.end());
    started->add({device, std::move(mine.work), 0});
  }
  return started;
}

}  // namespace

std::unique_ptr<Pending> multiply_user(PeerTransfers& peers, Session& whole, const UserProduct& product,
                                       const Placement& where) {
  const auto writing = writing_results(product);
  const auto regions = peers.regions_of_results(product);
  // A device may fail after another one has written. Results that aren't sharded alike can't be written in place.
  const bool may_fail = regions && is_divided(*regions);
  UserProduct there = product;
  KeptMemory separate;
  std::vector<ResultTarget> targets;
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    const MutableMatrixView& c = product.c[lane];
    const DataType dtype = product.dtype(lane);
    ResultTarget& target = targets.emplace_back(product, c, dtype, may_fail, regions.has_value());
    if (!target.is_separate()) continue;
    const MutableMatrixView made = make_like(whole, c, product.batch, separate);
    target.place(made.data, made.memory);
    there.c[lane] = target.view();
    // Elements outside of the structure keep their values, although all elements are copied back.
    if (product.structure.c.is_all(product.m(), product.n())) continue;
    whole.copy(dtype, product.batch, read_only(c), there.c[lane])->finish();
  }
  auto all = std::make_unique<WhenAll>(WhenAll::Kind::kParts, std::move(separate));
  all->add(start(peers, there, peers.regions_of_results(there).value(), where));
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    targets[lane].commit([&](const MatrixView& from, const MutableMatrixView& c) {
      all->add(whole.copy(product.dtype(lane), product.batch, from, c));
    });
  }
  return all;
}

}  // namespace mpmml
