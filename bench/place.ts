/** Explains why a command used its backend. */
import type { BackendName } from '../lib/index.js'
import { explainBackend, type MpmmOptions } from '../lib/index.js'

export function why(
  record: { backend: BackendName },
  request: Pick<MpmmOptions, 'backend' | 'device'> & { variant?: string | undefined },
): string {
  if (request.variant !== undefined) return 'as --variant asks'
  if (request.backend !== undefined && request.backend !== 'auto') return 'as --backend asks'
  const { backend, reason } = explainBackend({ device: request.device })
  return backend === record.backend ? reason : `it is likely to finish there sooner than with ${backend}`
}
