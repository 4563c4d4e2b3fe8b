/** mpmml worker --queue redis://… */
import type { Command } from 'commander'
import type { QueueWorkerOptions, WorkerEvent } from '../../lib/queue.js'
import { devicesOption, libraryOption, wholeNumber } from '../arguments.js'
import { byteCount } from '../arrays.js'
import { newCommand } from '../commands.js'
import { duration, oneLine, print } from '../output.js'
import { QUEUE_HELP, type QueueFlags, queueAddress, queueName, queuePlace } from '../queue.js'

interface Flags extends QueueFlags {
  queue: string
  root: string[]
  backend: 'auto' | 'cuda' | 'cpu'
  devices?: 'all' | number[]
  concurrency?: number
  memory?: number
  lock?: number
  json?: true
}

export function workerCommand(signal: AbortSignal): Command {
  return newCommand('worker')
    .addOption(queueAddress('take blocks from this queue').makeOptionMandatory())
    .addOption(queueName())
    .option(
      '--root <folder...>',
      'folders, or s3://bucket/prefix, that blocks may be read from and written to; all else is refused',
      ['.'],
    )
    .addOption(libraryOption('backend').default('auto'))
    .addOption(devicesOption('the GPUs to use: all, or numbers such as 0,1 (all by default)'))
    .option(
      '--concurrency <count>',
      'blocks at once on each GPU, or on the CPU (2 by default: one is read while another is computed)',
      wholeNumber(1, 1024),
    )
    .option('--memory <bytes>', 'the most memory that a block may take, such as 8GiB', byteCount)
    .option(
      '--lock <seconds>',
      'after how long without a sign of life others take the blocks of this worker (30 by default)',
      wholeNumber(1, 86400),
    )
    .option('--json', 'print one JSON value per line: what the worker does, as it does it')
    .addHelpText(
      'after',
      `
Ctrl-C and SIGTERM give the blocks that are being computed back to the queue.${QUEUE_HELP}`,
    )
    .action(async ({ root, backend, devices, concurrency, memory, lock, json, ...place }: Flags) => {
      const { startWorker } = await import('../../lib/queue.js')
      const tell = (event: object, text: string) =>
        print(json ? JSON.stringify(event) : oneLine(text)).catch(() => {})
      const options: QueueWorkerOptions = {
        ...queuePlace(place),
        roots: root,
        backend,
        signal,
        onEvent: (event) => void tell(event, describeEvent(event)),
      }
      if (devices !== undefined) options.devices = devices
      if (concurrency !== undefined) options.concurrency = concurrency
      if (memory !== undefined) options.memory = memory
      if (lock !== undefined) options.lockMs = 1000 * lock
      const worker = await startWorker(options)
      const { id, concurrency: atOnce } = worker
      const where = worker.devices.length > 0 ? `GPU ${worker.devices.join(', ')}` : 'the CPU'
      await tell(
        { type: 'started', id, backend: worker.backend, devices: worker.devices, concurrency: atOnce },
        `${id} computes on ${where}, ${atOnce} ${atOnce === 1 ? 'block' : 'blocks'} at once`,
      )
      await worker.stopped
      await tell({ type: 'stopped', blocks: worker.blocks }, `stopped after ${worker.blocks} blocks`)
      // Nothing else ends a worker: the exit status says what did.
      signal.throwIfAborted()
    })
}

function describeEvent(event: WorkerEvent): string {
  switch (event.type) {
    case 'begun':
      return `${event.job} begun`
    case 'done':
      return event.already
        ? `${event.job} was done before`
        : `${event.job} done in ${duration(event.timing.totalMs)}, of which the kernel ${duration(event.timing.kernelMs)}`
    case 'failed':
      return `${event.job} failed, attempt ${event.attempt}${event.final ? ', the last' : ''}: ${event.reason}`
    case 'given-up':
      return `${event.job} given up: it is another worker's now`
    case 'lost':
      return `the queue is lost (${event.reason}): trying again`
    case 'back':
      return 'the queue is back'
  }
}
