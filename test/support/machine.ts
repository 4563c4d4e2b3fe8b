/** What the tests need to know of the machine. */
import { explainBackend } from '../../lib/index.js'

/** Why CUDA can't be used here; undefined where it can. */
export function withoutCuda(): string | undefined {
  const { backend, reason } = explainBackend()
  return backend === 'cuda' ? undefined : reason
}
