/** Random calls on a backend, with a fixed seed. Uses the output of `npm run build`. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { root } from '../../lib/native.js'

export function fuzzSuite(backend: BackendName): void {
  it('computes random calls by the definition', { timeout: 600_000 }, () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        ...[join(root, 'native', 'tools', 'fuzz.mjs'), '--seed', '8', '--cases', '200'],
        ...['--backend', backend],
      ],
      { encoding: 'utf8' },
    )
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/\n[1-9]\d* elements of [1-9]\d* products .* all are right\n$/)
  })
}
