/** Out-of-core work for the commands, in this process or by the workers of a queue. */
import type { Command } from 'commander'
import type { MpmmOptions, Semiring } from '../lib/index.js'
import type { QueueProgress, QueueResult, QueueWorkOptions } from '../lib/queue.js'
import {
  ARRAYS_HELP,
  type ArraysFlags,
  arraysOptions,
  assertOnDisk,
  describeArrays,
  isOnDisk,
  replaces,
  runArrays,
} from './arrays.js'
import { flags, libraryOption } from './flags.js'
import { duration, labelled, oneLine, print, printJson } from './output.js'
import { PIPE } from './pipes.js'
import { type Progress, startProgress } from './progress.js'

/** Values of the options {@link queueOptions}. */
export interface QueueFlags {
  queue?: string
  queueName?: string
}

/** Returns the options that select a queue; `what` is its use. */
export const queueOptions = (what = 'let the workers of this queue compute blocks on disk') => [
  libraryOption('queue', `${what}: ${flags.queue.summary}`),
  libraryOption('name'),
]

/** Paragraph for the help of commands. */
export const QUEUE_HELP = `
The address may leave the password out: MPMML_QUEUE_PASSWORD has it then, and other users of the machine don't see it.
Queues need the packages bullmq and ioredis.`

/** Returns the options that select the queue in functions of mpmml/queue. */
export const queueAddress = ({ queue, queueName }: QueueFlags & { queue: string }) => ({
  queue,
  ...(queueName !== undefined && { name: queueName }),
})

interface QueueRequest extends ArraysFlags, QueueFlags {
  queue: string
  inputs: readonly string[]
  output: string
  semiring: Semiring
  overflow?: MpmmOptions['overflow']
}

/** Output of `--json`. */
interface QueueRecord extends QueueResult {
  inputs: readonly string[]
  output: string
  semiring: Semiring
}

/** Reports wrong usage if an option was given that only workers can set. */
function assertForWorkers(command: Command, flags: object): void {
  for (const name of ['device', 'backend', 'deviceMemory']) {
    if ((flags as Record<string, unknown>)[name] === undefined) continue
    const option = name === 'deviceMemory' ? 'device-memory' : name
    command.error(
      `error: --${option} is for the worker: mpmml worker decides where it computes, not --queue`,
      { exitCode: 2 },
    )
  }
}

async function runOnQueue(
  kind: 'multiply' | 'paths',
  request: QueueRequest,
  signal: AbortSignal,
): Promise<QueueRecord> {
  // Imported on demand, because most calls of these commands don't need the module.
  const { multiplyOnQueue, shortestPathsOnQueue } = await import('../lib/queue.js')
  const { inputs, output, semiring, overflow, memory, chunks, shards, codec, resume } = request
  const overwrite = await replaces(request)
  const reporter = new Reporter(output)
  const options: QueueWorkOptions = {
    ...queueAddress(request),
    ...{ semiring, overflow, memory, chunks, shards, codec, resume, overwrite },
    signal,
    onProgress: (progress) => reporter.show(progress),
  }
  try {
    const result =
      kind === 'multiply'
        ? await multiplyOnQueue(inputs[0]!, inputs[1]!, output, options)
        : await shortestPathsOnQueue(inputs[0]!, output, options)
    return { inputs, output, semiring, ...result }
  } finally {
    reporter.end()
  }
}

/** Shows progress on a terminal; elsewhere it prints only events that require an action of the user. */
class Reporter {
  #bar: Progress | undefined
  #said = ''

  constructor(readonly output: string) {}

  show({ blocks, total, workers, retries, reason, lost }: QueueProgress): void {
    const trouble =
      lost !== null
        ? `the queue is lost (${lost}): trying again`
        : workers === 0
          ? 'no worker is connected: start one with mpmml worker --queue …'
          : ''
    if (process.stderr.isTTY) {
      this.#bar ??= startProgress(total)
      const retried = retries > 0 ? `, ${retries} tried again (${reason})` : ''
      this.#bar.show(oneLine(trouble || `${workers ?? '?'} workers on ${this.output}${retried}`), blocks)
    } else if (trouble !== this.#said && trouble !== '' && (lost === null || this.#said === '')) {
      process.stderr.write(`mpmml: ${oneLine(trouble)}\n`)
    }
    this.#said = trouble
  }

  end(): void {
    this.#bar?.end()
  }
}

/** Returns the record as text for people. */
function describeQueueWork(record: QueueRecord): string {
  const { output, semiring, blocks, computed, retries, workers, timing } = record
  return labelled([
    ['result', output],
    ['semiring', semiring],
    ['blocks', `${blocks}, ${computed} computed now`],
    ['workers', `${workers}`],
    ['retries', retries > 0 ? `${retries}` : undefined],
    ['total', duration(timing.totalMs)],
  ])
}

export interface BlocksFlags extends ArraysFlags, QueueFlags {}

export const blocksOptions = () => [...arraysOptions(), ...queueOptions()]

/** Paragraphs for the help of commands. */
export const BLOCKS_HELP = ARRAYS_HELP + QUEUE_HELP

/** Request for runArrays(), except that the output may be missing. */
type BlocksRequest = Omit<Parameters<typeof runArrays>[1], 'output' | 'inputs'> &
  QueueFlags & { output?: string | undefined }

/**
 * Runs out-of-core work if an option or a file's name selects it, and prints the result. Returns whether it
 * did.
 *
 * @param refused - options that out-of-core work doesn't support.
 */
export async function doneByBlocks(
  command: Command,
  kind: 'multiply' | 'paths',
  inputs: readonly string[],
  flags: BlocksRequest,
  refused: readonly string[],
  json: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const { queue, output } = flags
  if (queue === undefined && !isOnDisk(flags, inputs, output)) return false
  assertOnDisk(command, flags, refused, output)
  if ([...inputs, output].includes(PIPE)) {
    command.error('error: blocks are read from disk and written there: name files instead of -', {
      exitCode: 2,
    })
  }
  if (queue === undefined) {
    const record = await runArrays(kind, { ...flags, inputs, output }, signal)
    await (json ? printJson(record) : print(describeArrays(record)))
  } else {
    assertForWorkers(command, flags)
    const record = await runOnQueue(kind, { ...flags, queue, inputs, output }, signal)
    await (json ? printJson(record) : print(describeQueueWork(record)))
  }
  return true
}
