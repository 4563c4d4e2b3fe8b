// Compiles kernels for Maxwell, Pascal and Volta, which CUDA 13 no longer supports, with CUDA 12.4 (older-toolkit.mjs), and checks the
// machine code: no warning, no spilled register where a kernel promises none, and the instructions of a step. It compiles the families
// pipelined, small, thin and mpmml (the thesis'), and the microbenchmarks. The kernels of native/cuda/runtime are compiled to PTX of
// compute_50, the oldest architecture that is released.
//
//   node native/tools/check-older-gpus.mjs              all of them, in about an hour of a processor
//   node native/tools/check-older-gpus.mjs --sample     one source of each for sm_52 and sm_61, in 3 minutes, as .ci/run does
//   node native/tools/check-older-gpus.mjs --only TEXT  those whose file's name contains TEXT, for example maxplus
//
// Prints a table of the max-plus variants that products take; the exit status is 1 if something isn't as it should be.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { sourceFiles } from '../variants/files.mjs'
import { microbenchmarks } from '../variants/microbenchmarks.mjs'
import { allRows } from '../variants/rows.mjs'
import { olderToolkit } from './older-toolkit.mjs'
import { countsOf, functionsOf, loopOf } from './sass.mjs'

const { values: options } = parseArgs({
  options: { sample: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const native = dirname(dirname(fileURLToPath(import.meta.url)))
const architectures = options.sample ? ['sm_52', 'sm_61'] : ['sm_52', 'sm_61', 'sm_70']

/**
 * Shared memory that a block can have, in bytes: CUDA C++ Programming Guide, "Technical Specifications per Compute
 * Capability".
 */
const sharedMemory = { sm_52: 48 << 10, sm_61: 48 << 10, sm_70: 96 << 10 }

const say = (text) => console.error(`check-older-gpus: ${text}`)

const problems = []

/** The sources to compile, with the rows of the table in each. */
function sourcesToCompile() {
  const families = ['pipelined', 'small', 'thin', 'mpmml']
  const ofRows = sourceFiles(allRows()).filter(
    ({ rows: [{ family }] }) => family.backend === 'cuda' && families.includes(family.name),
  )
  const headers = [...new Set(microbenchmarks.map(({ header }) => /(\w+)\.cuh$/.exec(header)[1]))]
  const all = [...ofRows, ...headers.map((name) => ({ file: `microbench_${name}.cu`, rows: [] }))]
  const inSample = [
    'pipelined_cuda_maxplus_i32',
    'small_cuda_maxplus',
    'thin_cuda_maxplus',
    'mpmml_lab',
    'microbench_reg_reg',
  ]
  const isWanted = ({ file }) =>
    file.includes(options.only) &&
    (!options.sample || inSample.some((name) => file === `${name}.cu` || file === `${name}_1.cu`))
  return all.filter(isWanted)
}

/** Writes the generated sources into a folder. */
function generate(folder) {
  const generator = join(native, 'variants', 'generate.mjs')
  const args = [generator, '--native', join(folder, 'generated'), '--processor', 'x86_64']
  execFileSync(process.execPath, [...args, '--isas', 'portable', '--cuda'], { stdio: 'inherit' })
}

/** nvcc's options for an object with machine code for all architectures. */
const objectTargets = [
  '-c',
  ...architectures.map((name) => `-gencode=arch=${name.replace('sm', 'compute')},code=${name}`),
]

/** Returns the sources of native/cuda/runtime that match --only. */
function runtimeSources() {
  const folder = join(native, 'cuda', 'runtime')
  const files = readdirSync(folder).filter((file) => file.endsWith('.cu') && file.includes(options.only))
  return files.map((file) => ({
    file,
    path: join(folder, file),
    targets: ['-arch=compute_50', '-ptx'],
    rows: [],
  }))
}

/** Compiles a source, by default to an object for all architectures. A warning is a problem. */
function compile(nvcc, folder, { file, path = join(folder, 'generated', file), targets = objectTargets }) {
  const host = ['-fPIC', '-fwrapv', '-Wall', '-Wextra'].map((option) => `-Xcompiler=${option}`)
  const settings = ['-std=c++17', '-O3', '-DNDEBUG', `-ccbin=${process.env.CUDAHOSTCXX ?? 'g++-12'}`]
  const paths = [`-I${native}`, `-I${folder}`, path, '-o', objectOf(folder, file)]
  const args = [...settings, '-Wno-deprecated-gpu-targets', ...host, ...targets, ...paths]
  return new Promise((resolve) => {
    execFile(nvcc, args, { encoding: 'utf8', maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim()
      if (error || output !== '') problems.push(`${file}: ${output || error.message}`)
      say(`${file} ${error ? 'failed' : output === '' ? 'compiled' : 'compiled with warnings'}`)
      resolve(!error)
    })
  })
}

const objectOf = (folder, file) => join(folder, `${file}.o`)

/** Compiles the sources, as many at once as this process may use processors; returns those that have an object. */
async function compileAll(nvcc, folder, sources) {
  const waiting = [...sources]
  const compiled = []
  const work = async () => {
    for (let source = waiting.shift(); source; source = waiting.shift())
      if (await compile(nvcc, folder, source)) compiled.push(source)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return compiled
}

/** Element types in mangled names. */
const mangledElements = { int32: 'i', float32: 'f', float64: 'd', uint8: 'h' }

/** Arithmetics that are aliases, and their templates, whose names mangled names contain. */
const aliases = { Half: 'BiasedIntArithmetic' }

/** Returns whether a mangled name is that of a row's kernel: compares template arguments, arithmetics, semiring and element type. */
function isKernelOf({ family, expression, semiring, dataType }, mangled) {
  const [, template, list] = /^Family<(\w+)<([^>]*)>>::/.exec(expression)
  const named = (name) => `${name.length}${name}I`
  const values = list.split(', ').map((value) => `Li${value}E`)
  const arithmetics = [...expression.matchAll(/(\w+)<\w+<\w+>>/g)].map(([, name]) => name)
  return (
    mangled.includes(`${family.name}_kernelINS0_${named(template)}${values.join('')}E`) &&
    arithmetics.some((name) => mangled.includes(named(aliases[name] ?? name))) &&
    mangled.includes(`${named(semiring.struct)}${mangledElements[dataType.name]}E`)
  )
}

const sum = (counts, ...names) => names.reduce((total, name) => total + (counts.get(name) ?? 0), 0)

/** The instructions of a kernel of 32-bit sums on an architecture: a name for reports, and counts per step. */
function stepInstructions(architecture, loop) {
  if (architecture === 'sm_70') {
    return {
      additions: sum(loop, 'IMAD', 'IADD3'),
      maxima: sum(loop, 'SEL'),
      names: 'IMAD or IADD3, ISETP, SEL',
    }
  }
  // A VMNMX is two maxima. IMNMX is also used to encode the values.
  return {
    additions: sum(loop, 'IADD'),
    maxima: 2 * sum(loop, 'VMNMX') + sum(loop, 'IMNMX'),
    names: sum(loop, 'VMNMX') > 0 ? 'IADD, VMNMX' : 'IADD, IMNMX',
  }
}

/** Steps per thread in the body of a kernel's main loop; undefined for families whose loop isn't unrolled so far. */
const stepsOf = ({ family, parameters: p }) =>
  ({ mpmml: p.X * p.Y * p.S, pipelined: p.TM * p.TN * p.BK })[family.name]

/** Dynamic shared memory per block, in bytes. Other families' is static, so the compiler checks it. */
function sharedBytesOf({ family, dataType, parameters: p }) {
  if (family.name !== 'pipelined') return 0
  return p.slices * p.stages * p.BK * (p.BM + p.BN) * (dataType.name === 'float64' ? 8 : 4)
}

const table = []
const tooLarge = new Map()

/** Returns an object's functions for an architecture, and their registers by mangled name. */
function inspect(cuobjdump, object, architecture) {
  const dump = (kind) =>
    execFileSync(cuobjdump, [kind, '-arch', architecture, object], { encoding: 'utf8', maxBuffer: 1 << 30 })
  const usage = dump('-res-usage').matchAll(/Function (\S+):\s*\n\s*REG:(\d+)/g)
  return {
    functions: functionsOf(dump('-sass')),
    registers: new Map([...usage].map(([, name, count]) => [name, Number(count)])),
  }
}

function checkVariant(row, architecture, { functions, registers }) {
  const complain = (text) => problems.push(`${row.name} on ${architecture}: ${text}`)
  const main = functions.filter(({ name }) => isKernelOf(row, name))
  if (main.length === 0) return complain('no machine code')
  if (!row.automatic) return
  if (sharedBytesOf(row) > sharedMemory[architecture]) {
    tooLarge.set(row.name, [...(tooLarge.get(row.name) ?? []), architecture])
    return
  }
  const most = (count) => Math.max(...main.map(count))
  const spills = most(({ instructions }) => sum(countsOf(instructions), 'LDL', 'STL'))
  const spillsInLoop = most((code) => sum(loopOf(code), 'LDL', 'STL'))
  // 16-bit lanes are emulated here, and 64-bit values take two registers, so these kernels only have to run.
  // Skinny products wait for memory, and their blocks of 512 threads leave 128 registers to each thread.
  if (spills > 0 && row.family.name !== 'thin' && ['int32', 'float32'].includes(row.parameters.accumulator))
    complain(`registers are spilled: ${spills} accesses, ${spillsInLoop} of them in the main loop`)
  const entry = {
    registers: most(({ name }) => registers.get(name)),
    spills: spills > 0 ? `${spills}, ${spillsInLoop} in the loop` : 'none',
  }
  const steps = stepsOf(row)
  if (row.parameters.accumulator === 'int32' && steps !== undefined) {
    const loop = loopOf(main[0])
    const { additions, maxima, names } = stepInstructions(architecture, loop)
    const wide = main[0].instructions.filter(({ opcode }) => /^LDS\.(U\.)?128/.test(opcode)).length
    if (maxima < steps) complain(`${maxima} maxima for ${steps} steps`)
    if (additions < steps) complain(`${additions} additions for ${steps} steps`)
    if (wide === 0) complain('no shared load of 128 bits')
    const total = [...loop.values()].reduce((all, count) => all + count, 0)
    Object.assign(entry, { step: names, perStep: (total / steps).toFixed(2), wide })
  }
  table.push({ row, architecture, entry })
}

/** Algorithm 1 with 8 × 8 steps has as many additions as maxima: one of each per step, and per update of an operand. */
function checkMicrobenchmark(architecture, { functions }) {
  const code = functions.filter(({ name }) => /reg_reg_kernel.*5PlainI.*Li8ELi8ELi\d+E/.test(name))
  if (code.length === 0) problems.push(`there is no reg-reg with 8 × 8 steps for ${architecture}`)
  for (const { name, instructions } of code) {
    const { additions, maxima } = stepInstructions(architecture, loopOf({ instructions }))
    if (maxima > 0 && maxima % (8 * 8 + 8 + 8) === 0 && additions >= maxima && additions <= maxima + 2)
      continue
    problems.push(
      `${name} on ${architecture}: ${additions} additions and ${maxima} maxima, not 80 an iteration`,
    )
  }
}

/** Prints the max-plus variants, and architectures with equal machine code in one line. */
function printTable() {
  const merged = new Map()
  for (const { row, architecture, entry } of table.filter(({ row }) => row.semiring.name === 'max-plus')) {
    const { registers, spills, step = '—', perStep = '—', wide = '—' } = entry
    const cells = [row.name, registers, spills, step, perStep, wide].join(' | ')
    merged.set(cells, [...(merged.get(cells) ?? []), architecture])
  }
  const heads = ['GPU', 'variant', 'registers', 'spills', 'instructions of a step']
  console.log(`| ${[...heads, 'instructions per step, all', '128-bit shared loads'].join(' | ')} |`)
  console.log('|---|---|---|---|---|---|---|')
  const lines = [...merged].sort(([x], [y]) => (x < y ? -1 : 1))
  for (const [cells, names] of lines) console.log(`| ${names.join(', ')} | ${cells} |`)
  for (const [name, names] of tooLarge) {
    if (name.includes('maxplus'))
      console.log(`${name} needs more shared memory than a block has on ${names.join(', ')}.`)
  }
}

const sources = sourcesToCompile()
const ofRuntime = runtimeSources()
if (sources.length + ofRuntime.length === 0) {
  say(`--only must be part of a source's name, but it is ${options.only}`)
  process.exit(2)
}
const bin = join(olderToolkit(), 'bin')
const folder = mkdtempSync(join(tmpdir(), 'mpmml-older-gpus-'))
try {
  generate(folder)
  const compiled = await compileAll(join(bin, 'nvcc'), folder, sources)
  await compileAll(join(bin, 'nvcc'), folder, ofRuntime)
  for (const architecture of architectures) {
    for (const { file, rows } of compiled) {
      const inspected = inspect(join(bin, 'cuobjdump'), objectOf(folder, file), architecture)
      for (const row of rows) checkVariant(row, architecture, inspected)
      if (file === 'microbench_reg_reg.cu') checkMicrobenchmark(architecture, inspected)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
printTable()
for (const problem of problems) say(problem)
say(
  `${sources.length + ofRuntime.length} sources for ${architectures.join(', ')}: ${problems.length} problems`,
)
process.exitCode = problems.length > 0 ? 1 : 0
