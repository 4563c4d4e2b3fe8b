/** Help that `mpmml` prints without arguments. */
import { commandGroups } from './commands.js'
import { table } from './output.js'

const examples = [
  ['npx mpmml multiply A.npy B.npy -o C.npy', 'multiply two matrices: max-plus, min-plus, … (--semiring)'],
  ['npx mpmml paths roads.gr --from 1 --to 5', 'find the best path in a graph'],
  ['npx mpmml cycle-mean timetable.csv', 'find the cycle with the greatest mean weight'],
  ['npx mpmml schedule plan.csv --svg plan.svg', 'schedule a plan, and draw it'],
  ['npx mpmml show A.mtx', 'look at a matrix in a file'],
  ['npx mpmml doctor', 'check the installation, and say what to do'],
  ['npx mpmml demo', 'try a product of matrices that come along'],
  ['npx mpmml bench', 'time products on this machine'],
  ['npx mpmml report', "measure the thesis' tables and figures on this GPU"],
]

const rows = (lines: readonly string[][]) => table(lines.map(([first, ...rest]) => [`  ${first}`, ...rest]))

export const overview = `mpmml multiplies matrices over max-plus and other semirings, on a GPU or on the CPU, and finds paths and cycles.

${rows(examples)}

Commands:
${rows(Object.entries(commandGroups).map(([group, names]) => [group, names.join(', ')]))}

What each does: npx mpmml --help. Options of one: npx mpmml COMMAND --help. In a program: import { mpmm } from 'mpmml'.`
