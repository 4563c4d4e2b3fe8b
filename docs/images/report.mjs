// Draws the README's picture of the laboratory: node docs/images/report.mjs > docs/images/report.svg
//
// The head of the page that `mpmml report` makes from the results of an H200 in test/cli/fixtures: the statements of the thesis
// with their verdicts, and Figure 4.1. Plain attributes and a background of its own, for light and for dark pages.
import { fileURLToPath } from 'node:url'
import { sections } from '../../dist/bench/lab/experiments.js'
import { headline } from '../../dist/bench/lab/kernel-sweeps.js'
import { claimsOf, verdictCounts } from '../../dist/bench/report/claims.js'
import { Data } from '../../dist/bench/report/data.js'
import { verdicts } from '../../dist/bench/report/page.js'
import { svgFile } from '../../dist/bench/report/plot.js'
import { light } from '../../dist/bench/report/style.js'
import { readResults } from '../../dist/lib/lab.js'

const width = 860
const pitch = 22

const escaped = (text) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
const text = (x, y, content, { fill = light.text, size = 13, weight = 'normal' } = {}) =>
  `<text x="${x}" y="${y}" fill="${fill}" font-size="${size}" font-weight="${weight}">${escaped(content)}</text>`

const file = fileURLToPath(new URL('../../test/cli/fixtures/h200.json', import.meta.url))
const data = new Data(await readResults(file))
const claims = claimsOf(data)
const title = `Max-plus matrix products on ${data.machine.gpu.name}`

const rows = claims.flatMap(({ statement, verdict }, index) => {
  const y = 118 + pitch * index
  const fill = light[verdict] ?? light.missing
  return [
    `<rect x="16" y="${y - 15}" width="4" height="${pitch - 3}" fill="${fill}"/>`,
    text(28, y, verdicts[verdict], { fill, size: 12, weight: 600 }),
    text(180, y, statement, { size: 12 }),
  ]
})
const top = 118 + pitch * claims.length

const section = sections(data).find(({ exhibits }) => exhibits?.includes('Figure 4.1'))
const { drawing } = section.body.find((part) => part.drawing)
const figure = svgFile(drawing, `Figure 4.1: ${section.title}`).trim()
const figureHeight = Number(/height="(\d+)"/.exec(figure)[1])
const height = top + figureHeight + 8

process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" role="img" aria-label="${title}">
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${light.page}" stroke="${light.rule}"/>
${text(16, 36, title, { size: 20, weight: 700 })}
${text(16, 62, `The thesis’ kernels reach ${headline(data)}.`, { size: 14 })}
${text(16, 84, `Of the ${claims.length} statements of the thesis this GPU ${verdictCounts(claims)}:`, { size: 14 })}
${rows.join('\n')}
${figure.replace('<svg ', `<svg x="4" y="${top}" `).replace(`width="${width}"`, `width="${width - 8}"`)}
</svg>
`)
