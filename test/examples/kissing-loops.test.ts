/** The example of kissing loops, run by the command in its first comment. */
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { headOf, lines, run } from './support.js'

const example = 'kissing-loops.mjs'

describeUnless(withoutBuild, 'kissing loops', () => {
  it('finds the loops of TAR and gag', async () => {
    expect(await lines(example)).toEqual([
      'TAR & gag',
      'GAGCCUGGGAGCUC&CCUAUCCCAGUAGG',
      '(((([[[[[[))))&((((]]]]]]))))',
      "score 37, 22 if they don't interact",
      '4 pairs in TAR, 4 in gag, 6 between them',
    ])
  })

  it('adds the loops of OxyS and fhlA to the score', async () => {
    const printed = await lines(example, ['--pair', 'oxys'])
    const [, score, alone] = /^score (\d+), (\d+) if/.exec(printed[3]!)!
    expect(Number(score)).toBeGreaterThan(Number(alone))
  })

  it('rejects unknown pairs', async () => {
    const { status, stderr } = await run(example, ['--pair', 'moon'])
    expect(status).not.toBe(0)
    expect(stderr).toContain('there is no pair moon')
  })

  it('lists its options', () => {
    expect(headOf(example)).toContain('--pair')
  })
})
