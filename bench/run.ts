/** Runs the command line, and converts its outcome to an exit status and at most one line on stderr. */
import { constants } from 'node:os'
import { type Command, CommanderError } from 'commander'
import { inFlags } from './option-names.js'
import { oneLine, print, styled, watchOutput } from './output.js'
import { closePipes, inPipes } from './pipes.js'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 128 plus the signal's number after an interrupt.
 */
export async function run(args: string[]): Promise<number> {
  watchOutput()
  const controller = new AbortController()
  let interruptStatus = 0
  for (const signal of signals) {
    process.on(signal, () => {
      // A second signal exits at once.
      if (interruptStatus > 0) {
        closePipes()
        process.exit(interruptStatus)
      }
      interruptStatus = 128 + constants.signals[signal]
      controller.abort()
    })
  }
  let command: Command | undefined
  try {
    if (args.length === 0) {
      const { overview } = await import('./default-help.js')
      await print(overview)
      return 0
    }
    // Imported on demand, so that a failure to load a module is reported like other errors.
    const { createProgram } = await import('./program.js')
    const program = await createProgram(args, controller.signal)
    program.hook('preAction', (_, called) => {
      command = called
    })
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed this error already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (interruptStatus > 0) {
      process.stderr.write('mpmml: interrupted\n')
      return interruptStatus
    }
    process.stderr.write(`${styled(process.stderr, 'red', 'mpmml:')} ${describeError(error, command)}\n`)
    return 1
  } finally {
    closePipes()
  }
}

function describeError(error: unknown, command: Command | undefined): string {
  if (!(error instanceof Error)) return oneLine(String(error))
  const { code } = error as NodeJS.ErrnoException
  const known = code?.startsWith('ERR_MPMML_')
  return (
    oneLine(inPipes(known ? inFlags(error.message, command?.options ?? []) : error.message)) +
    (known ? ` [${code}]` : '')
  )
}
