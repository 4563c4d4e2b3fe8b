/** Wrong usage exits with 2 and one line; help and the version are results. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../../bench/commands.js'
import { fails, root, succeeds } from './support.js'

describe('wrong usage', () => {
  it.each<[string, string[], string]>([
    ['an unknown command', ['multiplie'], 'multiply'],
    ['an unknown option', ['--jsn'], '--jsn'],
    ['an unknown option of a command', ['multiply', 'a.npy', 'b.npy', '--verfy'], '--verify'],
    ['a missing argument', ['multiply', 'a.npy'], "argument 'B'"],
    ['an argument too many', ['multiply', 'a.npy', 'b.npy', 'c.npy'], 'too many'],
    ['an argument for a command without', ['info', 'x'], 'too many'],
    ['a missing value', ['multiply', 'a.npy', 'b.npy', '-o'], '-o'],
    [
      'an unknown semiring',
      ['multiply', 'a.npy', 'b.npy', '--semiring', 'times-plus'],
      'max-plus, min-plus, ',
    ],
    ['an unknown backend', ['multiply', 'a.npy', 'b.npy', '--backend', 'gpu'], 'auto, cpu, cuda'],
    ['an unknown policy', ['multiply', 'a.npy', 'b.npy', '--overflow', 'ignore'], 'throw, saturate, wrap'],
    ['a device that is no number', ['multiply', 'a.npy', 'b.npy', '--device', 'first'], 'first'],
    ['a negative device', ['multiply', 'a.npy', 'b.npy', '--device', '-1'], '-1'],
    ['a device with a fraction', ['multiply', 'a.npy', 'b.npy', '--device', '0.5'], '0.5'],
    ['memory that is no number', ['multiply', 'a.npy', 'b.npy', '--memory', 'much'], 'such as 8GiB'],
    ['an unknown family', ['variants', '--family', 'x'], 'naive'],
  ])('is reported for %s', async (_, args, expected) => {
    const line = await fails(args, 2)
    expect(line).toContain(expected)
    expect(line).toMatch(/[^.]; see mpmml .*--help$/m)
  })

  it('is reported with the help of the command, if it exists', async () => {
    expect(await fails(['convert', 'a.npy'], 2)).toContain('; see mpmml convert --help')
    expect(await fails(['toString'], 2)).toContain('; see mpmml --help')
  })
})

it('lists the commands without arguments', async () => {
  const text = await succeeds([])
  const help = await succeeds(['--help'])
  const named = [...text.matchAll(/npx mpmml ([a-z][\w-]*)/g)].map(([, command]) => command!)
  expect(named.length).toBeGreaterThan(5)
  for (const command of named) expect(help).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
  // Both help texts list every command in exactly one group, one of which is the laboratory.
  const groups = new Map(
    [...text.matchAll(/^ {2}([A-Z][\w ]+?) {2,}([a-z, -]+)$/gm)].map(([, group, list]) => [
      group!,
      list!.split(', '),
    ]),
  )
  expect([...groups.values()].flat().sort()).toEqual(Object.keys(commands).sort())
  expect(groups.get('Laboratory')).toEqual(expect.arrayContaining(['report', 'microbench', 'sweep']))
  for (const [group, list] of groups) {
    const [, shown] = new RegExp(`^${group}:\\n((?: .*\\n)+)`, 'm').exec(`${help}\n`)!
    for (const command of list) expect(shown).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
  }
})

describe('help', () => {
  it('shows for each command the summary of its own help', async () => {
    const help = await succeeds(['--help'])
    expect(await succeeds(['help'])).toBe(help)
    const lines = [
      ...help.matchAll(/^ {2}([a-z][\w-]*)((?: \[[^\]]+\]| <[^>]+>)*) {2,}(\S.*(?:\n {9,}\S.*)*)$/gm),
    ]
    expect(lines.length).toBeGreaterThan(15)
    for (const [, name, usage, summary] of lines) {
      if (name === 'help') continue
      const own = await succeeds([name!, '--help'])
      const [, shown, description] = /^Usage: mpmml [\w-]+([^\n]*)\n\n(.+?)\n\n(?:Arguments|Options):/s.exec(
        own,
      )!
      // Help shows "[options]" even for commands whose only option is --help.
      expect(shown!.replace(' [options]', ''), name).toBe(usage!.replace(' [options]', ''))
      expect(description!.replaceAll('\n', ' '), name).toBe(summary!.replace(/\n +/g, ' '))
    }
  })

  it('needs no addon', async () => {
    // In this environment every module that loads the addon fails.
    const env = {
      NODE_OPTIONS: `--import=${JSON.stringify(`data:text/javascript,process.dlopen=()=>{throw new Error('none')}`)}`,
    }
    expect(await succeeds(['--help'], { env })).toContain('multiply')
    expect(await fails(['info'], 1, { env })).toContain('ERR_MPMML_ADDON')
  })
})

it('prints the version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const flag of ['--version', '-v', '-V']) expect(await succeeds([flag])).toBe(`${version}\n`)
})
