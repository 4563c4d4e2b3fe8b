/** Products of arrays: one, several at once, and groups. */
import { setTimeout as sleep } from 'node:timers/promises'
import { algebras } from './algebra.mjs'
import { wrongError, wrongIn, wrongRefusal } from './check.mjs'
import { gapsChanged, place, sameBits } from './layouts.mjs'
import { describe, drawProblem, narrowed, optionsOf } from './problem.mjs'

/** Error of a wrong result or a wrong refusal. */
export class Wrong extends Error {}

/** Draws the backend and devices of a call, as options. Fake devices exist until `leave` is called. */
export function drawPlace(random, { addon, backends, pretended, devices, hasCuda }) {
  const backend = random.pick(backends)
  const where = { backend }
  if (devices !== 'one' && backend !== 'webgpu' && (backend === 'cuda' || !hasCuda) && random.chance(0.4)) {
    const count = random.integer(2, 5)
    if (pretended) addon.pretendDevices(count)
    if (backend === 'cpu') delete where.backend
    where.devices = pretended && random.chance(0.5) ? [count - 1, 0] : 'all'
  }
  return { where, backend, leave: () => addon.pretendDevices(0) }
}

/**
 * Draws the name of a kernel for the algebra. Kernels of the laboratory are drawn only for small products.
 */
export function drawVariant(random, { variants }, backend, { algebra, batch, m, k, n }) {
  if (!random.chance(0.3)) return undefined
  const isSmall = batch * m * k * n < 2e7
  const fitting = variants.filter(
    (variant) =>
      variant.backend === backend &&
      variant.semiring === algebra.semiring &&
      variant.dtype === algebra.dtype &&
      (variant.automatic || isSmall),
  )
  return fitting.length > 0 ? random.pick(fitting).name : undefined
}

/** The arrays of a problem, as a call takes them. */
function handOver(random, problem) {
  const operand = (source) => {
    const narrow = random.chance(0.3) ? narrowed(problem.algebra, source) : null
    return place(random, narrow ?? source).matrix
  }
  const out = problem.initial ? place(random, problem.initial) : null
  const { accumulate, c0 } = problem
  // Sometimes both operands are the same array.
  const a = operand(problem.a)
  return {
    a,
    b: problem.b === problem.a ? a : operand(problem.b),
    out,
    before: out?.whole.slice(),
    options: optionsOf(problem),
    own: {
      ...(out ? { out: out.matrix } : {}),
      ...(accumulate === 'out' ? { accumulate: random.chance(0.5) ? true : out.matrix } : {}),
      ...(accumulate === 'a matrix' ? { accumulate: place(random, c0).matrix } : {}),
    },
  }
}

/** Fails unless an error has left `out` unchanged. */
function requireUnchanged({ out, before }, code) {
  if (out && code !== 'ERR_MPMML_ABORTED' && code !== 'ERR_MPMML_CUDA' && !sameBits(out.whole, before))
    throw new Wrong(`out has changed, although the product ended with ${code}`)
}

/** Fails if an element inside of the structure isn't an element of max-times. */
export function requireNegativeFound({ hasNegative, structure }) {
  // With a structure, the element may meet no other element.
  if (hasNegative && !structure) throw new Wrong('an element is negative, but there is a result')
}

function requireRight(context, problem, handed, result, random) {
  requireNegativeFound(problem)
  const wrong = wrongIn(problem, result, random, context.tally, context.budget)
  if (wrong !== undefined)
    throw new Wrong(`${wrong}; by ${result.variant}, ${result.arithmetic}, ${result.backend}`)
  if (handed.out && gapsChanged(handed.out, handed.before))
    throw new Wrong(`what is between the elements of out was written, by ${result.variant}`)
}

/** A signal that is aborted now, soon or never. */
function drawAbort(random) {
  if (!random.chance(0.05)) return { options: {}, during: async () => {} }
  const controller = new AbortController()
  const when = random.pick(['before', 'at once', 'soon'])
  if (when === 'before') controller.abort()
  return {
    options: { signal: controller.signal },
    may: true,
    async during() {
      if (when === 'soon') await sleep(random.integer(0, 3))
      controller.abort()
    },
  }
}

/**
 * Computes one product. `alone`: no other work runs, so its allocations may be made to fail. `chosen`: the
 * requested kernel, if any.
 */
async function oneProduct(context, random, place, alone, chosen) {
  const { library, addon, tally } = context
  const algebra =
    chosen && algebras.find(({ semiring, dtype }) => semiring === chosen.semiring && dtype === chosen.dtype)
  const problem = drawProblem(random, context.limits, algebra)
  const variant = chosen?.name ?? drawVariant(random, context, place.backend, problem)
  const handed = handOver(random, problem)
  const abort = drawAbort(random)
  // Fake devices that are the CPU write results while they compute, so a failing product changes them.
  const refuses = alone && (place.backend === 'cuda' || !place.where.devices) && random.chance(0.05)
  const options = { ...handed.options, ...handed.own, ...place.where, ...abort.options }
  if (variant) options.variant = variant
  const what = `${describe(problem)}; ${JSON.stringify({ ...place.where, variant })}${refuses ? ', memory is refused' : ''}`
  const isSync =
    place.backend !== 'webgpu' &&
    !abort.may &&
    random.chance(0.15) &&
    problem.batch * problem.m * problem.k * problem.n < 1e6
  if (refuses) addon.failAllocation(random.integer(1, 8), random.pick([1, 1, 1000]))
  try {
    const running = isSync
      ? (async () => library.mpmmSync(handed.a, handed.b, options))()
      : library.mpmm(handed.a, handed.b, options)
    running.catch(() => {})
    await abort.during()
    const result = await running
    if (refuses) addon.failAllocation(0)
    requireRight(context, problem, handed, result, random)
    context.computed.add(result.variant)
  } catch (error) {
    if (refuses) addon.failAllocation(0)
    if (error instanceof Wrong) throw new Wrong(`${what}: ${error.message}`)
    const { code } = error
    const wrong = wrongError(problem, error, random, context.budget, { variant, aborts: abort.may, refuses })
    if (wrong !== undefined) throw new Wrong(`${what}: ${wrong}`)
    try {
      requireUnchanged(handed, code)
    } catch (changed) {
      throw new Wrong(`${what}: ${changed.message}`)
    }
    tally.refused(code)
  }
}

export async function productCase(context, random, chosen) {
  const place = chosen ? { where: {}, backend: chosen.backend, leave: () => {} } : drawPlace(random, context)
  const limits = { ...context.limits }
  const before = process.env.MPMML_DEVICE_MEMORY_MIB
  // Makes the product be computed in blocks.
  if (place.backend !== 'cpu' && random.chance(0.15)) {
    process.env.MPMML_DEVICE_MEMORY_MIB = String(
      place.backend === 'cuda' ? random.size(32, 512) : random.size(1, 16),
    )
    limits.large = 0.4
  }
  try {
    await oneProduct({ ...context, limits }, random, place, true, chosen)
  } finally {
    if (before === undefined) delete process.env.MPMML_DEVICE_MEMORY_MIB
    else process.env.MPMML_DEVICE_MEMORY_MIB = before
    place.leave()
  }
}

/** Computes several products concurrently. */
export async function crowdCase(context, random) {
  const place = drawPlace(random, context)
  try {
    const ended = await Promise.allSettled(
      Array.from({ length: random.integer(2, 8) }, () => oneProduct(context, random.fork(), place, false)),
    )
    for (const { reason } of ended) if (reason) throw reason
  } finally {
    place.leave()
  }
}

/** A group of small products. */
export async function groupCase(context, random) {
  const { library, tally } = context
  const place = drawPlace(random, context)
  const limits = { ...context.limits, elements: 20_000, steps: 1e6 }
  const first = drawProblem(random, limits)
  const problems = [first]
  const count = random.size(1, 60)
  const small = ({ batch, m, k, n }) => batch * m * k * n < 1e7
  while (problems.length < count) {
    const next = drawProblem(random, limits, first.algebra)
    if (small(next)) problems.push({ ...next, overflow: first.overflow, requested: first.requested })
  }
  const handed = problems.map((problem) => handOver(random, problem))
  // The group's structure applies to products without a structure.
  const shared = random.chance(0.3) ? first.structure : undefined
  const options = { ...handed[0].options, ...place.where }
  delete options.structure
  if (shared) options.structure = shared
  const own = problems.map(({ structure }) => structure)
  for (const problem of problems) problem.structure ??= shared
  const what = `a group of ${problems.length}, the first ${describe(first)}; ${JSON.stringify(place.where)}`
  try {
    const results = await library.mpmmGrouped(
      own.map((structure, index) => ({
        a: handed[index].a,
        b: handed[index].b,
        ...handed[index].own,
        ...(structure ? { structure } : {}),
      })),
      options,
    )
    for (const [index, result] of results.entries()) {
      try {
        requireRight(context, problems[index], handed[index], result, random)
      } catch (error) {
        if (!(error instanceof Wrong)) throw error
        throw new Wrong(`products[${index}], ${describe(problems[index])}: ${error.message}`)
      }
    }
  } catch (error) {
    if (error instanceof Wrong) throw new Wrong(`${what}: ${error.message}`)
    const index = Number(/^products\[(\d+)\]/.exec(error.message)?.[1] ?? -1)
    const wrong =
      index < 0 ? error.message : wrongRefusal(problems[index], error, random, Math.min(context.budget, 1e6))
    if (wrong !== undefined) throw new Wrong(`${what}: products[${index}]: ${wrong}`)
    tally.refused(error.code)
  } finally {
    place.leave()
  }
}
