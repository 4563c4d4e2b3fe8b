// Draws the pictures of the documentation: npm run pictures
//
// levels.svg is drawn by `npx mpmml bench --suite levels --svg docs/images/levels.svg` on the GPU that it is about.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs a program of the project, and returns what it prints. */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return stdout
  process.stderr.write(stderr)
  throw new Error(`node ${args.join(' ')} ended with ${status}`)
}

for (const name of ['speed', 'directions', 'product']) {
  writeFileSync(`${root}docs/images/${name}.svg`, run(`docs/images/${name}.mjs`))
}
for (const name of ['project', 'production-line', 'timetable']) {
  run(`examples/${name}.mjs`, '-o', `docs/images/${name}.svg`)
}
