/** mpmml jobs --queue redis://… */
import type { Command } from 'commander'
import type { QueueStatus } from '../../lib/queue.js'
import { newCommand } from '../commands.js'
import { labelled, oneLine, print, printJson, table } from '../output.js'
import { QUEUE_HELP, type QueueFlags, queueAddress, queueOptions } from '../queue.js'

export function jobsCommand(): Command {
  const [address, name] = queueOptions('look at this queue')
  return newCommand('jobs')
    .addOption(address!.makeOptionMandatory())
    .addOption(name!)
    .option('--json', 'print one JSON value')
    .addHelpText('after', QUEUE_HELP)
    .action(async ({ json, ...queueOptions }: QueueFlags & { queue: string; json?: true }) => {
      const { queueStatus } = await import('../../lib/queue.js')
      const status = await queueStatus(queueAddress(queueOptions))
      await (json ? printJson(status) : print(describe(status)))
    })
}

/** Number of failures that are shown per plan. */
const FAILURES = 5

function describe({ queue, name, waiting, active, delayed, failed, plans, workers }: QueueStatus): string {
  const parts = [
    labelled([
      ['queue', `${name} on ${queue}`],
      [
        'blocks',
        `${waiting} wait, ${active} are computed, ${delayed} wait for another attempt, ${failed} failed`,
      ],
    ]),
  ]
  const rows = plans.map(({ output, kind, state, producer, done, blocks, total, retries, reason }) => [
    oneLine(output),
    kind,
    state === 'running' && !producer ? 'left: resume it' : state,
    `${blocks} of ${total}`,
    total > 0 ? `${Math.floor(100 * done)} %` : '',
    `${retries}`,
    oneLine(reason),
  ])
  if (rows.length > 0) {
    parts.push(table([['output', 'kind', 'state', 'blocks', '', 'retries', 'reason'], ...rows]))
  }
  parts.push(
    workers.length === 0
      ? 'no worker is connected'
      : table([
          ['worker', 'computes on', 'at once', 'done', 'failed', 'now'],
          ...workers.map((one) => [
            oneLine(one.id),
            one.devices.length > 0 ? `GPU ${one.devices.join(', ')}` : 'CPU',
            `${one.concurrency}`,
            `${one.blocks}`,
            `${one.failed}`,
            oneLine(one.now.join(', ')),
          ]),
        ]),
  )
  const failures = plans.flatMap((plan) => plan.failures.slice(0, FAILURES))
  if (failures.length > 0) {
    parts.push(
      table([
        ['failed', 'attempt', 'worker', 'reason'],
        ...failures.map(({ job, attempt, final, worker, reason }) => [
          oneLine(job),
          `${attempt}${final ? ', the last' : ''}`,
          oneLine(worker),
          oneLine(reason),
        ]),
      ]),
    )
  }
  return parts.join('\n\n')
}
