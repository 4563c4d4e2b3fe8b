/** The layers of the code, and which uses which. For docs/contributing.md. */
import { arrow, box, picture, text } from '../../examples/drawing.mjs'

const middle = (x, y, content, weight = 'normal', size = 13) =>
  text(x, y, content, { anchor: 'middle', weight, size })

/** A layer: its folder, and what it does. */
function layer(x, y, width, folder, what) {
  return [
    box(x, y, width, 48, { shaded: true }),
    middle(x + width / 2, y + 20, folder, 'bold'),
    middle(x + width / 2, y + 38, what, 'normal', 12),
  ]
}

const down = (x, y) => arrow(x, y, x, y + 20)
const parts = [
  ...layer(60, 20, 290, 'bench/', 'the command line and its measurements'),
  ...layer(370, 20, 290, 'your program', 'import … from "mpmml"'),
  down(205, 70),
  down(515, 70),
  ...layer(60, 92, 600, 'lib/', 'the public API: arguments, options, files, algorithms over products'),
  down(360, 142),
  ...layer(60, 164, 600, 'native/addon/', 'the only code that knows Node-API'),
  down(360, 214),
  ...layer(
    60,
    236,
    600,
    'native/core/',
    'operations, problem, range of values, plan, session; no Node-API, no CUDA',
  ),
  down(205, 286),
  down(515, 286),
  ...layer(60, 308, 290, 'native/cuda/', 'runtime → launch → kernels'),
  ...layer(370, 308, 290, 'native/cpu/', 'packing, micro-kernels, threads'),
  ...layer(
    60,
    376,
    600,
    'native/variants/',
    'the table of kernels, from which their code and the registry are generated',
  ),
]
console.log(picture(720, 444, 'The layers of the code', parts).trimEnd())
