// Formats the C++ and CUDA sources with clang-format (.clang-format has the style). --check only lists the files that
// aren't formatted, and fails if there are any.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const native = dirname(dirname(fileURLToPath(import.meta.url)))
const check = process.argv.includes('--check')

const files = readdirSync(native, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(h|cpp|cu|cuh)$/.test(entry.name))
  .map((entry) => relative(process.cwd(), join(entry.parentPath ?? entry.path, entry.name)))
  .sort()

const { clangFormatPath } = createRequire(import.meta.url)('clang-format-node')
const { status, stderr, error } = spawnSync(
  clangFormatPath,
  [...(check ? ['-n', '-Werror'] : ['-i']), ...files],
  {
    encoding: 'utf8',
  },
)
if (error) throw error
if (status !== 0) {
  const unformatted = files.filter((file) => stderr.includes(`${file}:`))
  console.error(
    unformatted.length > 0
      ? `not formatted as .clang-format asks (npm run format fixes it):\n${unformatted.map((file) => `  ${file}`).join('\n')}`
      : stderr,
  )
  process.exit(1)
}
