/**
 * A producer or a worker whose blocks only wait and write a file. Each computation is logged, so that tests
 * can count the computations of a block. A separate process prints its events as JSON lines:
 *
 * node process.mjs producer|worker {"queue": …}
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { AbortedError, errorClasses, FileError } from '../../dist/lib/errors.js'
import { producerOptions, runPlan } from '../../dist/lib/queue/producer.js'
import { startWorkerWith } from '../../dist/lib/queue/worker.js'

const folderOf = (plan) => dirname(plan.output.path)
const fileOf = (plan, job) => join(folderOf(plan), job.name)

const computer = {
  async runBlock(plan, job, { signal }) {
    const begin = performance.now()
    const result = {
      job: job.name,
      backend: 'cpu',
      device: 'none',
      bytesRead: 0,
      bytesWritten: 0,
    }
    if (existsSync(fileOf(plan, job)))
      return { ...result, already: true, timing: { totalMs: 0, kernelMs: 0 } }
    // The orders are read before the log entry, so changed orders don't affect blocks that the log contains.
    const orders = JSON.parse(readFileSync(join(folderOf(plan), 'orders.json'), 'utf8'))
    appendFileSync(join(folderOf(plan), 'log'), `${job.name} ${process.pid}\n`)
    try {
      await wait(orders.ms, undefined, { signal })
    } catch (cause) {
      throw new AbortedError('the block was aborted', { cause })
    }
    const { code, times } = orders.fails?.[job.name] ?? { times: 0 }
    const attempts = readFileSync(join(folderOf(plan), 'log'), 'utf8').split(`${job.name} `).length - 1
    if (attempts <= times) throw new (errorClasses[code] ?? FileError)(`attempt ${attempts} didn't work`)
    if (orders.ends === job.name) process.kill(process.pid, 'SIGKILL')
    const partial = `${fileOf(plan, job)}.${process.pid}`
    writeFileSync(partial, job.name)
    renameSync(partial, fileOf(plan, job))
    return { ...result, already: false, timing: { totalMs: performance.now() - begin, kernelMs: 0 } }
  },
  async close() {},
}

const runner = {
  computer: () => computer,
  // A finished plan has no marks, as with arrays.
  doneJobs: async (plan) =>
    new Set(
      existsSync(plan.output.path)
        ? []
        : readdirSync(folderOf(plan)).filter((name) => /^c-\d+-0$/.test(name)),
    ),
  isFinished: async (plan) => existsSync(plan.output.path),
  async finish(plan) {
    writeFileSync(plan.output.path, 'finished')
  },
}

/**
 * @param {'worker' | 'producer'} role
 * @param {Record<string, unknown>} asked - options of the role; a producer's also have the folder and the
 * number of blocks.
 * @param {AbortSignal} signal - stops the worker or the producer.
 * @param {(line: object) => void} say - receives each event.
 * @returns {Promise<boolean>} false after an error, which `say` has received.
 */
export async function take(role, { folder, blocks, resume = false, ...options }, signal, say) {
  try {
    if (role === 'worker') {
      const worker = await startWorkerWith(
        { concurrency: 1, ...options, roots: ['/'], backend: 'cpu', signal, onEvent: say },
        runner,
      )
      say({ type: 'started', id: worker.id })
      await worker.stopped
      say({ type: 'stopped', blocks: worker.blocks })
      return true
    }
    const array = (name) => ({
      path: join(folder, name),
      shape: [blocks, 1],
      dtype: 'int32',
      fingerprint: '',
      changedMs: 0,
      layout: null,
    })
    const plan = {
      kind: 'multiply',
      id: 'cafe',
      semiring: 'max-plus',
      overflow: 'throw',
      a: array('a'),
      b: array('b'),
      output: array('c'),
      block: { rows: 1, cols: 1, depth: 1 },
      stages: [blocks],
    }
    const settings = producerOptions.read({
      ...options,
      signal,
      onProgress: (progress) => say({ type: 'progress', ...progress }),
    })
    say({ type: 'result', ...(await runPlan(plan, settings, runner, resume)) })
    return true
  } catch (error) {
    say({ type: 'error', code: error.code, message: error.message })
    return false
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [role, text] = process.argv.slice(2)
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => controller.abort())
  const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
  if (!(await take(role, JSON.parse(text), controller.signal, say))) process.exitCode = 1
}
