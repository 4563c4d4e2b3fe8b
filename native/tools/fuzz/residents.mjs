/** Products of matrices on a device, repeated with the same operands, so that cached packings are reused. */
import { setTimeout as sleep } from 'node:timers/promises'
import { wrongError, wrongIn } from './check.mjs'
import { place, sameBits } from './layouts.mjs'
import { asMatrix, asResult } from './mirror.mjs'
import { describe, drawAuxiliary, drawOverflow, drawProblem, narrowed, optionsOf } from './problem.mjs'
import { drawPlace, drawVariant, requireNegativeFound, Wrong } from './products.mjs'

export async function residentCase(context, random) {
  const drawn = drawPlace(random, context)
  const where = JSON.stringify(drawn.where)
  await onDevice(context, drawn, (device) => products(context, random, device, where))
}

/** Runs `use` on a device, and checks that no memory remains allocated. */
export async function onDevice({ library, addon }, { where, leave }, use) {
  const device = await library.openDevice(where)
  try {
    await use(device)
    // Disposed matrices retain their memory until the device is idle.
    const last = await device.full([1, 1], 0)
    await last.download()
    last.dispose()
    // The thread of WebGPU reports its memory later.
    if (device.backend === 'webgpu') await sleep(100)
    const { used } = device.memory()
    if (used !== 0) throw new Wrong(`${used} bytes are used after all matrices were disposed`)
  } finally {
    addon.failAllocation(0)
    await device.close()
    leave()
  }
}

async function products(context, random, device, where) {
  const problem = drawProblem(random, context.limits)
  const { algebra } = problem
  const created = []
  const upload = async (source) => {
    const matrix = await device.upload(place(random, source).matrix)
    created.push(matrix)
    return matrix
  }
  const operand = async (source, there, mayBeNarrow = true) => {
    const given = (mayBeNarrow && random.chance(0.2) && narrowed(algebra, source)) || source
    return there ? upload(given) : place(random, given).matrix
  }
  const first = random.chance(0.8)
  const a = await operand(problem.a, first)
  const b = await operand(problem.b, !first || random.chance(0.8))
  const out = problem.initial ? await upload(problem.initial) : undefined
  const c0 =
    problem.accumulate === 'a matrix' ? await operand(problem.c0, random.chance(0.5), false) : undefined
  for (let round = random.integer(1, 3); round > 0; round--) {
    const variant = drawVariant(random, context, device.backend, problem)
    const refuses = random.chance(0.08)
    const options = {
      ...optionsOf(problem),
      ...(out ? { out } : {}),
      ...(problem.accumulate === 'out' ? { accumulate: true } : c0 ? { accumulate: c0 } : {}),
      ...(variant ? { variant } : {}),
    }
    const what = `${describe(problem)}; ${where} ${variant ?? ''}${refuses ? ', memory is refused' : ''}`
    if (refuses) context.addon.failAllocation(random.integer(1, 8), random.pick([1, 1, 1000]))
    const { result, error } = await context.library.mpmm(a, b, options).then(
      (result) => ({ result }),
      (error) => ({ error }),
    )
    context.addon.failAllocation(0)
    const now = out ? asMatrix(await out.download()) : null
    const wrong = error
      ? wrongFailure(context, random, { problem, error, variant, refuses, now })
      : await wrongResult(context, random, { problem, result, now })
    if (wrong !== undefined) throw new Wrong(`${what}: ${wrong}`)
    if (now) problem.initial = now
    if (problem.accumulate === 'out') problem.c0 = now
    // Repeats the product with another overflow policy.
    problem.overflow = drawOverflow(random, algebra, true)
    problem.requested = drawAuxiliary(random, algebra)
  }
  for (const matrix of created) matrix.dispose()
}

function wrongFailure(context, random, { problem, error, variant, refuses, now }) {
  const wrong = wrongError(problem, error, random, context.budget, { variant, refuses })
  if (wrong !== undefined) return wrong
  context.tally.refused(error.code)
  if (now && !sameBits(now.data, problem.initial.data))
    return `out has changed, although the product ended with ${error.code}`
  return undefined
}

/** Downloads and disposes the requested auxiliary outputs. */
export async function downloaded(result, requested) {
  const beside = {}
  for (const name of requested) {
    beside[name] = await result[name].download()
    result[name].dispose()
  }
  return beside
}

async function wrongResult(context, random, { problem, result, now }) {
  requireNegativeFound(problem)
  const c = now ? asResult(now) : await result.c.download()
  const beside = await downloaded(result, problem.requested)
  if (!now) result.c.dispose()
  const wrong = wrongIn(problem, { c, ...beside }, random, context.tally, context.budget)
  return wrong === undefined ? undefined : `${wrong}; by ${result.variant}, ${result.arithmetic}`
}
