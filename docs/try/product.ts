/** Tool for the product of two matrices, which also shows the arithmetic of the sums. */
import { type ElementArray, type Matrix, mpmm, OverflowError, type Semiring, zeroOf } from 'mpmml'
import { formatNpy, parseNpy } from 'mpmml/files'
import { InputError, reading, textIn } from './csv.js'
import { html, shown, table } from './dom.js'
import {
  inRows,
  type Numbers,
  operandOf,
  random,
  readNumbers,
  type Type,
  typeOf,
  types,
  withZeros,
} from './numbers.js'
import { forEachIndex, inSlices, type Steps } from './slices.js'
import type { Tool } from './tool.js'

const semirings: Record<Semiring, string> = {
  'max-plus': 'the greatest of the sums a + b',
  'min-plus': 'the least of the sums a + b',
  'max-min': 'the greatest of the lesser of a and b',
  'min-max': 'the least of the greater of a and b',
  'max-times': 'the greatest of the products a · b',
  'plus-times': 'the sum of the products a · b',
  'or-and': 'whether some a and b are both true',
  'xor-and': 'whether an odd number of a and b are both true',
}

/** Limit of the rows and columns that are shown. */
const SHOWN = 16
/** Limit of the elements that are written into a field. Larger matrices from files stay in memory. */
const MAX_WRITTEN = 2500
const MAX_SIZE = 4096

/** Matrices from files that are too large for a field, by the text that the field shows instead. */
const retained = new Map<string, Numbers>()

async function textOf(file: File): Promise<string> {
  if (!/\.npy$/i.test(file.name)) return await textIn(file)
  const bytes = new Uint8Array(await file.arrayBuffer())
  const read = reading(() => parseNpy(bytes))
  if (read.shape.length === 3) throw new InputError(`${file.name} is a batch of matrices: give one matrix.`)
  const { signal } = new AbortController()
  const numbers = await inSlices(inRows(read), signal)
  const { rows, cols, values } = numbers
  if (
    !(await inSlices(
      forEachIndex(values.length, (at) => !Number.isNaN(values[at])),
      signal,
    ))
  )
    throw new InputError(`${file.name} has NaN, which this page doesn’t take.`)
  const row = (index: number) => Array.from(values.subarray(index * cols, (index + 1) * cols)).join(',')
  if (values.length <= MAX_WRITTEN) return Array.from({ length: rows }, (_, index) => row(index)).join('\n')
  const name = `file ${file.name}: ${rows} × ${cols}`
  retained.set(name, numbers)
  return name
}

/** Explanations of the arithmetics of sums. */
const arithmetics: Record<string, string> = {
  direct: 'Sums are of the type of the elements.',
  translated: 'Sums are of the type of the elements; another number stands for the semiring’s zero.',
  half: 'The values lie close enough together for sums in 16 bits, which are faster and as exact.',
  byte: 'The values lie close enough together for sums in 8 bits, which are faster and as exact.',
  wide: 'The values are so far apart that sums need 64 bits.',
  wrapping: 'Sums of 64 bits are taken modulo 2^32.',
}

function* read(text: string, name: string, seed: number): Steps<Numbers> {
  const wrong = (message: string) => new InputError(message, name.toLowerCase())
  const file = retained.get(text.trim())
  if (file) return file
  if (text.startsWith('file '))
    throw wrong('The file isn’t here any more. Drop it again: links can’t carry it.')
  const requested = /^\s*random\s+(\d+)\D+(\d+)\s*$/i.exec(text)
  if (requested) {
    const [rows, cols] = [Number(requested[1]), Number(requested[2])]
    if (!(rows >= 1 && cols >= 1 && rows <= MAX_SIZE && cols <= MAX_SIZE)) {
      throw wrong(`Rows and columns must be from 1 to ${MAX_SIZE}.`)
    }
    return yield* random(rows, cols, seed)
  }
  return yield* readNumbers(text, name, wrong)
}

/** Offers the result as a file. */
function download(c: Matrix<ElementArray>): HTMLElement {
  const save = () => {
    const url = URL.createObjectURL(new Blob([formatNpy(c) as Uint8Array<ArrayBuffer>]))
    html('a', { href: url, download: 'c.npy' }).click()
    URL.revokeObjectURL(url)
  }
  return html('p', {}, html('button', { type: 'button', click: save }, 'Save C as .npy'))
}

export const product: Tool = {
  id: 'product',
  title: 'Product',
  about:
    'C = A ⊗ B: each element of C is made of a row of A and a column of B. The library looks at the range of the values first, and takes the fastest way that is exact for them.',
  fields: [
    {
      name: 'a',
      label: 'A',
      hint: 'A line for each row; . is the semiring’s zero. Or drop a .npy, or write: random 512 512',
      rows: 5,
    },
    { name: 'b', label: 'B', rows: 5 },
    { name: 'semiring', label: 'Semiring', choices: () => Object.keys(semirings) },
    { name: 'type', label: 'Elements', choices: () => ['automatic', ...Object.keys(types)] },
  ],
  example: { a: '3 7 .\n2 4 1\n. 0 5', b: '0 2 .\n1 . 3\n4 1 0', semiring: 'max-plus', type: 'automatic' },
  program: `import { matrix, mpmm, zeroOf } from 'mpmml'

const e = zeroOf('max-plus', 'int32')
const a = matrix(3, 3, [3, 7, e, 2, 4, 1, e, 0, 5])
const b = matrix(3, 3, [0, 2, e, 1, e, 3, 4, 1, 0])
const { c, arithmetic } = await mpmm(a, b)
console.log(arithmetic, c.data.join()) // translated 8,5,10,5,4,7,9,6,5`,
  textOf,
  async answer({ a, b, semiring: name, type: requested }, signal) {
    const semiring = name as Semiring
    if (!Object.hasOwn(semirings, semiring)) throw new InputError(`There is no semiring ${name}.`, 'semiring')
    const inTime = <Result>(steps: Steps<Result>) => inSlices(steps, signal)
    const left = await inTime(withZeros(await inTime(read(a!, 'A', 1)), semiring))
    const right = await inTime(withZeros(await inTime(read(b!, 'B', 2)), semiring))
    if (left.cols !== right.rows) {
      throw new InputError(
        `B must have as many rows as A has columns: A is ${left.rows} × ${left.cols}, B is ${right.rows} × ${right.cols}.`,
        'b',
      )
    }
    const multiplied = async (type: Type) => {
      const x = await inTime(operandOf(left, 'A', semiring, type))
      const y = await inTime(operandOf(right, 'B', semiring, type))
      const before = performance.now()
      const result = await mpmm(x, y, { semiring, signal })
      return { result, type, ms: performance.now() - before }
    }
    const chosen = await inTime(typeOf(semiring, requested!, left, right))
    const { result, type, ms } = await multiplied(chosen).catch((error) => {
      if (!(error instanceof OverflowError)) throw error
      if (requested === 'automatic') return multiplied('float64')
      throw new Error('An element of C is beyond int32: choose float64 as its type, or automatic.')
    })
    const c = result.c as Matrix<ElementArray>
    const { arithmetic, variant, gops, backend, device } = result
    // In browsers the GPU computes large products if a measurement has shown that it is faster.
    const where = backend === 'webgpu' ? `the GPU, by WebGPU (${device})` : 'the CPU'
    const zero = zeroOf(semiring, type)
    const [rows, cols] = [Math.min(left.rows, SHOWN), Math.min(right.cols, SHOWN)]
    const cell = (i: number, j: number) => {
      const value = c.data[i * right.cols + j]!
      return value === zero && !['plus-times', 'or-and', 'xor-and'].includes(semiring) ? 'ε' : shown(value)
    }
    const steps = left.rows * left.cols * right.cols
    return () => [
      html(
        'p',
        { class: 'answer' },
        `C is ${left.rows} × ${right.cols}, computed with the arithmetic `,
        html('strong', {}, arithmetic),
        ` of ${type}.`,
      ),
      html(
        'p',
        {},
        `Each element is ${semirings[semiring]}. ${arithmetics[arithmetic.replace('-translated', '')] ?? ''}`,
      ),
      html(
        'p',
        { class: 'hint' },
        `${steps.toLocaleString('en')} ${steps === 1 ? 'step' : 'steps'} in ${shown(ms)} ms${gops >= 1 ? `, ${gops.toFixed(0)} GOPS` : ''}; kernel ${variant} on ${where}`,
      ),
      table(
        rows < left.rows || cols < right.cols ? `C, its first ${rows} rows and ${cols} columns` : 'C',
        ['', ...Array.from({ length: cols }, (_, j) => `${j}`)],
        Array.from({ length: rows }, (_, i) => [i, ...Array.from({ length: cols }, (_, j) => cell(i, j))]),
      ),
      download(c),
    ]
  },
}
