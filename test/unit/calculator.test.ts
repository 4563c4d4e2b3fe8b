/** The occupancy calculator, compared with NVIDIA's published examples and implementation. */
import { describe, expect, it } from 'vitest'
import { occupancy as table21 } from '../../bench/report/thesis.js'
import { calculateOccupancy, calculatorGpus } from '../../lib/lab.js'

describe('calculateOccupancy', () => {
  it("returns the thesis' Table 2.1", () => {
    for (const { registers, threads, warps, blocks, percent } of table21) {
      expect(calculateOccupancy({ registers, threads: 1024, gpu: 'sm_52' })).toMatchObject({
        gpu: 'sm_52',
        registersPerThread: registers,
        threadsPerBlock: 1024,
        sharedBytesPerBlock: 0,
        activeThreads: threads,
        activeWarps: warps,
        activeBlocks: blocks,
        occupancyPercent: percent,
      })
    }
  })

  // Sources: CUDA C++ Best Practices Guide, "Calculating Occupancy" (7.0), and CUDA C++ Programming Guide,
  // "Multiprocessor Level" (6.x).
  it.each([
    ['sm_70', 37, 128, 12, 75],
    ['sm_70', 37, 320, 4, 62.5],
    ['sm_70', 32, 1024, 2, 100],
    ['sm_61', 64, 512, 2, 50],
    ['sm_61', 65, 512, 1, 25],
  ])("returns NVIDIA's example: %s, %i registers, %i threads", (gpu, registers, threads, blocks, percent) => {
    expect(calculateOccupancy({ gpu, registers, threads })).toMatchObject({
      activeBlocks: blocks,
      occupancyPercent: percent,
    })
  })

  // Rows of CUDA_Occupancy_Calculator.xls for Fermi: 32768 registers, in units of 64 for each warp.
  it.each([
    ['sm_20', 20, 192, 8],
    ['sm_20', 21, 256, 5],
    ['sm_21', 63, 512, 1],
    ['sm_21', 64, 32, 0],
  ])(
    'allocates registers of Fermi by 64: %s, %i registers, %i threads',
    (gpu, registers, threads, blocks) => {
      expect(calculateOccupancy({ gpu, registers, threads }).activeBlocks).toBe(blocks)
    },
  )

  // Results of cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h (CUDA 13.0), for random numbers and at the edges of units.
  it.each([
    ['sm_35', 32, 221, 0, 8],
    ['sm_35', 906, 5, 0, 2],
    ['sm_35', 673, 26, 97017, 0],
    ['sm_37', 576, 20, 0, 3],
    ['sm_37', 160, 253, 0, 3],
    ['sm_37', 960, 91, 10854, 0],
    ['sm_50', 1003, 10, 0, 2],
    ['sm_50', 160, 48, 6535, 8],
    ['sm_50', 906, 163, 54980, 0],
    ['sm_52', 249, 37, 27705, 3],
    ['sm_52', 842, 26, 13671, 2],
    ['sm_52', 900, 146, 23042, 0],
    ['sm_53', 902, 21, 21602, 2],
    ['sm_53', 160, 24, 23920, 2],
    ['sm_53', 713, 51, 57770, 0],
    ['sm_60', 318, 13, 23530, 2],
    ['sm_60', 534, 33, 24485, 2],
    ['sm_60', 704, 38, 76925, 0],
    ['sm_61', 288, 30, 0, 7],
    ['sm_61', 655, 25, 36227, 2],
    ['sm_61', 576, 193, 119784, 0],
    ['sm_62', 471, 29, 0, 4],
    ['sm_62', 96, 26, 0, 21],
    ['sm_62', 672, 230, 29526, 0],
    ['sm_70', 19, 43, 34808, 2],
    ['sm_70', 202, 61, 1008, 4],
    ['sm_70', 736, 248, 0, 0],
    ['sm_75', 7, 127, 0, 16],
    ['sm_75', 7, 36, 5071, 12],
    ['sm_75', 768, 107, 33855, 0],
    ['sm_80', 128, 23, 0, 16],
    ['sm_80', 122, 46, 7123, 10],
    ['sm_80', 1024, 185, 0, 0],
    ['sm_86', 278, 50, 0, 4],
    ['sm_86', 67, 4, 16498, 5],
    ['sm_86', 128, 2, 208539, 0],
    ['sm_87', 96, 160, 3319, 4],
    ['sm_87', 71, 13, 18713, 8],
    ['sm_87', 581, 184, 60588, 0],
    ['sm_89', 661, 33, 0, 2],
    ['sm_89', 116, 1, 26530, 3],
    ['sm_89', 320, 36, 212452, 0],
    ['sm_90', 352, 38, 49840, 4],
    ['sm_90', 511, 35, 40672, 3],
    ['sm_90', 1022, 96, 0, 0],
    ['sm_100', 192, 30, 29610, 7],
    ['sm_100', 128, 183, 12477, 2],
    ['sm_100', 480, 209, 85385, 0],
    ['sm_110', 500, 38, 27471, 3],
    ['sm_110', 95, 45, 42717, 5],
    ['sm_110', 864, 74, 52878, 0],
    ['sm_120', 352, 10, 11907, 4],
    ['sm_120', 356, 45, 23439, 3],
    ['sm_120', 835, 233, 20205, 0],
    ['sm_60', 544, 103, 26246, 0],
    ['sm_89', 32, 16, 0, 24],
    ['sm_86', 32, 16, 0, 16],
    ['sm_75', 32, 16, 0, 16],
    ['sm_90', 32, 16, 8961, 23],
    ['sm_61', 32, 16, 6401, 14],
    ['sm_62', 1024, 33, 0, 0],
    ['sm_87', 32, 16, 0, 16],
  ])(
    'agrees with cuda_occupancy.h: %s, %i threads, %i registers, %i bytes',
    (gpu, threads, registers, shared, blocks) => {
      expect(calculateOccupancy({ gpu, threads, registers, shared }).activeBlocks).toBe(blocks)
    },
  )

  it('names the resources that are exhausted first', () => {
    const limits = (registers: number, threads: number, shared: number, gpu = 'sm_61') =>
      calculateOccupancy({ registers, threads, shared, gpu }).limitedBy.join()
    expect(limits(16, 1024, 0)).toBe('threads')
    expect(limits(16, 32, 0)).toBe('blocks')
    expect(limits(64, 256, 0)).toBe('registers')
    expect(limits(16, 256, 49152)).toBe('shared memory')
    expect(limits(32, 64, 0)).toBe('threads,blocks,registers')
  })

  it('returns no active block for a block that does not fit', () => {
    for (const shared of [49153, 2 ** 30]) {
      expect(calculateOccupancy({ registers: 32, threads: 32, shared, gpu: 'sm_61' })).toMatchObject({
        activeBlocks: 0,
        activeThreads: 0,
        occupancyPercent: 0,
        limitedBy: ['shared memory'],
      })
    }
    expect(calculateOccupancy({ registers: 65, threads: 1024, gpu: 'sm_90' }).limitedBy).toEqual([
      'registers',
    ])
  })

  it('supports every architecture from Fermi on, and never exceeds its threads', () => {
    expect(calculatorGpus).toEqual(
      expect.arrayContaining(['sm_20', 'sm_35', 'sm_52', 'sm_61', 'sm_75', 'sm_90', 'sm_120']),
    )
    for (const gpu of calculatorGpus) {
      for (const threads of [1, 31, 33, 192, 1000]) {
        const { occupancyPercent, activeBlocks } = calculateOccupancy({ registers: 16, threads, gpu })
        expect(activeBlocks).toBeGreaterThan(0)
        expect(occupancyPercent).toBeLessThanOrEqual(100)
      }
    }
  })

  it.each([
    [{ registers: 32, threads: 256 }, /option gpu must be .*sm_61.*undefined/],
    [{ registers: 32, threads: 256, gpu: 'sm_1' }, /option gpu must be .*'sm_1'/],
    [{ registers: 32, threads: 256, gpu: 'toString' }, /option gpu/],
    [{ threads: 256, gpu: 'sm_61' }, /option registers must be a whole number from 1 to 255/],
    [{ registers: 256, threads: 256, gpu: 'sm_61' }, /option registers .*256/],
    [{ registers: 32, threads: 1025, gpu: 'sm_61' }, /option threads .*1025/],
    [{ registers: 32, threads: 0, gpu: 'sm_61' }, /option threads/],
    [{ registers: 32, threads: 256, shared: -1, gpu: 'sm_61' }, /option shared/],
    [{ registers: 32, threads: 256, shared: 1.5, gpu: 'sm_61' }, /option shared/],
    [{ registers: 32, threads: 256, gpu: 'sm_61', regs: 1 }, /there is no option 'regs'/],
    [undefined, /options/],
  ])('rejects %j', (options, message) => {
    expect(() => calculateOccupancy(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_OPTION', message: expect.stringMatching(message) }),
    )
  })
})
