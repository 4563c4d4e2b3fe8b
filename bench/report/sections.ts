/** The report's sections: each table and figure of the thesis, for the GPU of the results. */
import { blockNames, ms, tileNames, times } from './charts.js'
import type { Data } from './data.js'
import { futureCaption, interaction, triangular } from './future-figures.js'
import { type Html, html } from './html.js'
import {
  bySize,
  caseOf,
  cases,
  failureNote,
  instancesFigure,
  patternNames,
  patternOf,
} from './kernel-figures.js'
import { bordersFigures, ladderTables, rooflineFigures } from './ladder-figures.js'
import { mixes, overBlocks, overGrids, summary } from './microbench-figures.js'
import { globalMemory, occupancy, specifications } from './tables.js'
import type * as thesis from './thesis.js'

export interface Section {
  /** The exhibits of the thesis that it stands for; none if it goes beyond it. */
  exhibits: thesis.Exhibit[]
  title: string
  /** What is shown, in a sentence or two. */
  caption: Html
  /** Statements of the thesis that it bears on. */
  claims: string[]
  /** The plot, the table; undefined if nothing was measured. */
  body: Html | undefined
  /** How to measure what is missing. */
  command: string
}

/** Every section in the order of the page: what goes beyond the thesis' sweeps only if it was measured. */
export function sections(data: Data): Section[] {
  const beyond = [...ladderSections(data), ...futureSections(data)]
  return [...thesisSections(data), ...beyond.filter(({ body }) => body !== undefined)]
}

function futureSections(data: Data): Section[] {
  return [
    {
      exhibits: [],
      title: 'Triangular products',
      caption: futureCaption.triangular,
      claims: [],
      body: triangular(data),
      command: 'npx mpmml report',
    },
    {
      exhibits: [],
      title: 'RNA–RNA interaction',
      caption: futureCaption.interaction,
      claims: [],
      body: interaction(data),
      command: 'npx mpmml report',
    },
  ]
}

function ladderSections(data: Data): Section[] {
  return [
    {
      exhibits: [],
      title: 'The matrix-multiplication ladder',
      caption: html`From one thread per cell to tuned tiles, one technique per rung. The tables are those of J. Sun, “CS 4444 – Report for
        Homework 5” (University of Virginia, 2017), whose times on a Tesla K20c, for plus-times on float32, are shown beside. Totals are
        whole calls with operands in the host’s memory: allocation, transfers and kernel.`,
      claims: [],
      body: ladderTables(data),
      command: 'npx mpmml ladder',
    },
    {
      exhibits: [],
      title: 'Borders: guards or padding',
      caption: html`The experiment of P. Lameski and others, “Comparison Of Rectangular Matrix Multiplication With And Without Border
        Conditions” (2013): tiles of 32 × 32 in shared memory, A with K columns, C of sizes that no tile divides. Speeds are
        normalised to that of the kernel on padded operands. As in the paper, only kernels are timed; the copies that pad the operands are shown separately.`,
      claims: [],
      body: bordersFigures(data),
      command: 'npx mpmml sweep borders',
    },
    {
      exhibits: [],
      title: 'Roofline',
      caption: html`Ceilings measured on this GPU, and each kernel by its computed operations per byte. Above: per byte that blocks read from global
        memory, as A. Pöpl’s tutorial “Dense Linear Algebra” (Technical University of Munich, 2016) counts them, so that caches
        can lift a kernel above the ceiling of device memory. Below: per byte between registers and shared memory, in wavefronts of 128
        bytes. The numbers at the marks are the sides of tiles.`,
      claims: [],
      body: rooflineFigures(data),
      command: 'npx mpmml roofline',
    },
  ]
}

function thesisSections(data: Data): Section[] {
  const gpu = String(data.machine.gpu.name)
  return [
    {
      exhibits: ['Table 1.1'],
      title: 'Global memory',
      caption: html`The thesis’ GPUs, and this one.`,
      claims: [],
      body: globalMemory(data),
      command: 'npx mpmml report',
    },
    {
      exhibits: ['Table 1.2'],
      title: 'Technical specifications',
      caption: html`The thesis’ GPUs, and what the CUDA runtime says of this one.`,
      claims: [],
      body: specifications(data),
      command: 'npx mpmml report',
    },
    {
      exhibits: ['Table 2.1'],
      title: 'Occupancy',
      caption: html`How many threads a multiprocessor holds, from the compiled code: the thesis’ two kernels, reg-reg with
        blocks of 32 × 32 threads for every X × Y, and the MPMML kernels of the figures below.`,
      claims: ['occupancy'],
      body: occupancy(data),
      command: 'npx mpmml occupancy reg-reg --x 4 --y 4 --bsi 32 --bsj 32',
    },
    {
      exhibits: ['Figure 2.1'],
      title: 'Summary of the microbenchmarks',
      caption: html`The fastest instance of each over X × Y and thread blocks, in operations as the thesis counts them: an
        addition or a maximum is one. K is the number of iterations between two reads of shared memory.`,
      claims: ['ordering', 'one', 'both'],
      body: summary(data),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: ['Figure A.1', 'Figure A.2', 'Figure A.3'],
      title: 'Reg-reg',
      caption: html`Both operands in registers, as many blocks as fill the GPU. The thesis has one figure for each of its GPUs;
        this is ${gpu}.`,
      claims: ['maximum'],
      body: overBlocks(data, 'reg-reg', 'Reg-reg over thread blocks'),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: [],
      title: 'Reg-reg over the size of the grid',
      caption: html`The same kernel, 8 × 8 steps and blocks of 16 × 16 threads, with ever more blocks.`,
      claims: [],
      body: overGrids(data),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: ['Figure A.4', 'Figure A.6', 'Figure A.8'],
      title: 'One operand in shared memory',
      caption: html`A is read from shared memory (M = 32 columns), B is in registers.`,
      claims: ['one', 'banks'],
      body: overBlocks(data, 'shared-one', 'One operand in shared memory over thread blocks'),
      command: 'npx mpmml microbench shared-one --sweep',
    },
    {
      exhibits: ['Figure A.5', 'Figure A.7', 'Figure A.9'],
      title: 'Both operands in shared memory',
      caption: html`A and B are read from shared memory (M = 32).`,
      claims: ['both'],
      body: overBlocks(data, 'shared-both', 'Both operands in shared memory over thread blocks'),
      command: 'npx mpmml microbench shared-both --sweep',
    },
    {
      exhibits: [],
      title: 'Instruction mixes',
      caption: html`Beyond the thesis: what a max-plus step can be made of on newer GPUs, in the frame of reg-reg. The ceiling
        that the kernels below are compared with is <code>fused</code>.`,
      claims: [],
      body: mixes(data),
      command: 'npx mpmml microbench fused --sweep',
    },
    {
      exhibits: ['Figure 4.1'],
      title: 'Cases: which operands go through shared memory',
      caption: html`Kernel time; 8 × 8 per thread, blocks of 16 × 16 threads, S = 16.`,
      claims: ['cases', 'case11', 'large'],
      body: bySize(
        data,
        'cases',
        caseOf,
        cases.map(([, summary]) => summary),
        'case',
        'The four cases over sizes',
      ),
      command: 'npx mpmml sweep cases',
    },
    {
      exhibits: ['Figure 4.2', 'Figure 4.3', 'Figure 4.4'],
      title: 'Computation patterns',
      caption: html`Case 00. How a thread’s patch of C lies: in one block, in sub-patches of 4 × 4 (block-cyclic), or one
        element at a stride (cyclic). The thesis has one figure for each of its GPUs; this is ${gpu}.`,
      claims: ['patterns', 'patterns1k'],
      body: bySize(data, 'patterns', patternOf, patternNames, 'pattern', 'The three patterns over sizes'),
      command: 'npx mpmml sweep patterns',
    },
    {
      exhibits: ['Figure 4.5'],
      title: 'With and without A transposed',
      caption: html`Kernel time, without the pass that transposes A, whose time is in the table. The thesis shows 10K.`,
      claims: ['transpose'],
      body: bySize(
        data,
        'transpose',
        (point) => `${patternOf(point)}${point.parameters.Transpose === 1 ? ', A transposed' : ''}`,
        patternNames.flatMap((name) => [name, `${name}, A transposed`]),
        'pattern',
        'A as it is and transposed over sizes',
        {
          columns: ['ms to transpose'],
          cells: ({ result }) => [result.prepareMs.median > 0 ? ms(result.prepareMs.median) : ''],
        },
      ),
      command: 'npx mpmml sweep transpose',
    },
    {
      exhibits: ['Figure 4.6'],
      title: 'Several products in one launch',
      caption: html`1 to 20 products as the third dimension of the grid, block pattern, beside single large products (the marks
        at the right end).`,
      claims: ['instances'],
      body: instancesFigure(data),
      command: 'npx mpmml sweep instances',
    },
    {
      exhibits: [],
      title: 'Thread tiles, X × Y',
      caption: html`Case 00 with blocks of 16 × 16 threads: the thesis’ parameters for tuning to a GPU.`,
      claims: [],
      body: bySize(
        data,
        'tiles',
        ({ parameters: p }) => times(p.X, p.Y),
        tileNames(data.kernels('tiles').map(({ parameters: p }) => [p.X, p.Y])),
        'X×Y',
        'Thread tiles over sizes',
      ),
      command: 'npx mpmml sweep tiles',
    },
    {
      exhibits: [],
      title: 'Thread blocks, BS_i × BS_j',
      caption: html`Case 00 with 8 × 8 per thread.${failureNote(data, 'blocks')}`,
      claims: [],
      body: bySize(
        data,
        'blocks',
        ({ parameters: p }) => times(p.BS_i, p.BS_j),
        blockNames(data.kernels('blocks').map(({ parameters: p }) => [p.BS_i, p.BS_j])),
        'BS_i×BS_j',
        'Thread blocks over sizes',
      ),
      command: 'npx mpmml sweep blocks',
    },
  ]
}
