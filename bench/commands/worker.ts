/** mpmml worker --queue redis://… */

import type { Command } from 'commander'
import type { BackendChoice } from '../../lib/index.js'
import type { QueueWorkerOptions, WorkerEvent } from '../../lib/queue.js'
import { devicesOption } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { duration, oneLine, print } from '../output.js'
import { QUEUE_HELP, type QueueFlags, queueAddress, queueOptions } from '../queue.js'

interface Flags extends QueueFlags {
  queue: string
  root: string[]
  backend: BackendChoice
  devices?: 'all' | number[]
  concurrency?: number
  memory?: QueueWorkerOptions['memory']
  lock?: number
  json?: true
}

export function workerCommand(signal: AbortSignal): Command {
  const [address, name] = queueOptions('take blocks from this queue')
  return newCommand('worker')
    .addOption(address!.makeOptionMandatory())
    .addOption(name!)
    .addOption(libraryOption('roots').default(['.']))
    .addOption(libraryOption('backend').default('auto'))
    .addOption(devicesOption('the GPUs to use: all, or numbers such as 0,1 (all by default)'))
    .addOption(libraryOption('concurrency'))
    .addOption(libraryOption('memory', 'the most memory that a block may take, such as 8GiB'))
    .addOption(libraryOption('lockDuration'))
    .option('--json', 'print one JSON value per line: what the worker does, as it does it')
    .addHelpText(
      'after',
      `
Ctrl-C and SIGTERM give the blocks that are being computed back to the queue.${QUEUE_HELP}`,
    )
    .action(async ({ root, backend, devices, concurrency, memory, lock, json, ...queueOptions }: Flags) => {
      const { startWorker } = await import('../../lib/queue.js')
      const printRecord = (event: object, text: string) =>
        print(json ? JSON.stringify(event) : oneLine(text)).catch(() => {})
      const options: QueueWorkerOptions = {
        ...queueAddress(queueOptions),
        roots: root,
        backend,
        signal,
        onEvent: (event) => void printRecord(event, describeEvent(event)),
        ...{ devices, concurrency, memory, lockDuration: lock },
      }
      const worker = await startWorker(options)
      const { id, concurrency: atOnce } = worker
      const where = worker.devices.length > 0 ? `GPU ${worker.devices.join(', ')}` : 'the CPU'
      await printRecord(
        { type: 'started', id, backend: worker.backend, devices: worker.devices, concurrency: atOnce },
        `${id} computes on ${where}, ${atOnce} ${atOnce === 1 ? 'block' : 'blocks'} at once`,
      )
      await worker.stopped
      await printRecord({ type: 'stopped', blocks: worker.blocks }, `stopped after ${worker.blocks} blocks`)
      // Workers run until they are interrupted. The reason of the signal determines the exit status.
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
    case 'abandoned':
      return `${event.job} abandoned: reassigned to another worker`
    case 'lost':
      return `the queue is lost (${event.reason}): trying again`
    case 'back':
      return 'the queue is back'
  }
}
