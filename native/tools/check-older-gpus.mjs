// Checks the build for Maxwell, Pascal and Volta (sm_52, sm_61, sm_70), which CUDA 13 no longer supports: fetches CUDA
// 12.4 from Debian's non-free packages, builds the whole addon for them, and checks the machine code of the variants
// that the planner takes and of a microbenchmark. Run it by hand on Debian. It takes some ten minutes and touches
// nothing that is installed.
//
//   node native/tools/check-older-gpus.mjs [folder]
//
// The folder (by default mpmml-older-gpus in the system's folder for temporary files) keeps the toolkit and the build.
// Prints a table; the exit status is 1 if something isn't as it should be.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sourceFiles } from '../variants/files.mjs'
import { allRows } from '../variants/rows.mjs'
import { countsOf, functionsOf, loopOf } from './sass.mjs'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const folder = resolve(process.argv[2] ?? join(tmpdir(), 'mpmml-older-gpus'))
const toolkit = join(folder, 'toolkit')
const architectures = ['sm_52', 'sm_61', 'sm_70']

/**
 * Shared memory that a block can have, in bytes: CUDA C++ Programming Guide, "Technical Specifications per Compute
 * Capability".
 */
const sharedMemory = { sm_52: 48 << 10, sm_61: 48 << 10, sm_70: 96 << 10 }

const say = (text) => console.error(`check-older-gpus: ${text}`)
const fail = (text) => {
  say(text)
  process.exit(1)
}

/** The Debian archive that this machine's apt uses, and the keyring that it is signed with. */
function debianArchive() {
  const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const parts = '/etc/apt/sources.list.d'
  const names = existsSync(parts) ? readdirSync(parts) : []
  const stanzas = names
    .filter((name) => name.endsWith('.sources'))
    .flatMap((name) => read(join(parts, name)).split(/\n\s*\n/))
    .map((stanza) => ({
      uri: /^URIs:\s*(\S+)/m.exec(stanza)?.[1],
      keyring: /^Signed-By:\s*(\/\S+)/m.exec(stanza)?.[1],
    }))
  const lines = [
    '/etc/apt/sources.list',
    ...names.filter((name) => name.endsWith('.list')).map((name) => join(parts, name)),
  ]
    .flatMap((path) => read(path).split('\n'))
    .map((line) => /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)/.exec(line))
    .filter(Boolean)
    .map(([, options, uri]) => ({ uri, keyring: /signed-by=(\S+)/.exec(options ?? '')?.[1] }))
  const archive = [...stanzas, ...lines].find(({ uri }) => /\/debian\/?$/.test(uri ?? ''))
  if (!archive) fail("apt's sources name no Debian archive: this script runs on Debian")
  return { keyring: '/usr/share/keyrings/debian-archive-keyring.gpg', ...archive }
}

/** Downloads and unpacks the parts of a toolkit, with a separate apt state. */
function fetchToolkit() {
  say(`fetching CUDA 12.4 (about 1 GB) into ${folder}`)
  const apt = join(folder, 'apt')
  for (const part of ['lists/partial', 'cache/archives/partial', 'sources', 'state', 'packages']) {
    mkdirSync(join(apt, part), { recursive: true })
  }
  const { uri, keyring } = debianArchive()
  writeFileSync(
    join(apt, 'sources', 'trixie.sources'),
    `Types: deb\nURIs: ${uri}\nSuites: trixie\nComponents: main contrib non-free\nSigned-By: ${keyring}\n`,
  )
  writeFileSync(join(apt, 'state', 'status'), '')
  const options = [
    ['Dir::Etc::sourcelist', '/dev/null'],
    ['Dir::Etc::sourceparts', join(apt, 'sources')],
    ['Dir::State::Lists', join(apt, 'lists')],
    ['Dir::State::status', join(apt, 'state', 'status')],
    ['Dir::Cache', join(apt, 'cache')],
    ['APT::Sandbox::User', 'root'],
  ].map(([name, value]) => `-o${name}=${value}`)
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'] }
  execFileSync('apt-get', [...options, '-qq', 'update'], quiet)
  const packages = join(apt, 'packages')
  execFileSync('apt-get', [...options, '-qq', 'download', 'nvidia-cuda-toolkit', 'nvidia-cuda-dev'], {
    ...quiet,
    cwd: packages,
  })
  const unpacked = join(apt, 'unpacked')
  for (const name of readdirSync(packages))
    execFileSync('dpkg', ['-x', join(packages, name), unpacked], quiet)

  const usr = join(unpacked, 'usr')
  const parts = [
    ...['bin2c', 'cudafe++', 'fatbinary', 'nvlink', 'ptxas', 'cuobjdump', 'nvdisasm'].map((name) => [
      join('bin', name),
      join('bin', name),
    ]),
    ['lib/nvidia-cuda-toolkit/bin/nvcc', 'bin/nvcc'],
    ['lib/nvidia-cuda-toolkit/bin/crt', 'bin/crt'],
    ['lib/nvidia-cuda-toolkit/bin/cicc', 'nvvm/bin/cicc'],
    ['lib/nvidia-cuda-toolkit/libdevice', 'nvvm/libdevice'],
    ['include', 'include'],
    ...['libcudart_static.a', 'libcudadevrt.a', 'libculibos.a'].map((name) => [
      join('lib/x86_64-linux-gnu', name),
      join('lib64', name),
    ]),
  ]
  for (const [from, to] of parts)
    cpSync(join(usr, from), join(toolkit, to), { recursive: true, dereference: false })
  writeFileSync(
    join(toolkit, 'bin', 'nvcc.profile'),
    'TOP = $(_HERE_)/..\n' +
      'NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice\n' +
      'PATH += $(TOP)/nvvm/bin:$(_HERE_):\n' +
      'INCLUDES += "-I$(TOP)/include" $(_SPACE_)\n' +
      'LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"\n',
  )
  // CMake also looks for the shared runtime, whose file is in another package. The build links the static one.
  symlinkSync('libcudart_static.a', join(toolkit, 'lib64', 'libcudart.so'))
  rmSync(apt, { recursive: true })
}

function build() {
  say(`building for ${architectures.join(', ')}`)
  const { status } = spawnSync(process.execPath, [join(root, 'native', 'build.mjs')], {
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      CUDACXX: join(toolkit, 'bin', 'nvcc'),
      CUDAHOSTCXX: process.env.CUDAHOSTCXX ?? 'g++-12',
      MPMML_CUDA: 'ON',
      MPMML_LAB: 'ON',
      MPMML_CUDA_ARCHS: architectures.map((name) => name.slice(3)).join(' '),
      MPMML_BUILD_DIR: join(folder, 'build'),
    },
  })
  if (status !== 0) fail('the build failed')
}

/** The object of a generated source file. */
const objectOf = (file) =>
  ['mpmml_cuda', 'mpmml_lab']
    .map((layer) =>
      join(folder, 'build', 'CMakeFiles', `${layer}.dir`, 'generated', 'generated', `${file}.o`),
    )
    .find(existsSync)

/** The source file that each row is compiled in. */
const fileOf = new Map(
  sourceFiles(allRows()).flatMap(({ file, rows }) => rows.map(({ name }) => [name, file])),
)

/** Whether a mangled name is that of a row's kernel: compares template arguments, arithmetics and semiring. */
function isKernelOf({ family, expression, semiring }, mangled) {
  const [, template, list] = /^(\w+)<([^>]*)>::/.exec(expression)
  const named = (name) => `${name.length}${name}I`
  const values = list.split(', ').map((value) => `Li${value}E`)
  const arithmetics = [...expression.matchAll(/(\w+)<\w+<\w+>>/g)].map(([, name]) => name)
  return (
    mangled.includes(`${family.name}_kernel`) &&
    mangled.includes(`${named(template)}${values.join('')}E`) &&
    arithmetics.some((name) => mangled.includes(named(name))) &&
    mangled.includes(named(semiring.struct))
  )
}

const inspect = (options, file) =>
  execFileSync(join(toolkit, 'bin', 'cuobjdump'), [...options, file], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })

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

/** Steps per thread in the body of a kernel's main loop. */
const stepsOf = ({ family, parameters: p }) =>
  family.name === 'mpmml' ? p.X * p.Y * p.S : p.TM * p.TN * p.BK

/** Dynamic shared memory per block, in bytes. The mpmml family's is static, so the compiler checks it. */
function sharedBytesOf({ family, dataType, parameters: p }) {
  const bytes = dataType.name === 'float64' ? 8 : 4
  if (family.name === 'pipelined') return p.slices * p.stages * p.BK * (p.BM + p.BN) * bytes
  // Its lines are four elements longer than they are wide (native/cuda/kernels/tensor.cuh).
  if (family.name === 'tensor') return p.stages * p.BK * (p.BM + 4 + p.BN + 4) * bytes
  return 0
}

const problems = []
const table = []
const tooLarge = new Map()

function checkVariant(row, architecture) {
  if (sharedBytesOf(row) > sharedMemory[architecture]) {
    tooLarge.set(row.name, [...(tooLarge.get(row.name) ?? []), architecture])
    return
  }
  const file = objectOf(fileOf.get(row.name))
  const main = functionsOf(inspect(['-sass', '-arch', architecture], file)).filter(({ name }) =>
    isKernelOf(row, name),
  )
  const registers = [
    ...inspect(['-res-usage', '-arch', architecture], file).matchAll(/Function (\S+):\s*\n\s*REG:(\d+)/g),
  ]
    .filter(([, name]) => isKernelOf(row, name))
    .map(([, , count]) => Number(count))
  const spills = Math.max(0, ...main.map(({ instructions }) => sum(countsOf(instructions), 'LDL', 'STL')))
  const spillsInLoop = Math.max(0, ...main.map((code) => sum(loopOf(code), 'LDL', 'STL')))
  const complain = (text) => problems.push(`${row.name} on ${architecture}: ${text}`)
  if (main.length === 0) complain('no machine code')
  // 16-bit lanes are emulated here, and 64-bit values take two registers, so these kernels only have to run.
  const promises = ['int32', 'float32'].includes(row.parameters.accumulator)
  if (spills > 0 && promises)
    complain(`registers are spilled: ${spills} accesses, ${spillsInLoop} of them in the main loop`)
  const entry = {
    architecture,
    name: row.name,
    registers: Math.max(...registers),
    spills: spills > 0 ? `${spills}, ${spillsInLoop} in the loop` : 'none',
  }
  if (row.parameters.accumulator === 'int32' && main.length > 0) {
    const loop = loopOf(main[0])
    const { additions, maxima, names } = stepInstructions(architecture, loop)
    const wide = main[0].instructions.filter(({ opcode }) => /^LDS\.(U\.)?128/.test(opcode)).length
    const steps = stepsOf(row)
    if (maxima < steps) complain(`${maxima} maxima for ${steps} steps`)
    if (additions < steps) complain(`${additions} additions for ${steps} steps`)
    if (wide === 0) complain('no shared load of 128 bits')
    const total = [...loop.values()].reduce((all, count) => all + count, 0)
    Object.assign(entry, { step: names, perStep: (total / steps).toFixed(2), wide })
  }
  table.push(entry)
}

function checkMicrobenchmark(architecture) {
  // The only kernel needed of reg_reg.cuh: Algorithm 1 with 8 × 8 steps.
  const code = functionsOf(
    inspect(['-sass', '-arch', architecture], objectOf('microbench_reg_reg.cu')),
  ).filter(({ name }) => /reg_reg_kernel.*5PlainI.*Li8ELi8ELi\d+E/.test(name))
  if (code.length === 0) problems.push(`there is no reg-reg with 8 × 8 steps for ${architecture}`)
  const iterations = 4
  const operations = iterations * (8 * 8 + 8 + 8)
  for (const { name, instructions } of code) {
    const { additions, maxima } = stepInstructions(architecture, loopOf({ instructions }))
    if (maxima !== operations || additions < operations || additions > operations + 2) {
      problems.push(
        `${name} on ${architecture}: ${additions} additions and ${maxima} maxima, not ${operations} each`,
      )
    }
  }
}

if (!existsSync(join(toolkit, 'bin', 'nvcc.profile'))) fetchToolkit()
build()
for (const architecture of architectures) {
  for (const row of allRows()) {
    if (row.family.backend === 'cuda' && row.automatic) checkVariant(row, architecture)
  }
  checkMicrobenchmark(architecture)
}
console.log(
  '| GPU | variant | registers | spills | instructions per step | instructions per step, all | 128-bit shared loads |',
)
console.log('|---|---|---|---|---|---|---|')
for (const row of table.filter(({ name }) => name.includes('maxplus'))) {
  console.log(
    `| ${row.architecture} | ${row.name} | ${row.registers} | ${row.spills} | ${row.step ?? '—'} | ${row.perStep ?? '—'} | ${row.wide ?? '—'} |`,
  )
}
for (const [name, where] of tooLarge) {
  if (name.includes('maxplus'))
    console.log(`${name} needs more shared memory than a block has on ${where.join(', ')}.`)
}
for (const problem of problems) say(problem)
process.exitCode = problems.length > 0 ? 1 : 0
