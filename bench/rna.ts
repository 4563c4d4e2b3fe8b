/** Computes, writes and describes foldings and interactions of records in FASTA files. */
import type { BackendName } from '../lib/index.js'
import {
  bpmax,
  type FastaRecord,
  type FoldOptions,
  type FoldResult,
  type InteractionWindow,
  nussinov,
  readFasta,
} from '../lib/rna.js'
import { duration, labelled, rate, withStatus } from './output.js'
import { inputPath, shownInput } from './pipes.js'
import { why } from './place.js'
import { startProgress } from './progress.js'

type Model = Pick<FoldOptions, 'weights' | 'minLoop' | 'backend' | 'device'>

export interface FoldRequest extends Model {
  fasta: string
}

interface NamedFolding
  extends Pick<FastaRecord, 'name' | 'sequence'>,
    Pick<FoldResult, 'score' | 'pairs' | 'dotBracket'> {}

/** Output of `rna --nussinov --json`. */
interface FoldRecord {
  records: NamedFolding[]
  backend: BackendName
  device: string
  timing: { totalMs: number }
}

const readStrands = (file: string) =>
  withStatus(`reading ${shownInput(file)}`, () => readFasta(inputPath(file)))

/** @throws errors of all steps. */
export async function foldFile({ fasta, ...model }: FoldRequest, signal: AbortSignal): Promise<FoldRecord> {
  const records = await readStrands(fasta)
  const started = performance.now()
  const progress = startProgress(1)
  try {
    const results = await nussinov(
      records.map(({ sequence }) => sequence),
      { ...model, signal, onProgress: ({ done }) => progress.show('folding', done) },
    )
    return {
      records: results.map(({ score, pairs, dotBracket }, index) => {
        const { name, sequence } = records[index]!
        return { name, sequence, score, pairs, dotBracket }
      }),
      backend: results[0]!.backend,
      device: results[0]!.device,
      timing: { totalMs: performance.now() - started },
    }
  } finally {
    progress.end()
  }
}

/** Returns each record with its structure and score, in the format that other RNA programs read. */
export function describeFoldings({ records }: FoldRecord): string {
  return records
    .map(({ name, sequence, dotBracket, score }) => `>${name}\n${sequence}\n${dotBracket} (${score})`)
    .join('\n')
}

export interface InteractionRequest extends Model {
  query: string
  target: string
  window: number | undefined
  top: number
}

interface NamedInteraction extends InteractionWindow {
  query: string
  target: string
}

/** Output of `bpmax --json`. Indices begin at 0. */
interface InteractionRecord {
  interactions: NamedInteraction[]
  /** Number of steps of the recurrence for all pairs of records. */
  steps: number
  backend: BackendName
  device: string
  timing: { totalMs: number }
}

interface Found {
  query: FastaRecord
  target: FastaRecord
  window: InteractionWindow
}

/** @throws errors of all steps. */
export async function interactFiles(request: InteractionRequest, signal: AbortSignal) {
  const { top, query: _, target: __, ...model } = request
  const queries = await readStrands(request.query)
  const targets = await readStrands(request.target)
  const started = performance.now()
  const pairs = queries.flatMap((query) => targets.map((target) => ({ query, target })))
  // Durations are roughly proportional to the cubes of the lengths.
  const works = pairs.map(({ query, target }) => (query.sequence.length * target.sequence.length) ** 3)
  const progress = startProgress(works.reduce((x, y) => x + y, 0))
  const found: Found[] = []
  let place: Pick<InteractionRecord, 'backend' | 'device'> = { backend: 'cpu', device: '' }
  let [steps, done] = [0, 0]
  try {
    for (const [index, { query, target }] of pairs.entries()) {
      const work = works[index]!
      const what = `${query.name} with ${target.name}`
      progress.show(what, done)
      const before = done
      const result = await bpmax(query.sequence, target.sequence, {
        ...model,
        top,
        signal,
        onProgress: (now) => progress.show(what, before + now.done * work),
      })
      done += work
      steps += result.steps
      place = { backend: result.backend, device: result.device }
      // No spread syntax, because the number of windows may exceed the limit of arguments.
      for (const window of result.windows) found.push({ query, target, window })
    }
  } finally {
    progress.end()
  }
  const best = found.sort((x, y) => y.window.score - x.window.score).slice(0, top)
  const timing = { totalMs: performance.now() - started }
  const interactions = best.map(({ query, target, window }) => ({
    query: query.name,
    target: target.name,
    ...window,
  }))
  const record: InteractionRecord = { interactions, steps, ...place, timing }
  return { record, text: describe(best, record, request) }
}

function describe(best: readonly Found[], record: InteractionRecord, request: InteractionRequest): string {
  const { steps, timing, backend, device } = record
  const total = `${duration(timing.totalMs)}, ${rate((2 * steps) / timing.totalMs / 1e6)} of the recurrence's steps`
  const last = labelled([
    ['backend', `${backend}, ${device}: ${why(record, request)}`],
    ['total', total],
  ])
  return [...best.map(describeOne), last].join('\n\n')
}

function describeOne({ query, target, window }: Found): string {
  const { score, alone, start, length, pairs, dotBracket } = window
  const [dots1, dots2] = dotBracket.split('&') as [string, string]
  const end = start + length
  const place = length < target.sequence.length ? `, bases ${start + 1}–${end}` : ''
  const head = labelled([
    ['query', `${query.name}, ${query.sequence.length} bases`],
    ['target', `${target.name}, ${target.sequence.length} bases${place}`],
    ['score', `${score}; ${alone} if they don't interact`],
    [
      'pairs',
      `${pairs.within1.length} in the query, ${pairs.within2.length} in the target, ${pairs.between.length} between them`,
    ],
  ])
  return `${head}\n\n${query.sequence}&${target.sequence.slice(start, end)}\n${dots1}&${dots2.slice(start, end)}`
}
