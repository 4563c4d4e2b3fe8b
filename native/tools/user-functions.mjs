// How far exp, exp2, log, log1p and sqrt of semirings of one's own are from the exact values, over all float32 numbers:
//
//   node native/tools/user-functions.mjs [--stride N] [--threads N] [NAME...]
//
// Compares with float64. Fails if a result is off by more than 2 units in the last place, or is NaN where it mustn't be.
// All numbers of a function take about three minutes of a processor; --stride N takes every Nth.
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { operations, types } from '../variants/expressions.mjs'

const functions = { exp: Math.exp, exp2: (x) => 2 ** x, log: Math.log, log1p: Math.log1p, sqrt: Math.sqrt }
const most = 2
const values = 2 ** 32
const pieces = 256

/** The function as ⊗ of a semiring. */
function semiringOf(addon, name) {
  const node = (op, operand = 0) => [
    operations.findIndex((it) => it.name === op),
    types.indexOf('float32'),
    operand,
    0,
    0,
    0,
  ]
  const x = Int32Array.from(node('argument'))
  return addon.userSemiring({
    name,
    lanes: Int32Array.of(types.indexOf('float32')),
    zero: Int32Array.of(0),
    one: null,
    plus: x,
    plusResults: Int32Array.of(0),
    times: Int32Array.from([...x, ...node(name)]),
    timesResults: Int32Array.of(1),
    absorbs: true,
    idempotent: false,
    selective: false,
    logarithms: false,
  })
}

/** The worst of a piece of all numbers. */
function check(addon, semiring, exactly, piece, stride) {
  const length = Math.floor(values / pieces / stride)
  const bits = new Uint32Array(length)
  for (let index = 0; index < length; ++index) bits[index] = piece * (values / pieces) + index * stride
  const x = new Float32Array(bits.buffer)
  const out = new Float32Array(length)
  addon.evaluateUserSemiring(semiring, false, [x], [x], [out])
  let worst = 0
  let at = 0
  for (let index = 0; index < length; ++index) {
    const exact = exactly(x[index])
    const found = out[index]
    if (found === Math.fround(exact) || (Number.isNaN(found) && Number.isNaN(exact))) continue
    // What isn't finite in float32 counts as the next power of two.
    const wanted = Math.min(Math.max(exact, -(2 ** 128)), 2 ** 128)
    const got = Math.min(Math.max(found, -(2 ** 128)), 2 ** 128)
    const unit = 2 ** Math.max(Math.floor(Math.log2(Math.abs(wanted))) - 23, -149)
    const off = Math.abs(got - wanted) / unit
    // NaN is worse than anything.
    if (off <= worst) continue
    worst = Number.isNaN(off) ? Number.POSITIVE_INFINITY : off
    at = x[index]
  }
  return { worst, at }
}

function main() {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      stride: { type: 'string', default: '1' },
      threads: { type: 'string', default: String(availableParallelism()) },
    },
  })
  const names = positionals.length > 0 ? positionals : Object.keys(functions)
  const tasks = names.flatMap((name) => Array.from({ length: pieces }, (_, piece) => ({ name, piece })))
  const worst = Object.fromEntries(names.map((name) => [name, { worst: 0, at: 0, left: pieces }]))
  const next = (worker) => {
    const task = tasks.shift()
    if (task) worker.postMessage(task)
    else worker.terminate()
  }
  for (let index = 0; index < Number(options.threads); ++index) {
    const worker = new Worker(fileURLToPath(import.meta.url), {
      workerData: { stride: Number(options.stride) },
    })
    worker.on('message', ({ name, found }) => {
      const known = worst[name]
      if (found.worst > known.worst) Object.assign(known, found)
      if (--known.left === 0) {
        console.log(`${name}: at most ${known.worst.toFixed(3)} units in the last place off, at ${known.at}`)
        if (!(known.worst <= most)) process.exitCode = 1
      }
      next(worker)
    })
    next(worker)
  }
}

if (isMainThread) {
  main()
} else {
  const addon = createRequire(import.meta.url)('../../build/Release/mpmml.node')
  parentPort.on('message', ({ name, piece }) => {
    const found = check(addon, semiringOf(addon, name), functions[name], piece, workerData.stride)
    parentPort.postMessage({ name, found })
  })
}
