/** Creates the command-line program with its commands and its reports of wrong usage. */
import { createRequire } from 'node:module'
import { Command, CommanderError, Help, Option } from 'commander'
import { type CommandName, commandGroups, commands, loadCommand } from './commands.js'
import { oneLine } from './output.js'

const { version } = createRequire(import.meta.url)('mpmml/package.json') as { version: string }

const names = Object.keys(commands) as CommandName[]
const isName = (name: string): name is CommandName => Object.hasOwn(commands, name)

/**
 * @param args - arguments, which select the command to load; other commands are stubs with their help.
 * @param signal - aborted when the user interrupts the command.
 */
export async function createProgram(args: readonly string[], signal: AbortSignal): Promise<Command> {
  const words = args.filter((arg) => !arg.startsWith('-'))
  const commandName = words[0] === 'help' ? words[1] : words[0]
  const program = newProgram(commandName)
  for (const name of names) {
    const command = name === commandName ? await loadCommand(name, signal) : standIn(name)
    program.addCommand(command.copyInheritedSettings(program).helpGroup(groupOf(name)))
  }
  return program
}

/** The program with all commands. */
export async function createWholeProgram(signal: AbortSignal): Promise<Command> {
  const program = newProgram()
  for (const name of names) program.addCommand(await loadCommand(name, signal))
  return program
}

/** @param commandName - name of the requested command; '' without one. */
function newProgram(commandName = ''): Command {
  const help = isName(commandName) ? `mpmml ${commandName} --help` : 'mpmml --help'
  return new Command('mpmml')
    .description(
      'Max-plus, min-plus and ordinary products of int32, float32 and float64 matrices in files, and the paths and cycles of graphs',
    )
    .version(version, '-v, --version', 'print the version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => {
      process.stdout.write(`${version}\n`)
      throw new CommanderError(0, 'commander.version', version)
    })
    .configureHelp({
      minWidthToWrap: 20,
      formatItem,
      subcommandTerm: (command) => termOf(command.name()),
    })
    .configureOutput({
      outputError: (text, write) =>
        write(
          `mpmml: ${oneLine(
            text
              .trim()
              .replace(/^error: /, '')
              .replace(/\.$/, ''),
          )}; see ${help}\n`,
        ),
    })
    .exitOverride()
}

/** Minimum width of the column of descriptions, in characters. */
const NARROW = 30

/** Formats a name with its description to the right, or below it on a narrow terminal. */
function formatItem(term: string, termWidth: number, description: string, help: Help): string {
  const columns = help.helpWidth ?? 80
  const beside = columns - termWidth - 4 >= NARROW || description === ''
  if (beside) return Help.prototype.formatItem.call(help, term, termWidth, description, help)
  const below = help.boxWrap(description, columns - 6).replaceAll(/^/gm, '      ')
  return `  ${term}\n${below}`
}

/** Returns the heading under which help lists a command. */
const groupOf = (name: CommandName) =>
  `${Object.keys(commandGroups).find((group) => commandGroups[group]!.includes(name))}:`

const termOf = (name: string) => (isName(name) ? `${name} ${commands[name].usage}`.trim() : 'help [command]')

/** Returns a stub of a command, which help lists and which never runs. */
const standIn = (name: CommandName) => new Command(name).description(commands[name].summary)
