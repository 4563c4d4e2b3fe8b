/** Colours by name. Pages define them as CSS variables; picture files contain their values inline. */
type Colours = Readonly<Record<string, string>>

/** Colours of a light page, and of pictures in files. */
export const light: Colours = {
  page: '#fdfdfb',
  panel: '#f3f3ee',
  text: '#1b1c1e',
  muted: '#5d6168',
  rule: '#d6d6cf',
  link: '#0b5cad',
  agrees: '#0a6b3d',
  differs: '#a2480a',
  missing: '#5d6168',
  'series-1': '#0b62b5',
  'series-2': '#c4500a',
  'series-3': '#00795b',
  'series-4': '#a8338c',
  'series-5': '#7a5c00',
  'series-6': '#4b4fd1',
  'series-7': '#b3202c',
  'series-8': '#55585e',
}

const dark: Colours = {
  page: '#16181b',
  panel: '#1f2226',
  text: '#e7e8ea',
  muted: '#a0a6ae',
  rule: '#3a3f46',
  link: '#7db8ff',
  agrees: '#54d494',
  differs: '#ffa665',
  missing: '#a0a6ae',
  'series-1': '#6db3ff',
  'series-2': '#ff9d5c',
  'series-3': '#3ed1a5',
  'series-4': '#f08fd6',
  'series-5': '#e0c04a',
  'series-6': '#a9a5ff',
  'series-7': '#ff8a8f',
  'series-8': '#b9bec6',
}

const variables = (colours: Colours) =>
  Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(' ')

/** The page's style sheet: readable on a phone, in light and in dark. */
export const style = `
:root { color-scheme: light dark; ${variables(light)} }
@media (prefers-color-scheme: dark) { :root { ${variables(dark)} } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main, header, footer { max-width: 50rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; }
footer { padding-bottom: 3rem; color: var(--muted); font-size: .9rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .5rem; }
h2 small { display: block; font-size: .85rem; font-weight: 600; color: var(--muted); letter-spacing: .02em; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
section { margin: 3rem 0; scroll-margin-top: 1rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.facts { color: var(--muted); font-size: .9rem; }
figure { margin: 1.25rem 0; }
figure svg { max-width: 100%; height: auto; display: block; font-variant-numeric: tabular-nums; }
.narrow { display: none; }
@media (max-width: 48rem) { .wide { display: none; } .narrow { display: block; } }
.legend-swatches { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin-bottom: .5rem; font-size: .85rem; }
.legend-swatch { display: inline-flex; align-items: center; gap: .4rem; }
.legend-swatch svg { flex: none; }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: .4rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; width: 100%; }
caption { text-align: left; padding: .5rem .6rem; color: var(--muted); }
th, td { text-align: left; padding: .3rem .6rem; border-top: 1px solid var(--rule); vertical-align: top; }
th { font-weight: 600; }
thead th { background: var(--panel); }
td { white-space: nowrap; }
.claims { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: .75rem; }
.claim { background: var(--panel); border-left: .25rem solid var(--missing); border-radius: .3rem; padding: .7rem .9rem; }
.claim p { margin: .25rem 0; }
.claim.agrees { border-color: var(--agrees); }
.claim.differs { border-color: var(--differs); }
.verdict { font-weight: 700; color: var(--missing); }
.agrees .verdict { color: var(--agrees); }
.differs .verdict { color: var(--differs); }
.rule { color: var(--muted); font-size: .85rem; }
.none { border: 1px dashed var(--rule); border-radius: .4rem; padding: 1.5rem 1rem; color: var(--muted); text-align: center; }
.overview td, .overview th { white-space: normal; }
.overview td:nth-child(2) { min-width: 5.5rem; }
@media (max-width: 48rem) {
  .overview :is(table, caption, tbody, tr, th, td) { display: block; border: 0; }
  .overview thead { display: none; }
  .overview tr { border-top: 1px solid var(--rule); padding: .4rem 0; }
  .overview :is(th, td) { padding: .1rem .6rem; overflow-wrap: anywhere; }
}
nav ul { columns: 2 18rem; column-gap: 2rem; padding-left: 1.2rem; margin: .5rem 0; font-size: .95rem; }
@media print { .wide { display: block; } .narrow { display: none; } details { display: none; } }
`
