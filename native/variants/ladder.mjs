// The rows of the ladder family (native/lab/ladder): the steps from one thread per cell to tiles in shared
// memory. Tiles are square, and a block has one thread per cell.

const orders = { coalesced: 'ladder::Order::kCoalesced', uncoalesced: 'ladder::Order::kUncoalesced' }
const borderings = { guards: 'ladder::Borders::kGuards', padding: 'ladder::Borders::kPadding' }
const techniques = {
  naive: 'ladder::Technique::kNaive',
  tiled: 'ladder::Technique::kTiled',
  prefetch: 'ladder::Technique::kPrefetch',
}

const row = (technique, tile, order, borders) => ({ technique, tile, order, borders })

/** Tiles of one cell need no borders. */
const bordersOf = (tile) => (tile === 1 ? ['guards'] : ['guards', 'padding'])

const steps = [
  ...['uncoalesced', 'coalesced'].map((order) => row('naive', 32, order, 'guards')),
  ...[1, 2, 4, 8, 16, 32].flatMap((tile) =>
    ['uncoalesced', 'coalesced'].flatMap((order) =>
      bordersOf(tile).map((borders) => row('tiled', tile, order, borders)),
    ),
  ),
  ...[16, 32].flatMap((tile) =>
    bordersOf(tile).map((borders) => row('prefetch', tile, 'coalesced', borders)),
  ),
]

export const ladder = {
  name: 'ladder',
  backend: 'cuda',
  header: 'lab/ladder/launch.cuh',
  template: 'ladder::Config',
  arguments: (p) => [techniques[p.technique], p.tile, orders[p.order], borderings[p.borders]],
  parameters: ['technique', 'tile', 'order', 'borders', 'accumulator'],
  label: (p) =>
    `${p.technique}_${p.tile}x${p.tile}_${p.order}${p.technique === 'naive' ? '' : `_${p.borders}`}`,
  semirings: ['max-plus', 'min-plus', 'plus-times'],
  automatic: false,
  together: 32,
  rows: ['int32', 'float32'].flatMap((accumulator) => steps.map((step) => ({ ...step, accumulator }))),
}
