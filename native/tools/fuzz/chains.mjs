/**
 * Chains: matrices that stay on a device, and calls that read and write them, awaited or not. A mirror of
 * each matrix has the expected content, which was checked after the last call that wrote the matrix.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { algebrasOf } from './algebra.mjs'
import { wrongError, wrongIn } from './check.mjs'
import { closureOf, storedAs } from './closure-oracle.mjs'
import { place, read, sameBits } from './layouts.mjs'
import { asMatrix, asResult, drawView } from './mirror.mjs'
import { describe, drawAuxiliary, drawOverflow, newValues, optionsOf } from './problem.mjs'
import { drawPlace, drawVariant, Wrong } from './products.mjs'
import { downloaded, onDevice } from './residents.mjs'
import { drawStructure } from './structures.mjs'
import { drawValues } from './values.mjs'

const dtypes = ['int32', 'int32', 'int32', 'float32', 'float32', 'float64', 'uint8']
const STEPS = 1e6

class Chain {
  roots = []
  count = 0
  /** Checks of calls that have been issued and not checked yet. */
  pending = []
  /** Matrix that was written last: copies of it that the library caches may be stale. */
  recent = null
  log = []
  /** Index of the log entry that is being checked. */
  checked = 0

  constructor(context, random, device, { onGpu, isSeveral }) {
    this.context = context
    this.random = random
    this.device = device
    this.isSeveral = isSeveral
    this.dtype = random.pick(dtypes.filter((dtype) => algebrasOf(dtype).length > 0))
    // Elements of max-times may not be negative.
    this.positive = algebrasOf(this.dtype).some(({ kind }) => kind === 'product') && random.chance(0.2)
    this.waits = random.chance(0.6)
    const most = onGpu ? 1400 : 720
    const small = [random.size(2, 64), random.size(2, 200), 130, 257, random.integer(500, most)]
    // Smaller matrices stay on one device.
    const spread = this.dtype === 'uint8' ? [1024, 1100] : [512, 512, 513, random.integer(512, most)]
    this.size = random.pick(isSeveral && random.chance(0.8) ? spread : small)
    this.batch = random.chance(0.3) ? random.integer(1, 5) : null
  }

  algebra() {
    const all = algebrasOf(this.dtype)
    const positive = ['product', 'ordinary']
    return this.random.pick(
      all.filter(({ kind }) => (this.positive ? positive.includes(kind) : kind !== 'product')),
    )
  }

  length() {
    const { random, size } = this
    return random.pick([size, size, Math.ceil(size / 2), Math.ceil(size / 4), random.size(1, size)])
  }

  /** Values of the type that the chain's semirings take. */
  values(batched, rows, cols, side = this.random.pick(['a', 'b'])) {
    const { random } = this
    // Positive are those of max-times.
    const algebra = this.positive
      ? algebrasOf(this.dtype).find(({ kind }) => kind === 'product')
      : this.algebra()
    const values = drawValues(random, algebra)
    return newValues(random, algebra, values[side], side, batched, batched ? this.batch : 1, rows, cols)
  }

  view(rows, cols, batched, fits, roots = this.roots) {
    return drawView(this.random, roots, this.recent, [rows, cols], batched, fits)
  }

  async upload() {
    const { random, size } = this
    const batched = this.batch !== null && random.chance(0.5)
    const [rows, cols] = batched
      ? [this.length(), this.length()]
      : random.chance(0.6)
        ? [size, size]
        : [this.length(), size]
    const mirror = this.values(batched, rows, cols)
    this.add(await this.device.upload(place(random, mirror).matrix), mirror)
  }

  async full() {
    const mirror = this.values(false, this.size, this.size)
    const value = mirror.data[this.random.integer(0, mirror.data.length - 1)]
    mirror.data.fill(value)
    const matrix = await this.device.full([this.size, this.size], value, this.dtype)
    this.add(matrix, mirror)
  }

  add(matrix, mirror) {
    this.roots.push({ matrix, mirror, name: `m${this.count++}` })
  }

  /** An operand: a view, or now and then an array. */
  operand(rows, cols, batched) {
    const { random } = this
    const view = random.chance(0.12) ? undefined : this.view(rows, cols, batched)
    if (view) return { view, handles: () => view.handles(), content: () => view.content() }
    const mirror = this.values(batched, rows, cols)
    return { handles: () => [place(random, mirror).matrix], content: () => mirror }
  }

  async product() {
    const { random, context } = this
    const algebra = this.algebra()
    const [m, k, n] = [this.length(), random.chance(0.04) ? 0 : this.length(), this.length()]
    const batched = this.batch !== null && random.chance(0.4)
    const single = batched ? random.pick(['a', 'b', 'none']) : 'all'
    const a = this.operand(m, k, batched && single !== 'a')
    const b = this.operand(k, n, batched && single !== 'b')
    const out = random.chance(0.6)
      ? this.view(m, n, batched, (view) => view.root !== a.view?.root && view.root !== b.view?.root)
      : undefined
    if (!a.view && !b.view && !out) return
    const accumulate = random.pick(out ? ['nothing', 'out', 'a matrix'] : ['nothing', 'nothing', 'a matrix'])
    const c0 = accumulate === 'a matrix' ? this.operand(m, n, batched) : null
    if (c0?.view && out && c0.view.root === out.root) return
    const problem = {
      algebra,
      m,
      k,
      n,
      batched,
      batch: batched ? this.batch : 1,
      structure:
        context.limits.structures !== false && random.chance(0.2)
          ? drawStructure(random, m, k, n)
          : undefined,
      // A failing call makes dependent calls fail.
      overflow: drawOverflow(random, algebra, !this.waits),
      requested: drawAuxiliary(random, algebra, 0.2),
      accumulate,
      values: 'those of the chain',
    }
    if (!this.waits && algebra.isInteger) problem.overflow = random.pick(['saturate', 'wrap'])
    const variant = this.waits ? drawVariant(random, context, this.device.backend, problem) : undefined
    const operands = [a, b, c0, out && { view: out, handles: () => out.handles() }].map((one) =>
      one ? { view: one.view, handles: one.handles() } : null,
    )
    const [left, right, start, into] = operands.map((one) => one?.handles.at(-1))
    const options = {
      ...optionsOf(problem),
      ...(out ? { out: into } : {}),
      ...(accumulate === 'out' ? { accumulate: true } : {}),
      ...(c0 ? { accumulate: start } : {}),
      ...(variant ? { variant } : {}),
    }
    const trouble = this.trouble(options)
    const places = ['a', 'b', 'c0', 'out'].flatMap((name, nth) =>
      operands[nth]?.view ? [`${name} ${operands[nth].view}`] : [],
    )
    this.log.push(`${describe(problem)}${variant ? `, ${variant}` : ''}${trouble.what}; ${places.join(', ')}`)
    const running = context.library.mpmm(left, right, options)
    const compute = await this.issue(running, trouble, operands.filter(Boolean))
    const written = out ? this.snapshot(out.root) : undefined
    await this.later(async () => {
      const [x, y] = [a.content(), b.content()]
      const initial = out ? out.content() : null
      const given = {
        ...problem,
        a: x,
        b: y,
        initial,
        c0: c0 ? c0.content() : accumulate === 'out' ? initial : null,
      }
      const outcome = await compute()
      const now = out ? await written() : null
      if (outcome.error) return this.refused(given, outcome.error, out, now, { variant, trouble })
      const { result } = outcome
      const c = out ? asResult(out.content(now)) : await result.c.download()
      const beside = await downloaded(result, problem.requested)
      const wrong = wrongIn(given, { c, ...beside }, random, context.tally, STEPS)
      const by = `by ${result.variant}, ${result.arithmetic}`
      if (wrong !== undefined) throw new Wrong(`${wrong}; ${by}`)
      if (out && !out.isSameOutside(out.root.mirror, now)) throw new Wrong(`more than out was written; ${by}`)
      if (out) out.root.mirror = now
      else this.add(result.c, asMatrix(c))
    })
  }

  async combine() {
    const { random, context } = this
    const algebra = this.algebra()
    // Parts of one matrix: half of it at most.
    const within = random.chance(0.4)
    const [rows, cols] = [Math.ceil(this.length() / (within ? 2 : 1)), this.length()]
    const batched = this.batch !== null && random.chance(0.3)
    const c = this.view(rows, cols, batched)
    if (!c) return
    const others = within ? [c.root] : this.roots
    const d = this.view(rows, cols, batched, (view) => !view.overlaps(c), others)
    if (!d) return
    const [to, from] = [c.handles(), d.handles()]
    const trouble = this.trouble({})
    this.log.push(`combine ${c} and ${d} over ${algebra.semiring}${trouble.what}`)
    const running = to.at(-1).combine(from.at(-1), { semiring: algebra.semiring, ...trouble.options })
    const compute = await this.issue(running, trouble, [
      { view: c, handles: to },
      { view: d, handles: from },
    ])
    const written = this.snapshot(c.root)
    await this.later(async () => {
      const before = c.content()
      const other = d.content()
      const outcome = await compute()
      const now = await written()
      if (outcome.error) {
        const given = { algebra, a: before, b: other, c0: null, batch: 1, m: 0, k: 0, n: 0 }
        // On several devices, some may have combined their rows before another one is out of memory.
        const mayChange = trouble.refuses && this.isSeveral
        return this.refused(given, outcome.error, c, now, { trouble, mayChange })
      }
      const after = c.content(now)
      context.tally.add(`combine ${algebra.dtype}`, after.data.length, after.data.length)
      for (let index = 0; index < after.data.length; index++) {
        const [x, y, came] = [before.data[index], other.data[index], after.data[index]]
        if (!isCombined(algebra, x, y, came))
          throw new Wrong(`element ${index} of the combination of ${x} and ${y} is ${came}`)
      }
      if (!c.isSameOutside(c.root.mirror, now)) throw new Wrong('more than the view was combined')
      c.root.mirror = now
    })
  }

  /** Computes a closure in place, over a semiring without improving cycles. */
  async closure() {
    const { random, context } = this
    const algebra = random.pick(
      algebrasOf(this.dtype).filter(
        ({ kind, idempotent, hasClosure = true }) =>
          (kind === 'least' || kind === 'greatest') && idempotent && hasClosure,
      ),
    )
    if (!algebra) return
    const n = Math.min(this.length(), 100)
    const view = this.view(n, n, false)
    // A NaN makes the closure fail, and dependent calls with it.
    if (!view || this.positive || (!this.waits && this.dtype !== 'int32')) return
    const handles = view.handles()
    this.log.push(`plus of ${view} over ${algebra.semiring} in place`)
    const [semiring, out] = [algebra.semiring, handles.at(-1)]
    const running = context.algebra.plus(out, { semiring, out })
    const compute = await this.issue(running, { options: {} }, [{ view, handles }])
    const written = this.snapshot(view.root)
    await this.later(async () => {
      const before = view.content()
      const outcome = await compute()
      const now = await written()
      if (outcome.error) {
        const mayFail = outcome.error.code === 'ERR_MPMML_VALUE' && before.data.some(Number.isNaN)
        if (mayFail && sameBits(now.data, view.root.mirror.data)) return
        throw new Wrong(`plus ended with ${outcome.error.message}`)
      }
      const expected = closureOf(algebra, n, before.data, false).values.map((value) =>
        storedAs(algebra, value),
      )
      const after = view.content(now).data
      context.tally.add(`closure ${algebra.semiring}`, n * n, n ** 3)
      const at = expected.findIndex((should, index) => should !== after[index])
      if (at >= 0) throw new Wrong(`element ${at} of plus is ${after[at]} and should be ${expected[at]}`)
      if (!view.isSameOutside(view.root.mirror, now)) throw new Wrong('more than the view was closed')
      view.root.mirror = now
    })
  }

  async download() {
    const view = this.view(this.length(), this.length(), false)
    if (!view) return
    const handles = view.handles()
    this.log.push(`download ${view}`)
    const into = place(this.random, { ...view.content(), data: view.content().data.fill(1) })
    const compute = await this.issue(handles.at(-1).download(into.matrix), { options: {} }, [
      { view, handles },
    ])
    await this.later(async () => {
      const outcome = await compute()
      if (outcome.error) throw outcome.error
      if (!sameBits(read(into.matrix).data, view.content().data))
        throw new Wrong('a download isn’t what the matrix holds')
    })
  }

  async dispose() {
    if (this.roots.length < 3) return
    this.log.push('dispose')
    const [root] = this.roots.splice(this.random.integer(0, this.roots.length - 1), 1)
    root.matrix.dispose()
  }

  /** Draws a cause of failure other than the values, only for awaited calls: refused memory or a signal. */
  trouble(options) {
    const { random, context } = this
    const draw = this.waits ? random.share() : 1
    if (draw < 0.06) {
      context.addon.failAllocation(random.integer(1, 6), random.pick([1, 1, 1000]))
      return { what: ', memory is refused', refuses: true, options: {} }
    }
    if (draw > 0.12) return { what: '', options: {} }
    const controller = new AbortController()
    options.signal = controller.signal
    return { what: ', given up', aborts: controller, options: { signal: controller.signal } }
  }

  /** Disposes the views, and returns a function that returns the outcome of the call. */
  async issue(running, trouble, operands) {
    const settled = running.then(
      (result) => ({ result }),
      (error) => ({ error }),
    )
    if (trouble.aborts) {
      if (this.random.chance(0.5)) await sleep(this.random.integer(0, 2))
      trouble.aborts.abort()
    }
    // Later calls would fail with a failing call.
    if (this.waits) await settled
    if (trouble.refuses) this.context.addon.failAllocation(0)
    for (const { view, handles } of operands)
      if (view && !view.isWhole) for (const handle of handles) handle.dispose()
    return () => settled
  }

  /** Returns a function that returns the content of a matrix after all calls so far. */
  snapshot(root) {
    this.recent = root
    const running = root.matrix.download()
    running.catch(() => {})
    return async () => asMatrix(await running)
  }

  async later(check) {
    this.pending.push({ check, step: this.log.length - 1 })
    if (this.waits || this.random.chance(0.15)) await this.settle()
  }

  async settle() {
    for (const { check, step } of this.pending.splice(0)) {
      this.checked = step
      await check()
    }
  }

  /** Checks that an error is the expected one, and that it has left `out` unchanged. */
  refused(problem, error, out, now, { variant, trouble, mayChange }) {
    const { code } = error
    const wrong = wrongError(problem, error, this.random, STEPS, { variant, ...trouble })
    if (wrong !== undefined) throw new Wrong(wrong)
    this.context.tally.refused(code)
    if (!out) return
    const isSame = sameBits(now.data, out.root.mirror.data)
    if (!isSame && code !== 'ERR_MPMML_ABORTED' && !mayChange)
      throw new Wrong(`out has changed, although the call ended with ${code}`)
    if (!out.isSameOutside(out.root.mirror, now))
      throw new Wrong(`more than out was written by a call that ended with ${code}`)
    out.root.mirror = now
  }
}

function isCombined({ kind, greatest, dtype, isTruth, fold, exactBits }, x, y, came) {
  if (isTruth) return came === fold([x ? 1 : 0], [1], 0, 1, 0, y ? 1 : 0)
  if (kind === 'ordinary') {
    const sum = dtype === 'float32' ? Math.fround(x + y) : x + y
    return came === sum || (Number.isNaN(came) && Number.isNaN(sum))
  }
  // The result for two NaN is unspecified.
  if (Number.isNaN(x) && Number.isNaN(y)) return true
  const best = Number.isNaN(x) ? y : Number.isNaN(y) ? x : greatest ? Math.max(x, y) : Math.min(x, y)
  return exactBits ? Object.is(came, best + 0) : came === best
}

const operations = [
  ...['product', 'product', 'product', 'product', 'product', 'product', 'combine', 'combine'],
  ...['upload', 'full', 'closure', 'download', 'dispose'],
]

export async function chainCase(context, random) {
  const drawn = drawPlace(random, context)
  let chain
  try {
    await onDevice(context, drawn, async (device) => {
      chain = new Chain(context, random, device, {
        onGpu: drawn.backend === 'cuda',
        isSeveral: drawn.where.devices !== undefined,
      })
      for (let count = 0; count < 3; count++) await chain.upload()
      for (let count = random.integer(4, 30); count > 0; count--) {
        if (chain.roots.length === 0 || chain.roots.length > 7) await chain.dispose()
        await chain[random.pick(operations)]()
      }
      await chain.settle()
      for (const { matrix } of chain.roots) matrix.dispose()
    })
  } catch (error) {
    if (!chain) throw error
    const { devices = [], backend } = drawn.where
    const where = `a chain of ${chain.dtype}, ${chain.size}, ${chain.waits ? 'awaited' : 'not awaited'}, on ${backend ?? 'cpu'} ${devices}`
    const what = error instanceof Wrong ? error.message : (error.stack ?? error)
    const steps = chain.log.slice(Math.max(0, chain.checked - 6), chain.checked + 1)
    throw new Wrong(`${where}: ${what}\n  in the last of: ${steps.join('\n    then ')}`)
  }
}
