/**
 * Model of the time of a product on several GPUs and hosts; see docs/scaling.md. The model's constants were
 * measured on one type of host with H200 GPUs.
 */
import type { ProductShape } from './arguments.js'

/** Rates in operations or bytes per second, and times in seconds. */
export interface Machine {
  /** Rate of one GPU: two operations per step of int32 max-plus. */
  operations: number
  /** Bandwidth of one GPU in one direction, from or to pinned memory of the host. */
  link: number
  /** Bandwidth between all GPUs of a host and its memory. */
  host: number
  /** Bandwidth into one GPU from its peers. */
  peer: number
  /** Bandwidth of the storage that all hosts share. */
  disk: number
  /** Bandwidth of a host's network. */
  network: number
  /** Time to start the tasks of a product on several GPUs, and to join them. */
  together: number
  /** Time to take one job from a queue and to report it as done. */
  job: number
}

export const machine: Machine = {
  operations: 36e12,
  link: 55e9,
  host: 168e9,
  peer: 393e9,
  disk: 2.5e9,
  network: 25e9,
  together: 0.4e-3,
  job: 10e-3,
}

export interface Estimate {
  gpus: number
  /** Seconds of the kernels of one GPU. */
  kernelS: number
  /** Seconds with operands and result on the GPUs: B is copied from peer to peer. */
  residentS: number
  /** Seconds with operands and result in pinned memory of the host. */
  hostS: number
  /** Resource that limits `hostS`. */
  limit: 'kernels' | 'links' | 'memory of the host'
}

const bytesOf = (elements: number, bytes: number) => elements * bytes

/** Fraction of the first operands and the last results whose transfer can't overlap with computation. */
const UNHIDDEN = 1 / 8

/** Estimates the time of one product on `gpus` GPUs of a host. */
export function estimateHost(
  { batch, m, n, k }: ProductShape,
  gpus: number,
  bytes = 4,
  on: Machine = machine,
): Estimate {
  const kernelS = (2 * batch * m * n * k) / on.operations / gpus
  const [a, b, c] = [bytesOf(batch * m * k, bytes), bytesOf(batch * k * n, bytes), bytesOf(batch * m * n, 4)]
  const exchange = (b * (gpus - 1)) / gpus / on.peer
  const together = gpus > 1 ? on.together : 0
  const rate = Math.min(gpus * on.link, on.host)
  // Uploads and downloads go at the same time, in both directions of a link.
  const transfers = Math.max(a + b, c) / rate + exchange
  const edges = UNHIDDEN * ((a + b + c) / rate + exchange)
  const hostS = Math.max(kernelS, transfers) + edges + together
  const limit = kernelS >= transfers ? 'kernels' : gpus * on.link < on.host ? 'links' : 'memory of the host'
  return { gpus, kernelS, residentS: kernelS + exchange + together, hostS, limit }
}

export interface ClusterEstimate {
  hosts: number
  gpus: number
  /** Seconds: blocks of C as jobs of a queue, operands and result on shared storage. */
  jobsS: number
  /**
   * Seconds: operands distributed over the hosts' memories, with panels sent along rows and columns of hosts
   * (MPI or NCCL).
   */
  panelsS: number
  /** Resource that limits `jobsS`. */
  limit: 'kernels' | 'storage' | 'network'
}

/**
 * Candidate sizes of the square blocks of C. Each job computes one block on one GPU. Two results of the
 * largest size take 32 GiB of GPU memory.
 */
const BLOCKS = [8192, 16384, 32768, 65536]

/** Estimates the time of one product on hosts with `gpus` GPUs each; jobs use the fastest size of blocks. */
export function estimateHosts(
  shape: ProductShape,
  hosts: number,
  gpus: number,
  on: Machine = machine,
): ClusterEstimate {
  const estimates = BLOCKS.map((block) => estimateBlocks(shape, hosts, gpus, block, on))
  return estimates.reduce((best, estimate) => (estimate.jobsS < best.jobsS ? estimate : best))
}

function estimateBlocks(
  { batch, m, n, k }: ProductShape,
  hosts: number,
  gpus: number,
  block: number,
  on: Machine,
): ClusterEstimate {
  const bytes = 4
  const kernelS = (2 * batch * m * n * k) / on.operations / (hosts * gpus)
  // If the jobs don't divide evenly among the GPUs, some GPUs are idle in the last round.
  const devices = hosts * gpus
  const [rows, cols] = [Math.ceil(m / block), Math.ceil(n / block)]
  const jobs = batch * rows * cols
  const read = batch * bytes * (m * k * cols + k * n * rows)
  const written = 4 * batch * m * n
  const storageS = (read + written) / on.disk
  const networkS = (read + written) / hosts / on.network
  const turns = Math.ceil(jobs / devices)
  const computeS = (kernelS * turns * devices) / jobs
  const jobsS = Math.max(computeS, storageS, networkS) + on.job * turns
  // Hosts form a square, and each host receives the panels of its row and of its column.
  const side = Math.sqrt(hosts)
  const received = (batch * bytes * (m * k + k * n)) / side
  const loadS = (batch * bytes * (m * k + k * n) + written) / on.disk
  const panelsS = Math.max(kernelS, hosts > 1 ? received / on.network : 0) + loadS
  const limit =
    computeS >= Math.max(storageS, networkS) ? 'kernels' : storageS >= networkS ? 'storage' : 'network'
  return { hosts, gpus, jobsS, panelsS, limit }
}
