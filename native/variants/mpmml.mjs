// The rows of the MPMML family (Algorithm 5 of the thesis, native/lab/thesis/mpmml.cuh).

const best = { X: 8, Y: 8, BS_i: 16, BS_j: 16, S: 16 }
const blockCyclic = { Sub_X: 4, Sub_Y: 4 }
const viaShared = { MEMSEL_A: 0, MEMSEL_B: 0 }
const plain = { Transpose: 0, accumulator: 'int32' }

const cases = [0, 1].flatMap((MEMSEL_A) => [0, 1].map((MEMSEL_B) => ({ MEMSEL_A, MEMSEL_B })))
const patterns = [blockCyclic, { Sub_X: 8, Sub_Y: 8 }, { Sub_X: 1, Sub_Y: 1 }]
const tiles = [
  [4, 4],
  [4, 6],
  [4, 8],
  [8, 4],
  [8, 8],
  [8, 16],
  [16, 8],
].map(([X, Y]) => ({ X, Y, Sub_X: 4, Sub_Y: Y % 4 === 0 ? 4 : 2 }))
const blocks = [
  [8, 8],
  [16, 8],
  [16, 16],
  [32, 8],
  [32, 32],
].map(([BS_i, BS_j]) => ({ BS_i, BS_j }))
/** Other depths of the tile. */
const depths = [
  { S: 8 },
  { S: 32 },
  // The fastest of the family on an H200 at 8192 (docs/measured.json, peers).
  { S: 32, BS_i: 16, BS_j: 8 },
]

/** The row that the planner may choose by itself, with each accumulator. */
const defaults = ['int32', 'int64'].map((accumulator) => ({
  ...best,
  ...viaShared,
  ...blockCyclic,
  ...plain,
  accumulator,
}))

/** The default row over float32, for the laboratory. */
const floats = { ...defaults[0], accumulator: 'float32' }

const rows = [
  ...defaults,
  floats,
  ...cases.flatMap((memsel) =>
    patterns.flatMap((pattern) =>
      [0, 1].map((Transpose) => ({ ...best, ...memsel, ...pattern, ...plain, Transpose })),
    ),
  ),
  ...tiles.flatMap((tile) => blocks.map((block) => ({ ...best, ...tile, ...block, ...viaShared, ...plain }))),
  ...depths.map((depth) => ({ ...best, ...depth, ...viaShared, ...blockCyclic, ...plain })),
]

const parameters = [
  'X',
  'Y',
  'BS_i',
  'BS_j',
  'S',
  'MEMSEL_A',
  'MEMSEL_B',
  'Sub_X',
  'Sub_Y',
  'Transpose',
  'accumulator',
]

/** Each combination once. */
const distinct = [...new Map(rows.map((row) => [parameters.map((name) => row[name]).join(), row])).values()]

const threads = (p) => p.BS_i * p.BS_j
const words = (p) => (p.accumulator === 'int64' ? 2 : 1)

/** Accumulators, one k-step of both operands, and about 20 for addresses and counters. */
const registers = (p) => words(p) * (p.X * p.Y + p.X + p.Y) + 20

/** Tiles of depth S, whose lines are padded by 16 bytes. */
const sharedBytes = (p) =>
  p.S *
  ((p.MEMSEL_A ? 0 : 4 * words(p) * p.X * p.BS_i + 16) + (p.MEMSEL_B ? 0 : 4 * words(p) * p.Y * p.BS_j + 16))

export const mpmml = {
  name: 'mpmml',
  backend: 'cuda',
  header: 'lab/thesis/launch.cuh',
  template: 'Mpmml',
  semirings: ['max-plus', 'min-plus', 'plus-times'],
  parameters,
  label: (p) =>
    `${p.X}x${p.Y}_${p.BS_i}x${p.BS_j}_s${p.S}_case${p.MEMSEL_A}${p.MEMSEL_B}_sub${p.Sub_X}x${p.Sub_Y}` +
    (p.Transpose ? '_at' : '') +
    (p.accumulator === 'int64' ? '_acc64' : ''),
  automatic: (p) => defaults.some((row) => Object.entries(row).every(([name, value]) => p[name] === value)),
  together: 12,
  rows: distinct,
  constraints: [
    {
      holds: (p) => p.X % p.Sub_X === 0 && p.Y % p.Sub_Y === 0,
      reason: (p) => `sub-patches of ${p.Sub_X} x ${p.Sub_Y} don't tile a thread's patch of ${p.X} x ${p.Y}`,
    },
    {
      holds: (p) => threads(p) <= 1024,
      reason: (p) => `a block has at most 1024 threads, not ${threads(p)}`,
    },
    {
      holds: (p) => registers(p) <= Math.min(255, Math.floor(65536 / threads(p))),
      reason: (p) =>
        `a thread needs about ${registers(p)} registers; with ${threads(p)} threads a block it can have ` +
        `${Math.min(255, Math.floor(65536 / threads(p)))} of the 65536`,
    },
    {
      holds: (p) => sharedBytes(p) <= 49152,
      reason: (p) => `a block's tiles take ${sharedBytes(p)} bytes of shared memory, more than 49152`,
    },
  ],
}
