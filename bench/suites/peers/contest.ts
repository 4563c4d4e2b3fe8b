/** Contests between mpmml and other programs on equal operands. Calls alternate, and results are compared. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readNpy, writeNpy } from '../../../lib/files.js'
import type { DenseMatrix, ElementArray } from '../../../lib/index.js'
import { median } from '../../experiment.js'
import { oneLine } from '../../output.js'
import { endWithProcess, withFolder } from '../cleanup.js'
import type { Bench, FigureGoal, Unit } from '../suite.js'
import { type ProgramName, programs, source } from './programs.js'

const PYTHON = 'python3'

/** Time limit in seconds for the start of a program, which may include compilation, and for a call. */
const MAX_SECONDS = 180

/** Limit of the length of an error in a table, in characters. */
const MAX_CHARACTERS = 160

/** Reason for which a program isn't measured. */
class NotMeasured extends Error {}

let found: { reason: string } | { packages: ReadonlySet<string> } | undefined

/** Packages of Python that are installed; the reason if there is no Python with NumPy. */
export function python(): { reason: string } | { packages: ReadonlySet<string> } {
  if (found) return found
  const names = [...new Set(Object.values(programs).map(({ needs }) => needs))]
  const listing = `import importlib.util as u; print(*(p for p in ${JSON.stringify(names)} if u.find_spec(p)))`
  const { stdout, error, status } = spawnSync(PYTHON, ['-c', listing], { encoding: 'utf8' })
  const packages = new Set(error || status !== 0 ? [] : stdout.trim().split(/\s+/))
  if (error) found = { reason: `${PYTHON} was not found` }
  else found = packages.has('numpy') ? { packages } : { reason: `${PYTHON} has no NumPy` }
  return found
}

interface Answer {
  version: string
  ms: number
  failed?: string
}

/** Program of Python in a separate process. */
class Program {
  #lines: AsyncIterator<string>
  #errors = ''

  private constructor(
    readonly name: ProgramName,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    child.stderr!.on('data', (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-1000)
    })
    // Errors of pipes to an ended process are ignored here; the missing answer reveals them.
    child.stdin!.on('error', () => {})
    child.once('error', () => {})
    endWithProcess(child)
  }

  static async start(name: ProgramName, folder: string, options: object) {
    const there = python()
    if ('reason' in there) throw new NotMeasured(there.reason)
    const { needs, library } = programs[name]
    if (!there.packages.has(needs)) throw new NotMeasured(`${library} is not installed`)
    const args = [join(folder, 'programs.py'), folder, name, JSON.stringify(options)]
    const program = new Program(name, folder, spawn(PYTHON, args, { stdio: 'pipe' }))
    return { program, ...(await program.#answer()) }
  }

  /** Milliseconds of a call; with `save`, {@link result} reads its result. */
  async call(request: object, save: boolean): Promise<number> {
    this.child.stdin!.write(`${JSON.stringify({ query: request, save })}\n`)
    return (await this.#answer()).ms
  }

  async result(): Promise<DenseMatrix<ElementArray>> {
    return (await readNpy(join(this.folder, `${this.name}.npy`))) as DenseMatrix<ElementArray>
  }

  async #answer(): Promise<Answer> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.child.kill('SIGKILL')
    }, 1000 * MAX_SECONDS)
    const { done, value } = await this.#lines.next()
    clearTimeout(timer)
    if (isLate) throw new NotMeasured(`it takes longer than ${MAX_SECONDS} s`)
    if (done) throw new NotMeasured(`it ended: ${this.#errors.trim().split('\n').at(-1)}`)
    const answer = JSON.parse(value) as Answer
    if (answer.failed !== undefined) throw new NotMeasured(answer.failed)
    return answer
  }

  async close(): Promise<void> {
    const isOver = this.child.exitCode !== null || this.child.signalCode !== null
    if (isOver || !this.child.kill('SIGKILL')) return
    await once(this.child, 'close')
  }
}

/** Competitor of a contest. */
export interface Implementation {
  what: string
  note: string
  /** Milliseconds of a call. */
  call(): Promise<number>
}

export interface Contest {
  of: string
  implementations: Implementation[]
  /** Programs of Python, with the operands that they read, their options, and the request of each call. */
  programs: readonly ProgramName[]
  operands: Readonly<Record<string, DenseMatrix<ElementArray>>>
  options: object
  request: object
  /** Difference between a program's result and the library's; undefined if there is none. */
  compare(result: DenseMatrix<ElementArray>): string | undefined
  rounds: number
  unit: Unit
  /** Figure of a call, from its milliseconds. */
  figureOf(ms: number): number
  /** Goal of the first competitor. */
  goal?: FigureGoal
  /** Appended to the version of a program, such as its threads. */
  remark?: string
}

/** Durations of the calls in ms, by the competitor's name. */
export type Samples = ReadonlyMap<string, number[]>

/** Calls the competitors alternately, so that other load on the machine affects all of them equally. */
async function inTurns(
  bench: Bench,
  rounds: number,
  implementations: readonly Implementation[],
): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>(implementations.map(({ what }) => [what, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [at, { what, call }] of implementations.entries()) {
      bench.onPart(what, (round * implementations.length + at) / (rounds * implementations.length))
      samples.get(what)!.push(await call())
    }
  }
  return samples
}

/**
 * Runs a contest and adds a figure for each competitor. The figure of a program that can't be measured states
 * the reason.
 */
export const compete = (bench: Bench, contest: Contest): Promise<Samples> =>
  withFolder((folder) => competeIn(folder, bench, contest))

async function competeIn(folder: string, bench: Bench, contest: Contest): Promise<Samples> {
  const { of, operands, options, request, unit, figureOf, remark } = contest
  const running: Program[] = []
  const implementations = [...contest.implementations]
  const failures: [what: string, reason: string][] = []
  try {
    await writeFile(join(folder, 'programs.py'), source)
    for (const [name, matrix] of Object.entries(operands)) await writeNpy(join(folder, `${name}.npy`), matrix)
    for (const name of contest.programs) {
      const { library, title } = programs[name]
      bench.onPart(`starting ${title}`, 0)
      try {
        const { program, version, ms } = await Program.start(name, folder, options)
        running.push(program)
        // The first call compiles.
        await program.call(request, true)
        const wrong = contest.compare(await program.result())
        bench.wrong(wrong, `${of}: ${title}`)
        if (wrong !== undefined) continue
        const note = `${library} ${version}${remark ?? ''}; ready after ${ms.toFixed(0)} ms`
        implementations.push({ what: title, note, call: () => program.call(request, false) })
      } catch (error) {
        if (!(error instanceof NotMeasured)) throw error
        failures.push([title, oneLine(error.message).slice(0, MAX_CHARACTERS)])
      }
    }
    const samples = await inTurns(bench, contest.rounds, implementations)
    const here = median(samples.get(implementations[0]!.what)!)
    for (const [at, { what, note }] of implementations.entries()) {
      const times = samples.get(what)!
      const ratio = Number((median(times) / here).toPrecision(3))
      const shown = at === 0 ? { ...contest.goal, note } : { note: `${ratio} × the time here; ${note}` }
      bench.figure(of, what, unit, times.map(figureOf), shown)
    }
    for (const [what, reason] of failures)
      bench.figure(of, what, unit, 0, { note: `not measured: ${reason}` })
    return samples
  } finally {
    await Promise.all(running.map((program) => program.close()))
  }
}
