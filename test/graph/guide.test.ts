/** docs/paths.md documents all functions. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { errorClasses } from '../../lib/errors.js'
import * as graphs from '../../lib/graph.js'
import { root } from '../cli/support.js'

const guide = readFileSync(join(root, 'docs', 'paths.md'), 'utf8')
it('names every function, and only errors that exist', () => {
  for (const name of Object.keys(graphs)) expect(guide).toContain(`\`${name}`)
  for (const [code] of guide.matchAll(/ERR_MPMML_\w+/g)) expect(errorClasses).toHaveProperty(code)
})
