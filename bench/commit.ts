/** The commit that the package runs from, if it is a clone. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The commit's hash, with "+changes" if tracked files differ from it; null outside of a clone or without git. */
export function commit(): string | null {
  const root = dirname(createRequire(import.meta.url).resolve('mpmml/package.json'))
  if (!existsSync(join(root, '.git'))) return null
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const hash = git('rev-parse', 'HEAD')
    return git('status', '--porcelain', '--untracked-files=no') === '' ? hash : `${hash}+changes`
  } catch {
    return null
  }
}
