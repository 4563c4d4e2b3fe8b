/** Drawing of the propagation of a delay in SVG. */
import { LimitError } from '../errors.js'
import { assertObject } from '../options.js'
import type { DelayResult } from './delay.js'
import { bar, frame, shortened, shown, text } from './svg.js'

const [TOP, PITCH, COLUMN, LEFT] = [56, 26, 58, 110]
const MOST = 200

/**
 * Draws the propagation of a delay: a row for each departure that is late, a column for each round, and in it a bar as long as the delay. The departure
 * that is late at first is filled.
 *
 * @param result - result of `delay()`.
 * @returns SVG, with a light and a dark theme. All names are escaped.
 * @throws LimitError (ERR_MPMML_LIMIT) for more than 200 departures or rounds; ERR_MPMML_DTYPE.
 * @example
 * const timetable = { nodes: 2, keys: ['A', 'B'], from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
 * const svg = drawDelay(await delay(timetable, { period: 5, at: 'A', by: 4 }))
 * console.log(svg.includes('A in round 0: 4 late')) // true
 */
export function drawDelay(result: DelayResult): string {
  assertObject(result, 'result', 'a result of delay()', ['late', 'goneBy'])
  const { late, goneBy } = result
  const rows = [...new Set(late.map(({ departure }) => departure))]
  const rounds = late.reduce((most, { round }) => Math.max(most, round + 1), 0)
  if (rows.length > MOST || rounds > MOST)
    throw new LimitError(
      `a drawing of a delay must have at most ${MOST} departures and rounds, but it has ${rows.length} and ${rounds}: set option rounds`,
    )
  const longest = late.reduce((most, { delay }) => Math.max(most, delay), 0)
  const width = LEFT + COLUMN * rounds + 10
  const height = TOP + PITCH * rows.length + 12
  const position = new Map(rows.map((departure, row) => [departure, TOP + PITCH * row]))
  const end = goneBy === null ? 'the delay stays' : `gone by round ${goneBy}`
  const label = `Delays of ${rows.length} departures in ${rounds} rounds: ${end}`
  const title = `Delays: ${end}`
  return frame(Math.max(width, 20 + 7.5 * title.length), height, label, [
    text(10, 18, title, { isBold: true }),
    ...Array.from({ length: rounds }, (_, round) =>
      text(LEFT + COLUMN * round, 42, `round ${round}`, { kind: 'faint' }),
    ),
    ...rows.map((departure) => text(10, position.get(departure)! + 12, shortened(`${departure}`, 14))),
    ...late.flatMap(({ round, departure, delay, because }) => {
      const [x, y] = [LEFT + COLUMN * round, position.get(departure)!]
      const about = `${departure} in round ${round}: ${shown(delay)} late${because === null ? '' : `, because of ${because}`}`
      const long = Number(Math.max(2, ((COLUMN - 30) * delay) / longest).toFixed(2))
      return [
        bar(because === null ? 'strong' : 'bar', x, y + 2, long, about),
        text(x + long + 4, y + 12, shown(delay), { kind: 'faint' }),
      ]
    }),
  ])
}
