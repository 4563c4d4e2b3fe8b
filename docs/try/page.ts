/** The page on which people try the library: a tool at a time, whose fields are in the fragment of the address. */
import { info } from 'mpmml'
import { InputError } from './csv.js'
import { html } from './dom.js'
import { fromLetters, toLetters } from './link.js'
import { paths } from './paths.js'
import { product } from './product.js'
import { project } from './project.js'
import { rna } from './rna.js'
import { timetable } from './timetable.js'
import type { Field, Tool, Values } from './tool.js'

const tools: readonly Tool[] = [project, paths, timetable, product, rna]

/** After the last change of a field. */
const PAUSE_MS = 200

const found = <Name extends keyof HTMLElementTagNameMap>(selector: string, name: Name) => {
  const element = document.querySelector(selector)
  if (element?.localName !== name) throw new Error(`the page has no ${selector}`)
  return element as HTMLElementTagNameMap[Name]
}
const main = found('main', 'main')
const nav = found('nav', 'nav')
const status = found('#copied', 'span')

type Input = HTMLTextAreaElement | HTMLSelectElement

/** The tool that is shown, until another one is. */
class Shown {
  readonly #tool: Tool
  readonly #values: Values
  readonly #inputs = new Map<string, Input>()
  readonly #output = html('output', { 'aria-live': 'polite' })
  /** Ends when the tool isn't shown any more. */
  readonly #over = new AbortController()
  #running = new AbortController()
  #draw: ((width: number) => readonly (Node | false | null)[]) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(tool: Tool, values: Values) {
    this.#tool = tool
    this.#values = { ...tool.example, ...values }
    const fields = tool.fields.flatMap((field) => this.#field(field))
    const reset = html('button', { type: 'button', click: () => this.#reset() }, 'The example again')
    main.replaceChildren(
      html(
        'section',
        { class: 'tool' },
        html('div', {}, html('h2', {}, tool.title), html('p', {}, tool.about)),
        html(
          'form',
          { id: 'input', tabindex: -1, submit: (event) => event.preventDefault() },
          ...fields,
          reset,
        ),
        this.#output,
      ),
    )
    document.title = `${tool.title} · Try MPMML`
    const resized = new ResizeObserver(() => this.#redraw())
    resized.observe(this.#output)
    this.#over.signal.addEventListener('abort', () => resized.disconnect())
    void this.#compute()
  }

  /** Another tool takes its place. */
  leave(): void {
    this.#over.abort()
    this.#running.abort()
    clearTimeout(this.#timer)
  }

  #field(field: Field): HTMLElement[] {
    const id = `field-${field.name}`
    const hint = field.hint !== undefined && html('p', { class: 'hint', id: `${id}-hint` }, field.hint)
    const described = hint ? hint.id : undefined
    const input: Input = field.choices
      ? html('select', { id, change: () => this.#changed(field.name) })
      : html('textarea', {
          id,
          rows: field.rows ?? 4,
          spellcheck: 'false',
          autocomplete: 'off',
          autocapitalize: 'off',
          'aria-describedby': described,
          input: () => this.#changed(field.name),
        })
    this.#inputs.set(field.name, input)
    if (input.localName === 'textarea') this.#takeFiles(field.name, input)
    this.#fill(field)
    const label = html('label', { for: id }, field.label)
    return [
      label,
      ...(hint ? [hint] : []),
      input,
      ...(input.localName === 'textarea' ? [this.#chooser(field)] : []),
    ]
  }

  /** Shows what a field holds. */
  #fill({ name, choices }: Field): void {
    const input = this.#inputs.get(name)!
    if (choices) {
      const all = choices(this.#values)
      if (!all.includes(this.#values[name]!)) this.#values[name] = all[0] ?? ''
      input.replaceChildren(...all.map((choice) => html('option', {}, choice)))
    }
    input.value = this.#values[name]!
  }

  #changed(name: string): void {
    this.#values[name] = this.#inputs.get(name)!.value
    for (const field of this.#tool.fields) if (field.choices && field.name !== name) this.#fill(field)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#compute(), PAUSE_MS)
  }

  #reset(): void {
    Object.assign(this.#values, this.#tool.example)
    for (const field of this.#tool.fields) this.#fill(field)
    void this.#compute()
  }

  /** A button that chooses a file, for those who drop none. */
  #chooser({ name, label }: Field): HTMLElement {
    const chosen = html('input', { type: 'file', hidden: true, change: () => this.#read(name, chosen.files) })
    const open = html('button', { type: 'button', click: () => chosen.click() }, 'Choose a file')
    open.setAttribute('aria-label', `Choose a file for ${label}`)
    return html('span', {}, open, chosen)
  }

  #takeFiles(name: string, input: HTMLElement): void {
    const over = (event: DragEvent, isOver: boolean) => {
      event.preventDefault()
      input.classList.toggle('over', isOver)
    }
    input.addEventListener('dragover', (event) => over(event, true))
    input.addEventListener('dragleave', (event) => over(event, false))
    input.addEventListener('drop', (event) => {
      over(event, false)
      const { files } = event.dataTransfer!
      if (files.length > 0) void this.#read(name, files)
    })
  }

  async #read(name: string, files: FileList | null): Promise<void> {
    const file = files?.[0]
    if (!file) return
    try {
      const text = await (this.#tool.textOf?.(file) ?? file.text())
      this.#inputs.get(name)!.value = text
      this.#changed(name)
    } catch (error) {
      this.#fail(error)
    }
  }

  async #compute(): Promise<void> {
    this.#running.abort()
    this.#running = new AbortController()
    const { signal } = this.#running
    this.#output.setAttribute('aria-busy', 'true')
    const values = { ...this.#values }
    try {
      const draw = await this.#tool.answer(values, signal)
      if (signal.aborted) return
      this.#draw = draw
      this.#redraw()
    } catch (error) {
      if (!signal.aborted) this.#fail(error)
    }
    this.#output.removeAttribute('aria-busy')
    await showInAddress(this.#tool, values, this.#over.signal)
  }

  #redraw(): void {
    const nodes = this.#draw?.(Math.max(this.#output.clientWidth, 240)) ?? []
    if (this.#draw)
      this.#output.replaceChildren(...nodes.filter((node): node is Node => node instanceof Node))
  }

  #fail(error: unknown): void {
    this.#draw = undefined
    const { message } = error as Error
    const text =
      error instanceof InputError ? message : `${message.charAt(0).toUpperCase()}${message.slice(1)}`
    this.#output.replaceChildren(html('p', { class: 'wrong', role: 'alert' }, text))
  }
}

let shown: Shown | undefined

/** The address with what is in the fields; only the tool's name if that is the example. */
async function showInAddress(tool: Tool, values: Values, over: AbortSignal): Promise<void> {
  const isExample = Object.entries(values).every(([name, value]) => tool.example[name] === value)
  const letters = isExample ? '' : await toLetters(values)
  if (over.aborted) return
  const link = found('#link', 'button')
  link.disabled = letters === null
  status.textContent = letters === null ? 'This is too much for a link.' : ''
  if (letters !== null) history.replaceState(null, '', `#${tool.id}${letters && `=${letters}`}`)
}

/** Shows what the address says. */
async function route(): Promise<void> {
  const [, id, letters] = /^#?(\w*)=?(.*)$/.exec(location.hash)!
  const tool = tools.find((one) => one.id === id) ?? tools[0]!
  let values: Values = {}
  let wrong = ''
  try {
    if (letters) values = await fromLetters(letters)
  } catch {
    wrong = 'The link is damaged: this is the example.'
  }
  shown?.leave()
  for (const link of nav.querySelectorAll('a')) {
    if (link.hash === `#${tool.id}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  shown = new Shown(tool, values)
  status.textContent = wrong
}

nav.replaceChildren(...tools.map(({ id, title }) => html('a', { href: `#${id}` }, title)))
addEventListener('hashchange', () => void route())
found('#link', 'button').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(location.href)
    status.textContent = 'Copied.'
  } catch {
    status.textContent = 'The browser doesn’t allow it: copy the address of this page.'
  }
})
const { version, cpu } = info()
found('#engine', 'p').textContent =
  `mpmml ${version} as WebAssembly, ${cpu.threads} ${cpu.threads === 1 ? 'thread' : 'threads'}`
await route()
