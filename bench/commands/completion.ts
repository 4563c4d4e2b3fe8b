/** mpmml completion bash|zsh|fish */
import { Argument, type Command } from 'commander'
import { type Variant, variants } from '../../lib/index.js'
import { microbenchNames } from '../../lib/lab.js'
import { newCommand } from '../commands.js'
import { print } from '../output.js'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Words of a command that can be completed. */
interface Words {
  name: string
  summary: string
  options: { flags: string[]; summary: string; choices: readonly string[]; takesValue: boolean }[]
  /** Values of the command's first argument; empty if that argument is a file. */
  argument: readonly string[]
}

export function completionCommand(): Command {
  return newCommand('completion')
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(shells))
    .addHelpText(
      'after',
      `
bash: mpmml completion bash > ~/.local/share/bash-completion/completions/mpmml
zsh:  mpmml completion zsh > "\${fpath[1]}/_mpmml"
fish: mpmml completion fish > ~/.config/fish/completions/mpmml.fish`,
    )
    .action(async (shell: Shell) => {
      const { createWholeProgram } = await import('../program.js')
      const program = await createWholeProgram(new AbortController().signal)
      const kernels = kernelArguments()
      await print(scripts[shell](program.commands.map((command) => wordsOf(command, kernels))).trimEnd())
    })
}

const namesOf = (rows: Variant[]): string[] => rows.map(({ name }) => name)

/** Returns the kernel names of this build that a command accepts as its first argument, by command name. */
function kernelArguments(): Readonly<Record<string, readonly string[]>> {
  const onGpu = variants().filter(({ backend }) => backend === 'cuda')
  return { measure: namesOf(variants()), occupancy: [...microbenchNames, ...namesOf(onGpu)] }
}

function wordsOf(command: Command, kernels: ReturnType<typeof kernelArguments>): Words {
  const options = command.options.map(({ short, long, description, argChoices, required, optional }) => ({
    flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
    summary: description,
    choices: argChoices ?? (long === '--variant' ? kernels.measure! : []),
    takesValue: required || optional,
  }))
  return {
    name: command.name(),
    summary: command.description(),
    options: [...options, { flags: ['--help'], summary: 'show help', choices: [], takesValue: false }],
    argument: command.registeredArguments[0]?.argChoices ?? kernels[command.name()] ?? [],
  }
}

/** Quotes a text for bash and zsh. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function bash(commands: Words[]): string {
  const names = commands.map(({ name }) => name).join(' ')
  const cases = commands.map(({ name, options, argument }) => {
    const values = options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices }) =>
        choices.length > 0
          ? `        ${flags.join('|')}) COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$word")); return ;;`
          : `        ${flags.join('|')}) _mpmml_files; return ;;`,
      )
    const flags = options.flatMap((option) => option.flags).join(' ')
    return [
      `    ${name})`,
      ...(values.length > 0 ? ['      case "$before" in', ...values, '      esac'] : []),
      ...(argument.length > 0 ? [`      values=${quoted(argument.join(' '))}`] : []),
      `      words=${quoted(flags)} ;;`,
    ].join('\n')
  })
  return `# Completes mpmml in bash.
_mpmml_files() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$word"))
}
_mpmml() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words='' values=''
  COMPREPLY=()
  # --backend=c is three words.
  if [ "$word" = = ]; then
    word=''
  elif [ "$before" = = ]; then
    before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted(`${names} help --help -V --version`)} -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    help) COMPREPLY=($(compgen -W ${quoted(names)} -- "$word")); return ;;
  esac
  if [ "\${word:0:1}" = - ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  else
    _mpmml_files
  fi
}
complete -o filenames -F _mpmml mpmml
`
}

function zsh(commands: Words[]): string {
  const described = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')
  const list = commands.map(({ name, summary }) => `    ${quoted(`${name}:${described(summary)}`)}`)
  const cases = commands.map(({ name, options, argument }) => {
    const first =
      argument.length > 0 ? `        '1:value:(${argument.join(' ')})'` : "        '*:file:_files'"
    const specs = options.flatMap(({ flags, summary, choices, takesValue }) =>
      flags.map((flag) => {
        const action = choices.length > 0 ? `(${choices.join(' ')})` : '_files'
        return `        ${quoted(`${flag}[${described(summary)}]${takesValue ? `:value:${action}` : ''}`)}`
      }),
    )
    return `    ${name}) _arguments \\\n${[...specs, first].join(' \\\n')} ;;`
  })
  return `#compdef mpmml
# Completes mpmml in zsh.
_mpmml() {
  local -a commands
  commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
if [ "\${funcstack[1]}" = _mpmml ]; then _mpmml "$@"; else compdef _mpmml mpmml; fi
`
}

function fish(commands: Words[]): string {
  const text = (words: string) => `'${words.replace(/['\\]/g, '\\$&')}'`
  const lines = commands.flatMap(({ name, summary, options, argument }) => [
    `complete -c mpmml -n __fish_use_subcommand -f -a ${name} -d ${text(summary)}`,
    ...(argument.length > 0
      ? [`complete -c mpmml -n '__fish_seen_subcommand_from ${name}' -f -a ${text(argument.join(' '))}`]
      : []),
    ...options.map(({ flags, summary, choices, takesValue }) => {
      const names = flags.map((flag) =>
        flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      )
      const value = choices.length > 0 ? ` -x -a ${text(choices.join(' '))}` : takesValue ? ' -r' : ''
      return `complete -c mpmml -n '__fish_seen_subcommand_from ${name}' ${names.join(' ')}${value} -d ${text(summary)}`
    }),
  ])
  return `# Completes mpmml in fish.\n${lines.join('\n')}\n`
}

const scripts: Record<Shell, (commands: Words[]) => string> = { bash, zsh, fish }
