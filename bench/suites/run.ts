/** Runs suites, each in a separate process, and collects their results in a record. */
import type { BackendChoice, BackendName } from '../../lib/index.js'
import { backendsOf, type RunEnvironment, runEnvironment } from '../environment.js'
import { runInSubprocesses, type Subprocess } from '../subprocesses/run.js'
import { type SuiteName, suites } from './names.js'
import type { SuiteRequest, SuiteResult } from './suite.js'

interface SuitesRequest extends Omit<SuiteRequest, 'backend' | 'onOneCore'> {
  suites: SuiteName[]
  backend: BackendChoice | 'all'
}

export interface SuiteRecord extends SuiteResult {
  name: SuiteName
  shows: string
  backend: BackendName
}

/** Output of `bench --suite … --json`. */
export interface SuitesRecord extends RunEnvironment {
  suites: SuiteRecord[]
}

/** @throws ResourceError if a GPU is requested and no GPU is usable. */
export async function runSuites(request: SuitesRequest, signal: AbortSignal): Promise<SuitesRecord> {
  const { suites: names, device, quick, repetitions } = request
  const backends = backendsOf(request.backend, device)
  const records = backends.flatMap((backend) =>
    names.map((name): SuiteRecord => ({ name, shows: suites[name].shows, backend, figures: [], wrong: [] })),
  )
  const trialOf = (
    { name, backend, figures, wrong }: SuiteRecord,
    onOneCore: boolean,
  ): Subprocess<SuiteResult> => ({
    experiment: `suite ${name}`,
    request: { backend, device, quick, repetitions, onOneCore } satisfies SuiteRequest,
    what: name,
    does: `ran the suite ${name}`,
    threads: onOneCore ? 1 : null,
    cost: 1,
    found(found) {
      figures.push(...found.figures)
      wrong.push(...found.wrong)
    },
  })
  const trials = records.flatMap((record) =>
    'onOneCore' in suites[record.name]
      ? [trialOf(record, false), trialOf(record, true)]
      : [trialOf(record, false)],
  )
  await runInSubprocesses(trials, signal)
  return { ...runEnvironment(backends.includes('cuda') ? device : null), suites: records }
}
