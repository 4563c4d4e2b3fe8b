/**
 * Products whose elements have a small range, in lines or in chunks of K, with and without witnesses. A GPU
 * computes them as exponents on tensor cores. Each case lists the arithmetics that can compute it; all others
 * must reject it.
 */
import { levelsCheck } from './levels/check.js'
import { smallChunks } from './levels/chunks.js'
import { smallLines } from './levels/lines.js'
import { witnessesOfLevels } from './levels/witnesses.js'

export function levelsSuite(backend: 'cuda' | 'cpu'): void {
  const check = levelsCheck(backend)
  smallLines(check)
  smallChunks(check)
  witnessesOfLevels(check)
}
