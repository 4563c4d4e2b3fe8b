// Random calls of the library, of all kinds that there are, whose results are compared with the definition:
//
//   npm run fuzz -- [--seed N] [--seconds S] [--backend cpu|cuda|webgpu|auto] [--devices one|pretended|all] [--processes N]
//   npm run fuzz -- --seed N --case M [the same options]     one case again
//   npm run fuzz -- --variants TEXT                          products by each kernel whose name contains TEXT
//
// Uses the library as it was built (dist/ and build/), and needs only Node: node native/tools/fuzz.mjs. docs/contributing.md
// says more. Exit status 1 if anything is wrong; each failure prints the line that repeats it.
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { keepWebGpu } from './fuzz/algebra.mjs'
import { chainCase } from './fuzz/chains.mjs'
import { Tally } from './fuzz/check.mjs'
import { closureCase } from './fuzz/closures.mjs'
import { pathCase } from './fuzz/paths.mjs'
import { crowdCase, groupCase, productCase, Wrong } from './fuzz/products.mjs'
import { randomOf } from './fuzz/random.mjs'
import { residentCase } from './fuzz/residents.mjs'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const fail = (message, status = 2) => {
  console.error(`mpmml: ${message}`)
  process.exit(status)
}

function readOptions() {
  const text = { type: 'string' }
  let values
  try {
    const options = {
      seed: text,
      seconds: text,
      case: text,
      backend: text,
      devices: text,
      processes: text,
      only: text,
      variants: text,
      cases: text,
    }
    values = parseArgs({ options }).values
  } catch ({ message }) {
    fail(message.split('\n')[0])
  }
  const count = (name, value, most = 2 ** 31 - 1) => {
    if (value === undefined) return undefined
    if (/^\d+$/.test(value) && Number(value) <= most) return Number(value)
    return fail(`--${name} must be a whole number up to ${most}, not ${value}`)
  }
  const choice = (name, value, choices) => {
    if (choices.includes(value)) return value
    return fail(`--${name} can be ${choices.join(', ')}, not ${value}`)
  }
  const { variants } = values
  return {
    seed: count('seed', values.seed) ?? Math.floor(Math.random() * 2 ** 31),
    seconds: count('seconds', values.seconds) ?? 60,
    index: count('case', values.case),
    backend: choice('backend', values.backend ?? 'auto', ['auto', 'cpu', 'cuda', 'webgpu']),
    devices: choice('devices', values.devices ?? 'pretended', ['one', 'pretended', 'all']),
    processes: count('processes', values.processes, 1024) ?? 1,
    only: choice('only', values.only ?? (variants === undefined ? 'all' : 'product'), [
      'all',
      ...Object.keys(cases),
    ]),
    variants,
    cases: count('cases', values.cases) ?? (variants === undefined ? undefined : CASES_OF_VARIANT),
  }
}

/** The number of products that each kernel of --variants computes. */
const CASES_OF_VARIANT = 24

/** Relative frequency of each kind of case. */
const cases = {
  product: { run: productCase, weight: 40 },
  crowd: { run: crowdCase, weight: 8 },
  group: { run: groupCase, weight: 8 },
  resident: { run: residentCase, weight: 24 },
  chain: { run: chainCase, weight: 16 },
  closure: { run: closureCase, weight: 8 },
  path: { run: pathCase, weight: 8 },
}

function drawCase(random, only) {
  const chosen = Object.entries(cases).filter(([name]) => only === 'all' || name === only)
  let left = random.share() * chosen.reduce((sum, [, { weight }]) => sum + weight, 0)
  for (const [name, one] of chosen) {
    left -= one.weight
    if (left < 0) return [name, one.run]
  }
  return [chosen[0][0], chosen[0][1].run]
}

async function newContext({ backend, devices, processes, variants: text }) {
  const built = (name) => import(pathToFileURL(join(root, 'dist', 'lib', name)).href)
  if (!existsSync(join(root, 'dist', 'lib', 'index.js'))) fail('the library is not built: run npm run build')
  const library = await built('index.js')
  const algebra = await built('algebra.js')
  const graph = await built('graph.js')
  const { addon } = await built('native.js')
  const { reason, devices: gpus } = library.info().cuda
  const hasCuda = reason === ''
  if (backend === 'cuda' && !hasCuda) fail(`--backend cuda needs a GPU, and none can be used: ${reason}`, 1)
  if (devices === 'all' && (!hasCuda || gpus.length < 2)) fail('--devices all needs several GPUs', 1)
  const backends = backend === 'auto' ? (hasCuda ? ['cuda', 'cuda', 'cuda', 'cpu'] : ['cpu']) : [backend]
  const onGpu = backends.includes('cuda')
  const byWebGpu = backend === 'webgpu'
  if (byWebGpu) {
    keepWebGpu(library.variants())
    process.env.MPMML_WEBGPU_FALLBACK ??= '1'
  }
  if (onGpu && processes > 1) await shareMemory(library, processes)
  const variants = library.variants()
  const inTurn =
    text === undefined
      ? undefined
      : variants.filter(({ name, backend }) => name.includes(text) && backends.includes(backend))
  if (inTurn?.length === 0)
    fail(
      `no variant of ${[...new Set(backends)].join(', ')} has a name that contains "${text}": npx mpmml variants lists all`,
    )
  return {
    library,
    algebra,
    graph,
    addon,
    hasCuda,
    backends,
    devices,
    pretended: devices === 'pretended',
    variants,
    inTurn,
    computed: new Set(),
    // Products are small if each kernel is tested by itself, possibly under a sanitizer.
    limits: {
      ...(inTurn
        ? { elements: 1e5, steps: 2e7 }
        : { elements: onGpu ? 8e6 : 3e6, steps: onGpu ? 3000 ** 3 : 1000 ** 3 }),
      // Software adapters take a second for 10^9 steps.
      ...(byWebGpu && { structures: false, elements: 3e5, steps: 1e8 }),
    },
    budget: 6e6,
    tally: new Tally(),
  }
}

/** Limits each process to its share of the GPU's memory. */
async function shareMemory(library, processes) {
  const device = await library.openDevice({ backend: 'cuda' })
  const { total } = device.memory()
  await device.close()
  process.env.MPMML_DEVICE_MEMORY_MIB ??= String(Math.floor((0.8 * total) / processes / 2 ** 20))
}

/** Returns the command that repeats a case. */
const again = ({ seed, backend, devices, only, variants }, index) =>
  [
    ...['MPMML_CPU_ISA', 'MPMML_NUM_THREADS', 'MPMML_DEVICE_MEMORY_MIB']
      .filter((name) => process.env[name])
      .map((name) => `${name}=${process.env[name]}`),
    `npm run fuzz -- --seed ${seed} --case ${index}`,
    ...(backend === 'auto' ? [] : [`--backend ${backend}`]),
    ...(devices === 'pretended' ? [] : [`--devices ${devices}`]),
    ...(only === 'all' || variants !== undefined ? [] : [`--only ${only}`]),
    ...(variants === undefined ? [] : [`--variants '${variants}'`]),
  ].join(' ')

async function runCase(context, options, index) {
  const random = randomOf(options.seed, index)
  const [name, run] = drawCase(random, options.only)
  const { inTurn } = context
  try {
    await run(context, random, inTurn?.[index % inTurn.length])
    return true
  } catch (error) {
    const what = error instanceof Wrong ? error.message : `${error?.stack ?? error}`
    console.log(`WRONG: ${name}: ${what}\n  again: ${again(options, index)}`)
    return false
  }
}

function report({ elements, steps, products, kinds, refusals }, wrong, seconds) {
  for (const [kind, count] of [...kinds].sort()) console.log(`${kind}: ${count} elements`)
  const ended = [...refusals].map(([code, count]) => `${count} ${code}`).join(', ')
  if (ended) console.log(`ended as they may: ${ended}`)
  console.log(
    `${elements} elements of ${products} products in ${steps} steps, ${Math.round(seconds)} s: ` +
      (wrong === 0 ? 'all are right' : `${wrong} cases are WRONG`),
  )
}

/** Runs cases in this process, from `first` on, and reports each to the parent. */
async function work(options, first) {
  const context = await newContext(options)
  const end = performance.now() + options.seconds * 1000
  let wrong = 0
  for (let index = first; index === first || performance.now() < end; index++) {
    process.send({ index })
    if (!(await runCase(context, options, index))) wrong++
  }
  const { elements, steps, products, kinds, refusals } = context.tally
  const tally = { elements, steps, products, kinds: [...kinds], refusals: [...refusals] }
  process.send({ tally, wrong }, () => process.exit())
}

/** Milliseconds after which a case counts as hanging. */
const PATIENCE = 180_000

/**
 * Runs a process until its time is over. If the process ends early or hangs, this is a failure, and another
 * process continues with the next case.
 */
function supervise(options, total, first = 0) {
  const end = performance.now() + options.seconds * 1000
  const given = { ...options, first }
  const child = fork(fileURLToPath(import.meta.url), ['--child', JSON.stringify(given)], { stdio: 'inherit' })
  let index = first
  let done = false
  let hangs
  const watch = () => {
    clearTimeout(hangs)
    hangs = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
  }
  watch()
  return new Promise((resolve) => {
    child.on('message', (news) => {
      watch()
      if (news.index !== undefined) index = news.index
      if (!news.tally) return
      done = true
      total.wrong += news.wrong
      for (const name of ['elements', 'steps', 'products']) total.tally[name] += news.tally[name]
      for (const name of ['kinds', 'refusals'])
        for (const [key, count] of news.tally[name])
          total.tally[name].set(key, (total.tally[name].get(key) ?? 0) + count)
    })
    child.on('exit', (status, signal) => {
      clearTimeout(hangs)
      if (done || (status === 1 && index === first)) return resolve()
      total.wrong++
      const how =
        signal === 'SIGKILL'
          ? `took more than ${PATIENCE / 1000} s`
          : `ended the process by ${signal ?? status}`
      console.log(`WRONG: a case ${how}\n  again: ${again(options, index)}`)
      const seconds = Math.floor((end - performance.now()) / 1000)
      resolve(seconds > 0 ? supervise({ ...options, seconds }, total, index + 1) : undefined)
    })
  })
}

async function main() {
  const options = readOptions()
  const started = performance.now()
  if (options.index !== undefined || options.cases !== undefined) {
    const context = await newContext(options)
    const first = options.index ?? 0
    const count = options.index === undefined ? options.cases * (context.inTurn?.length ?? 1) : 1
    let wrong = 0
    for (let index = first; index < first + count; index++)
      if (!(await runCase(context, options, index))) wrong++
    const idle = (context.inTurn ?? []).filter(({ name }) => !context.computed.has(name))
    for (const { name } of idle) console.log(`${name}: took none of its products`)
    report(context.tally, wrong, (performance.now() - started) / 1000)
    process.exit(wrong === 0 ? 0 : 1)
  }
  await newContext(options)
  const total = { tally: new Tally(), wrong: 0 }
  console.log(
    `mpmml: seed ${options.seed}, ${options.processes} processes of ${availableParallelism()} cores`,
  )
  await Promise.all(
    Array.from({ length: options.processes }, (_, nth) =>
      supervise({ ...options, seed: options.seed + nth }, total),
    ),
  )
  report(total.tally, total.wrong, (performance.now() - started) / 1000)
  process.exit(total.wrong === 0 && total.tally.elements > 0 ? 0 : 1)
}

if (process.argv[2] === '--child') {
  const { first, ...options } = JSON.parse(process.argv[3])
  await work(options, first)
} else {
  await main()
}
