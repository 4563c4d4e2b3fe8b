// The table of microbenchmarks and their compiled kernels (native/lab/microbench/). From it the generator
// writes their instantiations and their registry. X × Y are the steps per thread and iteration, K the
// iterations between two reads of shared memory. Everything else is a run-time parameter. Bandwidths have no
// compile-time parameters.

const tiles = [
  [8, 8],
  [4, 4],
  [4, 6],
  [4, 8],
  [8, 4],
  [8, 16],
  [16, 8],
]

/** Forms of the maximum: listings A and B of the thesis. */
const maxima = { intrinsic: 'Plain<Intrinsic>', ternary: 'Plain<Ternary>' }

const algorithm = (name, number, summary, template, depths) => ({
  name,
  header: `lab/microbench/${name.replace('-', '_')}.cuh`,
  summary: `Algorithm ${number}: ${summary}`,
  instances: tiles.flatMap(([x, y]) =>
    depths.flatMap((k) =>
      Object.entries(maxima).map(([max, steps]) => ({
        x,
        y,
        k,
        max,
        template: `${template}<${[steps, x, y, ...(depths.length > 1 ? [k] : [])].join(', ')}>`,
      })),
    ),
  ),
})

const mix = (name, summary, steps) => ({
  name,
  header: 'lab/microbench/mix.cuh',
  summary,
  instances: [
    [8, 8],
    [8, 4],
  ].map(([x, y]) => ({ x, y, k: 1, max: 'intrinsic', template: `Mix<${steps}, ${x}, ${y}>` })),
})

export const microbenchmarks = [
  algorithm('reg-reg', 1, 'both operands in registers', 'RegReg', [1]),
  algorithm('shared-one', 2, 'one operand in shared memory', 'SharedOne', [10, 5, 1]),
  algorithm('shared-both', 3, 'both operands in shared memory', 'SharedBoth', [10, 5, 1]),
  mix('add-max', 'an addition and a maximum, two instructions of the ALU pipe', 'AddMax'),
  mix('fused', '__viaddmax_s32: addition and maximum in one instruction if there is one', 'Fused<Int32>'),
  mix('imad-max', 'a multiplication by 1 and an addition on the FMA pipe, and a maximum', 'MultiplyMax'),
  mix('imad-max3', 'two additions on the FMA pipe and one maximum of three operands', 'MultiplyMax3<Int32>'),
  mix('mixed', 'even rows imad-max3, odd rows fused: the stream of the pipelined family', 'MixedRows<Int32>'),
  mix('fused-u16x2', 'fused, on two unsigned 16-bit halves of a word', 'Fused<Uint16x2>'),
  mix('fused-s16x2', 'fused, on two signed 16-bit halves of a word', 'Fused<Int16x2>'),
  mix('imad-max3-u16x2', 'imad-max3, on two unsigned 16-bit halves of a word', 'MultiplyMax3<Uint16x2>'),
  mix('mixed-u16x2', 'mixed, on two unsigned 16-bit halves of a word', 'MixedRows<Uint16x2>'),
  mix('add-max-f32', 'an addition and a maximum of float32', 'FloatAddMax'),
  mix('fma-f32', 'a fused multiplication and addition of float32: a step of plus-times', 'FloatMultiplyAdd'),
]

const bandwidth = (name, file, template, summary) => ({
  name,
  header: `lab/microbench/${file}.cuh`,
  template,
  summary,
})

/** Bandwidths of the levels of memory. */
export const bandwidths = [
  bandwidth('copy', 'copy', 'CopyBuffer', 'device memory: a large buffer is copied'),
  bandwidth('l2', 'l2_read', 'ReadL2', 'L2 cache: a part of it is read again and again'),
  bandwidth('shared', 'shared_read', 'ReadShared', 'shared memory: read without bank conflicts'),
  bandwidth('strided', 'strided', 'ReadStrided', 'device memory: words at a stride are read'),
]
