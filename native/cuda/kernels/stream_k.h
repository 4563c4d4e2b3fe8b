// How the last tiles of a launch are divided among blocks, if its tiles don't come to whole waves. As many blocks as fit
// at a time take equal shares of these tiles' steps, one tile after the other, so that all end at the same time. A tile
// that lies in several shares is computed in parts, and the block whose part comes last combines them. The principle is
// stream-K: Osama et al. 2023, arXiv 2301.03598.
#pragma once
#include <cstdint>

#include "core/algebra/semiring.h"

namespace mpmml::cuda {

struct StreamKSchedule {
  int64_t whole;           ///< tiles before those that are divided. Each has a block of its own.
  unsigned tiles;          ///< that are divided
  unsigned of_instance;    ///< tiles of an instance, divided or not
  unsigned depth;          ///< of a tile, in tiles of K
  unsigned shares;         ///< of the divided tiles' steps; 0 if no tile is divided
  unsigned least, longer;  ///< tiles of K in a share, and how many shares have one more

  /// Where a share begins, in tiles of K of all divided tiles one after the other.
  MPMML_HOST_DEVICE unsigned begin(unsigned share) const { return share * least + (share < longer ? share : longer); }
  MPMML_HOST_DEVICE unsigned share_of(unsigned step) const {
    const unsigned in_longer = longer * (least + 1);
    return step < in_longer ? step / (least + 1) : longer + (step - in_longer) / least;
  }
  /// The share in which a divided tile begins, and how many it lies in.
  MPMML_HOST_DEVICE unsigned first_share(unsigned tile) const { return share_of(tile * depth); }
  MPMML_HOST_DEVICE unsigned parts(unsigned tile) const {
    return share_of(tile * depth + depth - 1) + 1 - first_share(tile);
  }
  /// Where a share's part of a tile is kept. A share has at most two parts, because the tiles between them are whole.
  MPMML_HOST_DEVICE unsigned slot(unsigned tile, unsigned share) const {
    return 2 * share + (begin(share) < tile * depth ? 1 : 0);
  }
  MPMML_HOST_DEVICE unsigned slots() const { return 2 * shares; }
};

/// Memory of a launch with divided tiles.
struct PartialTiles {
  void* results;      ///< Division::slots() tiles of words
  unsigned* arrived;  ///< for each divided tile, how many parts have been kept; 0 before the launch
};

}  // namespace mpmml::cuda
