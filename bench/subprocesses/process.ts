/**
 * Entry point of a measuring subprocess. Separate processes keep trials from inheriting threads, caches or
 * memory. The parent (run.ts) sends a request and receives messages.
 */
import { type Case, costOf } from '../experiment.js'
import { experiments } from './experiments.js'
import type { Message, TrialRequest } from './run.js'

const send = (message: Message<unknown>) =>
  new Promise<void>((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()))
  })

function failure(error: unknown): Message<unknown> {
  const { code, message } = error as { code?: string; message?: string }
  return { type: 'failed', code: code ?? null, message: message ?? String(error) }
}

async function run({ experiment, request }: TrialRequest): Promise<void> {
  let cases: Case<unknown>[]
  try {
    cases = experiments.get(experiment)!.grid(request as never)
  } catch (error) {
    return send(failure(error))
  }
  const total = costOf(cases)
  let before = 0
  for (const { what, cost, measure } of cases) {
    const onPart = (part: string, share: number) => {
      const done = (before + share * cost) / total
      // Errors of sending are ignored here; sending the next result reports a missing parent process.
      send({ type: 'progress', what: part, done }).catch(() => {})
    }
    onPart(what, 0)
    await send(await measure(onPart).then((result) => ({ type: 'found', found: result }), failure))
    before += cost
  }
}

process.once('message', async (request: TrialRequest) => {
  await run(request).catch(() => {
    process.exitCode = 1
  })
  process.disconnect()
})
// The parent process has ended.
process.once('disconnect', () => process.exit())
// Listeners of 'exit' remove temporary files. The status differs from that of completed work.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
