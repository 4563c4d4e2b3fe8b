/** The process that a suite runs in. Its parent (run.ts) sends what is asked for and gets messages. */
import { spread } from '../../lib/lab.js'
import { type SuiteName, suites } from './names.js'
import type { Findings, Message, SuiteRequest } from './protocol.js'

/** The last message that was given to the system; the process ends after it. */
let sent: Promise<void> = Promise.resolve()

function send(message: Message): void {
  sent = new Promise((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()))
  })
  sent.catch(() => {
    process.exitCode = 1
  })
}

const findings: Findings = {
  figure(of, what, unit, samples, { must = null, aim = null, moreIsBetter = false, note = '' } = {}) {
    const value = spread(typeof samples === 'number' ? [samples] : samples)
    send({ type: 'figure', figure: { of, what, unit, value, must, aim, moreIsBetter, note } })
  },
  wrong: (message) => send({ type: 'wrong', message }),
  progress: (what, done) => send({ type: 'progress', what, done }),
}

process.once('message', async ({ name, request }: { name: SuiteName; request: SuiteRequest }) => {
  try {
    await suites[name].run(request, findings)
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string }
    send({ type: 'failed', code: code ?? null, message: message ?? String(error) })
  }
  await sent.catch(() => {})
  process.disconnect()
})
// The parent process is gone.
process.once('disconnect', () => process.exit())
