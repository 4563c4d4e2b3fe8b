// Draws the pictures of the documentation, and writes the tables of measured figures: npm run pictures
//
// It needs the output of `npm run build`, and no GPU.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withDarkTheme } from './dark.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

const script = (name) => [name, [`docs/images/${name}.mjs`]]
const chart = (name) => [name, ['docs/images/charts.mjs', name]]
const drawing = (name) => [name, ['docs/images/thesis.mjs', name]]
const example = (name) => [name, [`examples/${name}.mjs`, '-o']]

/** The program that draws each picture: it prints it, or if the last argument is -o, it writes it into the file that follows. */
export const pictures = Object.fromEntries([
  ...[
    'speed',
    'report',
    'product',
    'directions',
    'tiles',
    'cases',
    'patterns',
    'bands',
    'timeline',
    'layers',
    'links',
  ].map(script),
  ...['memories', 'a-transposed', 'instances'].map(drawing),
  ...[
    'figure-2.1',
    'figure-4.1',
    'figure-4.2',
    'figure-4.5',
    'figure-4.6',
    'roofline',
    'levels',
    'speed-up',
  ].map(chart),
  ...['project', 'production-line', 'timetable'].map(example),
  ['widest-paths', ['examples/widest-paths.mjs', '--from', 'Dock', '--to', 'Tower', '-o']],
])

/** Runs a program of the project, and returns its output. */
function run(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return stdout
  throw new Error(`node ${args.join(' ')} ended with ${status}\n${stderr}`)
}

/** Draws a picture, and returns it with its dark theme. */
export const drawn = (name) => withDarkTheme(draw(pictures[name]))

/** Runs the program of a picture, and returns the picture. */
function draw(args) {
  if (args.at(-1) !== '-o') return run(args)
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-picture-'))
  try {
    run([...args, join(folder, 'picture.svg')])
    return readFileSync(join(folder, 'picture.svg'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of Object.keys(pictures)) writeFileSync(`${root}docs/images/${name}.svg`, drawn(name))
  run(['docs/tables.mjs'])
}
