// Hybrid data-parallel and stream-K schedule (Osama et al. 2023, arXiv 2301.03598). If the number of tiles isn't a
// multiple of a wave, the last tiles are divided among one wave of blocks. Each block takes an equal share of these
// tiles' k-steps, so that all blocks end at the same time. A tile that lies in several shares is computed in parts, and
// the block that completes the last part reduces them.
#pragma once
#include <cstdint>

#include "core/algebra/semiring.h"

namespace mpmml::cuda {

struct StreamKSchedule {
  int64_t whole;           ///< data-parallel tiles, which come first; one block each
  unsigned tiles;          ///< divided tiles
  unsigned of_instance;    ///< tiles per batch entry, divided or not
  unsigned depth;          ///< tiles of K per tile of C
  unsigned shares;         ///< number of shares of the divided tiles; 0 if no tile is divided
  unsigned least, longer;  ///< tiles of K per share, and number of shares with one more

  /// First tile of K of a share, in the concatenation of all divided tiles.
  MPMML_HOST_DEVICE unsigned begin(unsigned share) const { return share * least + (share < longer ? share : longer); }
  MPMML_HOST_DEVICE unsigned share_of(unsigned step) const {
    const unsigned in_longer = longer * (least + 1);
    return step < in_longer ? step / (least + 1) : longer + (step - in_longer) / least;
  }
  /// Share in which a divided tile begins, and the number of shares that it lies in.
  MPMML_HOST_DEVICE unsigned first_share(unsigned tile) const { return share_of(tile * depth); }
  MPMML_HOST_DEVICE unsigned parts(unsigned tile) const {
    return share_of(tile * depth + depth - 1) + 1 - first_share(tile);
  }
  /// Slot for the partial results of a share's part of a tile. A share has at most two parts, because the tiles between
  /// them are whole.
  MPMML_HOST_DEVICE unsigned slot(unsigned tile, unsigned share) const {
    return 2 * share + (begin(share) < tile * depth ? 1 : 0);
  }
  MPMML_HOST_DEVICE unsigned slots() const { return 2 * shares; }
};

/// Workspace of a launch with divided tiles.
struct PartialTiles {
  void* results;      ///< StreamKSchedule::slots() tiles of words
  unsigned* arrived;  ///< number of stored parts of each divided tile; 0 before the launch
};

}  // namespace mpmml::cuda
