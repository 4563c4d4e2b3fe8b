/** The command line: its commands, and how wrong usage is reported. */
import { createRequire } from 'node:module'
import { Command } from 'commander'
import { benchCommand } from './commands/bench.js'
import { convertCommand } from './commands/convert.js'
import { cycleMeanCommand } from './commands/cycle-mean.js'
import { demoCommand } from './commands/demo.js'
import { infoCommand } from './commands/info.js'
import { ladderCommand } from './commands/ladder.js'
import { microbenchCommand } from './commands/microbench.js'
import { multiplyCommand } from './commands/multiply.js'
import { occupancyCommand } from './commands/occupancy.js'
import { pathsCommand } from './commands/paths.js'
import { planCommand } from './commands/plan.js'
import { reportCommand } from './commands/report.js'
import { bpmaxCommand, rnaCommand } from './commands/rna.js'
import { rooflineCommand } from './commands/roofline.js'
import { showCommand } from './commands/show.js'
import { starCommand } from './commands/star.js'
import { sweepCommand } from './commands/sweep.js'
import { tuneCommand } from './commands/tune.js'
import { variantsCommand } from './commands/variants.js'
import { oneLine } from './output.js'

const { version } = createRequire(import.meta.url)('mpmml/package.json') as { version: string }

/** @param signal - is aborted when the user interrupts the command. */
export function createProgram(signal: AbortSignal): Command {
  const program = new Command('mpmml')
    .description(
      'Max-plus, min-plus and ordinary products of int32, float32 and float64 matrices in NumPy .npy files, and the paths and cycles of graphs',
    )
    .version(version, '--version', 'print the version')
    .configureOutput({
      outputError: (text, write) =>
        write(`mpmml: ${oneLine(text.trim().replace(/^error: /, ''))}; see mpmml --help\n`),
    })
    .exitOverride()
  for (const command of [
    multiplyCommand(signal),
    planCommand(signal),
    pathsCommand(signal),
    starCommand(signal),
    cycleMeanCommand(signal),
    convertCommand(signal),
    showCommand(signal),
    rnaCommand(signal),
    bpmaxCommand(signal),
    infoCommand(),
    variantsCommand(),
    demoCommand(signal),
    benchCommand(signal),
    tuneCommand(signal),
    microbenchCommand(signal),
    occupancyCommand(),
    sweepCommand(signal),
    ladderCommand(signal),
    rooflineCommand(signal),
    reportCommand(signal),
  ]) {
    program.addCommand(command.copyInheritedSettings(program))
  }
  return program
}
