/**
 * Schedules the project in house.csv: earliest and latest start of each job, and the critical jobs.
 *
 *   node examples/project.mjs                       the answers
 *   node examples/project.mjs -o project.svg        and a Gantt chart
 *
 * The project is fictional.
 */
import { writeFile } from 'node:fs/promises'
import { drawGantt, readPlan, schedule } from 'mpmml/schedule'

const plan = await readPlan(new URL('house.csv', import.meta.url))
const found = await schedule(plan, { start: '2026-03-02', holidays: ['2026-04-03', '2026-04-06'] })
for (const { name, dates, totalSlack } of found.jobs)
  console.log(`${name.padEnd(18)}${dates.earliestStart} to ${dates.earliestFinish}, slack ${totalSlack}`)
console.log(`\nDone on ${found.dates.end}. What decides it: ${found.criticalPath.join(' → ')}`)
if (process.argv[2] === '-o')
  await writeFile(process.argv[3], drawGantt(found, plan, { title: 'A house', width: 720 }))
