/**
 * Options of all functions: null, strings and unknown names are rejected. The guides' tables agree with the
 * interfaces.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { flags } from '../../bench/flags.js'
import { pagesWithOptions, withOptions } from '../../docs/options.mjs'
import * as algebra from '../../lib/algebra.js'
import * as arrays from '../../lib/arrays.js'
import * as files from '../../lib/files.js'
import * as graphs from '../../lib/graph.js'
import * as mpmml from '../../lib/index.js'
import * as lab from '../../lib/lab.js'
import * as queue from '../../lib/queue.js'
import * as rna from '../../lib/rna.js'
import * as schedules from '../../lib/schedule.js'
import { coded } from '../support/coded.js'

const a = mpmml.matrix(2, 2, [1, 2, 3, 4])
const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [3, 4] }
const forward = { nodes: 2, from: [0], to: [1], weight: [3] }
const entries = {
  shape: [2, 2] as [number, number],
  row: Int32Array.of(0),
  col: Int32Array.of(1),
  values: Int32Array.of(5),
}
let folder: string
let device: mpmml.Device
let resident: mpmml.DeviceMatrix
const at = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mpmml-options-'))
  for (const name of ['a.npy', 'a.csv', 'a.tsv', 'a.mtx']) await files.writeMatrix(at(name), a)
  await files.writeNpz(at('a.npz'), { a })
  writeFileSync(at('a.gr'), 'p sp 2 1\na 1 2 5\n')
  writeFileSync(at('a.fasta'), '>a\nGC\n')
  device = await mpmml.openDevice({ backend: 'cpu' })
  resident = await device.upload(a)
})
afterAll(async () => {
  await device.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Calls with options that are right except for the tested one. */
const calls: Record<string, (options: never) => unknown> = {
  mpmm: (o) => mpmml.mpmm(a, a, o),
  mpmmSync: (o) => mpmml.mpmmSync(a, a, o),
  mpmmGrouped: (o) => mpmml.mpmmGrouped([{ a, b: a }], o),
  plan: (o) => mpmml.plan(a, a, o),
  openDevice: (o) => mpmml.openDevice(o),
  explainBackend: (o) => mpmml.explainBackend(o),
  'matrix.view': (o) => resident.view(o),
  'matrix.combine': (o) => resident.combine(resident, o),
  readNpy: (o) => files.readNpy(at('a.npy'), o),
  writeNpy: (o) => files.writeNpy(at('out.npy'), a, o),
  parseMatrix: (o) => files.parseMatrix('7\n', o),
  parseNpy: (o) => files.parseNpy(files.formatNpy(a), o),
  readMatrix: (o) => files.readMatrix(at('a.npy'), o),
  writeMatrix: (o) => files.writeMatrix(at('out.npy'), a, o),
  readNpz: (o) => files.readNpz(at('a.npz'), o),
  writeNpz: (o) => files.writeNpz(at('out.npz'), { a }, o),
  npzNames: (o) => files.npzNames(at('a.npz'), o),
  readEntries: (o) => files.readEntries(at('a.gr'), o),
  writeEntries: (o) => files.writeEntries(at('out.mtx'), entries as never, o),
  parseGraph: (o) => graphs.parseGraph('0,1\n', o),
  isSparseFile: (o) => files.isSparseFile(at('a.mtx'), o),
  writeText: (o) => files.writeText(at('out.txt'), 'text', o),
  readGraph: (o) => graphs.readGraph(at('a.gr'), o),
  parsePlan: (o) => schedules.parsePlan('id,days\n1,2\n', o),
  parseFasta: (o) => rna.parseFasta('>a\nGC\n', o),
  readFasta: (o) => rna.readFasta(at('a.fasta'), o),
  shortestPaths: (o) => graphs.shortestPaths(graph, o),
  longestPaths: (o) => graphs.longestPaths(forward, o),
  widestPaths: (o) => graphs.widestPaths(graph, o),
  mostReliablePaths: (o) => graphs.mostReliablePaths({ ...graph, weight: Float32Array.of(0.5, 0.5) }, o),
  transitiveClosure: (o) => graphs.transitiveClosure(graph, o),
  verifyPaths: async (o) => graphs.verifyPaths(graph, await graphs.shortestPaths(graph, { paths: true }), o),
  star: (o) => algebra.star(mpmml.matrix(1, 1, [0]), o),
  plus: (o) => algebra.plus(mpmml.matrix(1, 1, [0]), o),
  power: (o) => algebra.power(a, 2, o),
  maximumCycleMean: (o) => algebra.maximumCycleMean(graph, o),
  minimumCycleMean: (o) => algebra.minimumCycleMean(graph, o),
  componentCycleMeans: (o) => algebra.componentCycleMeans(graph, o),
  criticalGraph: (o) => algebra.criticalGraph(graph, o),
  cycleTimes: (o) => algebra.cycleTimes(graph, o),
  weightMatrix: (o) => algebra.weightMatrix(graph, o),
  eigenvectors: (o) => algebra.eigenvectors(graph, o),
  earliestStarts: (o) => algebra.earliestStarts(forward, o),
  latestStarts: (o) => algebra.latestStarts(forward, o),
  leftResidual: (o) => algebra.leftResidual(a, a, o),
  rightResidual: (o) => algebra.rightResidual(a, a, o),
  greatestSubsolution: (o) => algebra.greatestSubsolution(a, mpmml.matrix(2, 1, [1, 2]), o),
  periodicRegime: (o) => algebra.periodicRegime(a, Int32Array.of(1, 2), o),
  trajectory: (o) => algebra.trajectory(a, Int32Array.of(1, 2), o),
  nussinov: (o) => rna.nussinov('GGGAAACCC', o),
  bpmax: (o) => rna.bpmax('GGG', 'CCC', o),
  multiplyArrays: (o) => arrays.multiplyArrays(at('a.npy'), at('a.npy'), at('c.npy'), o),
  shortestPathsArrays: (o) => arrays.shortestPathsArrays(at('a.npy'), at('c.npy'), o),
  planBlocks: (o) => arrays.planBlocks(o),
  multiplyOnQueue: (o) => queue.multiplyOnQueue(at('a.npy'), at('a.npy'), at('c.npy'), o),
  shortestPathsOnQueue: (o) => queue.shortestPathsOnQueue(at('a.npy'), at('c.npy'), o),
  queueStatus: (o) => queue.queueStatus(o),
  startWorker: (o) => queue.startWorker(o),
  ceiling: (o) => lab.ceiling(o),
  tune: (o) => lab.tune(o),
}

it.each(Object.keys(calls))('rejects invalid options of %s', async (name) => {
  const call = async (options: unknown) => calls[name]!(options as never)
  await expect(call({ unknownOption: 1 })).rejects.toEqual(coded('OPTION', /unknownOption/))
  await expect(call(null)).rejects.toEqual(coded('OPTION', /null/))
  await expect(call('text')).rejects.toEqual(coded('OPTION', /'text'/))
})

it('lists in the guides the options that npm run options writes', () => {
  expect(pagesWithOptions().length).toBeGreaterThan(5)
  for (const path of pagesWithOptions()) {
    const page = readFileSync(path, 'utf8')
    expect(withOptions(page, flags), path).toBe(page)
  }
})
