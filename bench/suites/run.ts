/** Runs suites, each in a process of its own, and makes the record of what they find. */
import { info } from '../../lib/index.js'
import { machine } from '../../lib/lab.js'
import { ChildError, runChild } from '../child.js'
import { type Circumstances, circumstances } from '../circumstances.js'
import { startProgress } from '../progress.js'
import { type SuiteName, suites } from './names.js'
import type { Figure, Message, SuiteRequest } from './protocol.js'

export interface SuitesRequest extends Omit<SuiteRequest, 'backend'> {
  suites: SuiteName[]
  backend: 'auto' | 'cuda' | 'cpu' | 'all'
}

export interface SuiteRecord {
  name: SuiteName
  shows: string
  backend: 'cuda' | 'cpu'
  figures: Figure[]
  /** Results and errors that aren't what they must be. */
  wrong: string[]
}

/** What `bench --suite … --json` prints. */
export interface SuitesRecord extends Circumstances {
  suites: SuiteRecord[]
}

/** @throws NoCudaError if a GPU is asked for and none can be used. */
function backendsOf({ backend, device }: SuitesRequest): ('cuda' | 'cpu')[] {
  if (backend === 'cuda') machine(device)
  if (backend === 'cuda' || backend === 'cpu') return [backend]
  const gpu = info().cuda.reason === ''
  if (!gpu) return ['cpu']
  return backend === 'all' ? ['cuda', 'cpu'] : ['cuda']
}

export async function runSuites(request: SuitesRequest, signal: AbortSignal): Promise<SuitesRecord> {
  const backends = backendsOf(request)
  const progress = startProgress(backends.length * request.suites.length)
  const records: SuiteRecord[] = []
  try {
    for (const backend of backends) {
      for (const name of request.suites) {
        const done = records.length
        progress.show(name, done)
        const one = { ...request, backend, name }
        records.push(
          await runSuite(one, signal, (what, share) => progress.show(`${name}: ${what}`, done + share)),
        )
      }
    }
  } finally {
    progress.end()
  }
  return { ...circumstances(backends.includes('cuda') ? request.device : null), suites: records }
}

async function runSuite(
  { name, backend, device, quick, repetitions }: SuiteRequest & { name: SuiteName },
  signal: AbortSignal,
  show: (what: string, done: number) => void,
): Promise<SuiteRecord> {
  const record: SuiteRecord = { name, shows: suites[name].shows, backend, figures: [], wrong: [] }
  const request: SuiteRequest = { backend, device, quick, repetitions }
  await runChild<Message>(
    new URL('./process.js', import.meta.url),
    { name, request },
    (message) => {
      if (message.type === 'figure') record.figures.push(message.figure)
      else if (message.type === 'wrong') record.wrong.push(message.message)
      else if (message.type === 'progress') show(message.what, message.done)
      else {
        throw new ChildError(`${name}: ${message.message}${message.code ? ` [${message.code}]` : ''}`)
      }
    },
    { what: `ran the suite ${name}`, signal },
  )
  return record
}
