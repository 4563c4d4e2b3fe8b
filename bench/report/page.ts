/** Builds the report: one HTML page without external resources. */
import type { Results } from '../../lib/lab.js'
import { sections } from '../lab/experiments.js'
import { headline } from '../lab/kernel-sweeps.js'
import type { Figure } from './charts.js'
import { claimsOf, otherClaimsOf, verdictCounts } from './claims.js'
import { Data } from './data.js'
import { Html, html, raw, tableOf } from './html.js'
import type { ClaimStatus, PaperClaim } from './judge.js'
import { draw, legend } from './plot.js'
import type { Section } from './section.js'
import { style } from './style.js'
import type { Exhibit } from './thesis.js'

export const verdicts: Record<ClaimStatus, string> = {
  agrees: 'agrees',
  differs: 'differs',
  elsewhere: 'can’t be judged here',
  missing: 'not measured',
}

/** Returns the fragment identifier of a section. */
export const anchor = ({ exhibits, title }: Pick<Section, 'exhibits' | 'title'>) =>
  (exhibits?.[0] ?? title)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** Returns the names of exhibits as text, such as "Figures A.1, A.2 and A.3". */
function exhibitNames(exhibits: readonly string[] = []): string {
  const [first, ...rest] = exhibits
  if (first === undefined) return 'Beyond the thesis'
  const [kind, number] = first.split(' ')
  if (rest.length === 0) return first
  const numbers = [number, ...rest.map((name) => name.split(' ')[1])]
  return `${kind}s ${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
}

function claimItem(claim: PaperClaim): Html {
  return html`<li class="claim ${claim.verdict}">
<p><strong>${claim.source ?? 'The thesis'}:</strong> ${claim.statement} (${claim.where}).</p>
<p><strong>This GPU</strong> <span class="verdict">${verdicts[claim.verdict]}</span>: ${claim.measured}.</p>
${claim.why ? html`<p><strong>Why:</strong> ${claim.why}</p>` : undefined}
<p class="rule">Counts as agreement: ${claim.rule}.</p>
</li>
`
}

/**
 * Returns a chart at two widths, between which the page switches, with its legend and its table of numbers.
 */
function figureOf({ drawing, description, numbers }: Figure): Html {
  const picture = (name: string, width: number) =>
    html`<div class="${name}" role="img" aria-label="${description}">${raw(draw(drawing, width))}</div>`
  return html`<figure>
${drawing.chart.series.length > 1 ? raw(legend(drawing)) : undefined}
${picture('wide', 760)}${picture('narrow', 350)}
<details><summary>The numbers</summary>${numbers}</details>
</figure>`
}

function sectionOf(section: Section, claims: PaperClaim[]): Html {
  const { exhibits = [], title, caption, body, command } = section
  const bearing = claims.filter(({ id }) => section.claims?.includes(id))
  const shown = body.map((part) => (part instanceof Html ? part : figureOf(part)))
  return html`<section id="${anchor(section)}" data-exhibits="${exhibits.join('|')}">
<h2><small>${exhibitNames(exhibits)}</small>${title}</h2>
<p>${caption}</p>
${shown.length > 0 ? shown : html`<p class="none">Not measured. <code>${command}</code> measures it.</p>`}
${bearing.length > 0 ? html`<ul class="claims">${bearing.map(claimItem)}</ul>` : undefined}
</section>
`
}

function overview(claims: PaperClaim[]): Html {
  const rows = claims.map((claim) => [
    claim.source ? `${claim.statement} (${claim.source})` : claim.statement,
    html`<span class="${claim.verdict}"><span class="verdict">${verdicts[claim.verdict]}</span></span>`,
    claim.measured,
  ])
  return html`<div class="overview">${tableOf([['Statement', 'This GPU', 'Measured'], ...rows], 'Statements on this GPU')}</div>`
}

/** Returns the first and the last day of the measurements as text. */
function days({ points }: Results): string {
  const sorted = points.map(({ measured }) => measured.slice(0, 10)).sort()
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined) return 'nothing measured yet'
  return first === last ? `measured on ${first}` : `measured from ${first} to ${last}`
}

/**
 * Returns the page, and the verdicts on the thesis' statements and on measured statements of other
 * publications.
 *
 * @param only - exhibit to show, with the statements about it; all exhibits by default.
 */
export function reportPage(results: Results, only?: Exhibit): { page: string; claims: PaperClaim[] } {
  const data = new Data(results)
  const shown = sections(data).filter(({ exhibits }) => only === undefined || exhibits?.includes(only))
  const about = shown.flatMap((section) => section.claims ?? [])
  const claims = [...claimsOf(data), ...otherClaimsOf(data)].filter(
    ({ id }) => only === undefined || about.includes(id),
  )
  const ofThesis = claims.filter(({ source }) => source === undefined)
  const { machine } = results
  const best = headline(data)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>MPMML on ${machine.gpu.name}</title>
<style>${raw(style)}</style>
</head>
<body>
<header>
<h1>Max-plus matrix products on ${machine.gpu.name}</h1>
<p class="lead">${best ? html`The thesis’ kernels reach ${best}. ` : undefined}Of the ${ofThesis.length} statements of the thesis${only ? ` about ${only}` : ''},
this GPU ${verdictCounts(ofThesis)}.</p>
<p class="facts">${days(results)}; compute capability ${machine.gpu.computeCapability}, ${machine.gpu.multiprocessors}
multiprocessors, at most ${machine.gpu.maxClockMHz} MHz; driver for CUDA ${machine.driver}, built with CUDA ${machine.toolkit} for
${machine.architectures.join(' ')}; mpmml ${machine.mpmml}${machine.commit ? `, commit ${machine.commit.slice(0, 12)}${machine.commit.includes('+') ? ' with changes' : ''}` : ''}</p>
</header>
<main>
<section id="statements">
<h2>The thesis’ statements</h2>
<p>P. P. Ghalsasi, “Max-Plus Matrix Multiplication Library for GPUs – MPMML”, Colorado State University, 2019, on a GeForce GTX
980, GTX Titan X and GTX 1080 Ti. Each is judged by a rule that stands beside it below.</p>
${overview(claims)}
</section>
<nav aria-label="Tables and figures"><h2>Tables and figures</h2>
<ul>${shown.map((section) => html`<li><a href="#${anchor(section)}">${exhibitNames(section.exhibits)}: ${section.title}</a></li>\n`)}</ul></nav>
${shown.map((section) => sectionOf(section, claims))}
</main>
<footer>
<h2>How it was measured</h2>
<p>Speeds are medians of repeated launches, in 10⁹ operations per second (GOPS; 1000 of them are a TOPS): an addition and a
maximum are two operations, so a product has 2·M·N·K. Pale bars behind the marks reach from the first to the third quartile.
Kernels are timed by CUDA events on operands that are made on the GPU; several sets of them are taken in turn, so that none is still in the
cache. Values are random integers from −1000 to 1000. Each number’s clock, taken on the GPU itself, is in the tables.</p>
<p>Machine code: opcodes of the instructions that do the counted operations, as they were found by disassembling. “Of the pipes” compares
with what the arithmetic units allow for these instructions, by NVIDIA’s table of throughputs.</p>
</footer>
</body>
</html>
`
  return { page: page.text, claims }
}
