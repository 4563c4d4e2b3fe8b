/** Tool for project plans: longest chains of jobs, and the slack of each job. */
import { drawGantt, parsePlan, schedule } from 'mpmml/schedule'
import { InputError, reading } from './csv.js'
import { html, parsedSvg, shown, table } from './dom.js'
import { MAX_ROWS, type Tool } from './tool.js'

export const project: Tool = {
  id: 'project',
  title: 'Project plan',
  about:
    'When can each job start, when must it, and which jobs decide when all is done? The earliest starts are the longest chains of jobs.',
  fields: [
    {
      name: 'plan',
      label: 'Jobs',
      hint: 'A line for each: name, duration, and the jobs that it waits for. A table of Excel or MS Project is read by its headings.',
      rows: 14,
    },
  ],
  example: {
    plan: `job,days,after
plans,10
foundation,8,plans
windows ordered,22,plans
walls,12,foundation
roof,6,walls
windows built in,3,walls;windows ordered
wires and pipes,10,roof
plaster,5,wires and pipes;windows built in
floors,8,plaster
garden,6,walls`,
  },
  program: `import { parsePlan, schedule } from 'mpmml/schedule'

// Predecessors may have kinds and lags: plansFS+2d, plansSS.
const plan = parsePlan('job,days,after\\nplans,10,\\nfoundation,8,plans\\nwindows,22,plans\\nwalls,3,foundation;windows')
const { end, criticalPath, jobs } = await schedule(plan)
console.log(end, criticalPath.join(' → '), jobs[1].totalSlack) // 35 plans → windows → walls 14`,
  async answer({ plan: text }, signal) {
    if (text!.trim() === '')
      throw new InputError(
        'Enter a line for each job: its name, how long it takes, and the jobs it waits for.',
      )
    const plan = reading(() => parsePlan(text!, { name: 'The plan' }))
    const found = await schedule(plan, { signal }).catch((error) =>
      reading(() => {
        throw error
      }),
    )
    const { end, criticalPath, jobs } = found
    const names = new Map(jobs.map(({ id, name }) => [id, name]))
    return () => [
      html('p', { class: 'answer' }, `All is done after `, html('strong', {}, shown(end)), '.'),
      html('p', {}, `What decides it: ${criticalPath.map((id) => names.get(id)).join(' → ')}`),
      jobs.length > MAX_ROWS
        ? html('p', {}, `${jobs.length} jobs: too many to draw.`)
        : parsedSvg(drawGantt(found, plan)),
      table(
        jobs.length > MAX_ROWS ? `Starts of the first ${MAX_ROWS} jobs` : 'Starts',
        ['job', 'takes', 'earliest', 'latest', 'slack'],
        jobs
          .slice(0, MAX_ROWS)
          .map(({ name, ...job }) => [
            name,
            ...[job.duration, job.earliestStart, job.latestStart, job.totalSlack].map(shown),
          ]),
        (job) => jobs[job]!.critical,
      ),
    ]
  },
}
