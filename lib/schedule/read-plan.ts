/** Plans in files. */
import { FileError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { readLines, readText } from '../files/lines.js'
import { loadSaxes } from '../graph/saxes.js'
import { Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { type Plan, planSet, type ReadPlanOptions } from './options.js'
import { ProjectXml } from './project-xml.js'
import { csvPlan, JsonPlan } from './read.js'

const options = new Options({ ...planSet, ...longWorkSet } satisfies OptionsOf<ReadPlanOptions>)

/** Advice for files of programs that this library doesn't read. */
const advice: Record<string, string> = {
  mpp: 'save it as XML or CSV in MS Project (File, Save As)',
  xlsx: 'save it as CSV UTF-8 in Excel (File, Save As)',
  xls: 'save it as CSV UTF-8 in Excel (File, Save As)',
  ods: 'save it as Text CSV in LibreOffice (File, Save As)',
  xer: 'export the activities to a spreadsheet in Primavera P6 (File, Export), and save that as CSV',
  gan: 'export it as MS Project XML or CSV in GanttProject (Project, Export)',
}

/**
 * Reads a plan from a file: see {@link parsePlan}. A name that ends with .json or .xml is JSON or the XML of MS Project, any other one CSV; gzip
 * may have compressed the file.
 *
 * @throws Rejects with what {@link parsePlan} throws; with FileError if the file can't be read, or is of MS Project (.mpp) or Excel, with
 *   advice for the export; AbortedError.
 * @example
 * await writeFile('house.csv', 'id,task,days,after\n1,walls,5,\n2,roof,3,1\n')
 * const { end } = await schedule(await readPlan('house.csv'))
 * console.log(end) // 8
 */
export async function readPlan(path: string | URL, given?: ReadPlanOptions): Promise<Plan> {
  const { signal, onProgress, ...read } = options.read(given)
  const work = { signal, onProgress }
  const name = pathOf(path)
  const ending = /\.(\w+)(?:\.gz)?$/.exec(name)?.[1]?.toLowerCase() ?? ''
  if (Object.hasOwn(advice, ending))
    throw new FileError(`${name} must be CSV, JSON or XML, but it is .${ending}: ${advice[ending]}`)
  if (ending === 'xml') return readText(name, 'a plan', new ProjectXml(name, await loadSaxes(), read), work)
  if (ending === 'json') return readText(name, 'a plan', new JsonPlan(name, read), work)
  return readLines(name, 'a plan', csvPlan(name, read), work)
}
