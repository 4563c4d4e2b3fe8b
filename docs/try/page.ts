/**
 * Page for trying the library. It shows one tool at a time and stores the tool's fields in the URL's
 * fragment.
 */
import { info } from 'mpmml'
import { InputError, textIn } from './csv.js'
import { html } from './dom.js'
import { fromLetters, toLetters } from './link.js'
import { paths } from './paths.js'
import { product } from './product.js'
import { project } from './project.js'
import { rna } from './rna.js'
import { timetable } from './timetable.js'
import type { Drawing, Field, Tool, Values } from './tool.js'

const tools: readonly Tool[] = [project, paths, timetable, product, rna]

/** Delay in ms between the last change of a field and the computation. */
const PAUSE_MS = 200

const found = <Name extends keyof HTMLElementTagNameMap>(selector: string, name: Name) => {
  const element = document.querySelector(selector)
  if (element?.localName !== name) throw new Error(`the page has no ${selector}`)
  return element as HTMLElementTagNameMap[Name]
}
const main = found('main', 'main')
const links = new Map(tools.map((tool) => [tool, html('a', { href: `#${tool.id}` }, tool.title)]))

type Input = HTMLTextAreaElement | HTMLSelectElement

/** Currently shown tool. */
class Shown {
  readonly #tool: Tool
  readonly #values: Values
  readonly #inputs = new Map<string, Input>()
  readonly #output = html('output', { 'aria-live': 'off' })
  /** Description of the output for screen readers. */
  readonly #said = html('p', { class: 'said', role: 'status' })
  readonly #wrong = html('p', { class: 'wrong', id: 'wrong', role: 'alert' })
  readonly #link = html('button', { type: 'button', click: () => this.#copyLink() }, 'Copy a link')
  readonly #copied = html('span', { id: 'copied', role: 'status' })
  /** Aborted when another tool is shown. */
  readonly #over = new AbortController()
  #running = new AbortController()
  #draw: Drawing | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(tool: Tool, values: Values, note: string) {
    this.#tool = tool
    this.#values = { ...tool.example, ...values }
    this.#copied.textContent = note
    const reset = html('button', { type: 'button', click: () => this.#reset() }, 'The example again')
    main.replaceChildren(
      html(
        'section',
        { class: 'tool' },
        html('div', { class: 'about' }, html('h2', {}, tool.title), html('p', {}, tool.about)),
        html(
          'form',
          { submit: (event) => event.preventDefault() },
          ...tool.fields.map((field) => this.#field(field)),
          html('p', { class: 'all buttons' }, reset, this.#link, this.#copied),
        ),
        html('div', {}, this.#output, this.#said),
        html(
          'details',
          {},
          html('summary', {}, 'The same in JavaScript'),
          html('pre', { class: 'wide', tabindex: 0 }, `// npm install mpmml\n${tool.program}`),
        ),
      ),
    )
    document.title = `${tool.title} · Try MPMML`
    const resized = new ResizeObserver(() => this.#redraw())
    resized.observe(this.#output)
    this.#over.signal.addEventListener('abort', () => resized.disconnect())
    this.#takeFiles()
    void this.#compute()
  }

  /** Ends the tool, because another tool is shown. */
  leave(): void {
    this.#over.abort()
    this.#running.abort()
    clearTimeout(this.#timer)
  }

  focus(): void {
    this.#inputs.values().next().value?.focus()
  }

  #field(field: Field): HTMLElement {
    const { name, label, hint, choices, rows } = field
    const id = `field-${name}`
    const change = () => this.#changed(name)
    const input: Input = choices
      ? html('select', { id, change })
      : html('textarea', {
          id,
          rows,
          spellcheck: 'false',
          autocomplete: 'off',
          autocapitalize: 'off',
          'aria-describedby': hint && `${id}-hint`,
          input: change,
        })
    this.#inputs.set(name, input)
    this.#fill(field)
    return html(
      'div',
      { class: choices ? undefined : 'all' },
      html('label', { for: id }, label),
      hint && html('p', { class: 'hint', id: `${id}-hint` }, hint),
      input,
      !choices && this.#chooser(field),
    )
  }

  /** Shows the content of a field. */
  #fill({ name, choices }: Field): void {
    const input = this.#inputs.get(name)!
    if (choices) {
      const all = choices(this.#values)
      if (!all.includes(this.#values[name]!)) {
        const taken = Object.values(this.#values)
        this.#values[name] = all.find((choice) => !taken.includes(choice)) ?? all[0] ?? ''
      }
      input.replaceChildren(...all.map((choice) => html('option', {}, choice)))
    }
    input.value = this.#values[name]!
  }

  #changed(name: string): void {
    this.#values[name] = this.#inputs.get(name)!.value
    this.#copied.textContent = ''
    for (const field of this.#tool.fields) if (field.choices && field.name !== name) this.#fill(field)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#compute(), PAUSE_MS)
  }

  #reset(): void {
    Object.assign(this.#values, this.#tool.example)
    for (const field of this.#tool.fields) this.#fill(field)
    void this.#compute()
  }

  /** Returns a button for choosing a file, as an alternative to drag and drop. */
  #chooser({ name, label }: Field): HTMLElement {
    const chosen = html('input', {
      type: 'file',
      hidden: true,
      change: async () => {
        await this.#read(name, chosen.files)
        // The value is cleared, so that choosing a modified file again triggers a change event.
        chosen.value = ''
      },
    })
    const open = html('button', { type: 'button', click: () => chosen.click() }, 'Choose a file')
    open.setAttribute('aria-label', `Choose a file for ${label}`)
    return html('p', {}, open, chosen)
  }

  /** Handles dropped files. Files that aren't dropped on a field go to the first field. */
  #takeFiles(): void {
    const { signal } = this.#over
    const texts = this.#tool.fields.filter(({ choices }) => !choices).map(({ name }) => name)
    const fieldOf = (event: DragEvent): string | undefined => {
      if (!event.dataTransfer?.types.includes('Files')) return undefined
      event.preventDefault()
      const name = texts.find((text) => this.#inputs.get(text) === event.target) ?? texts[0]!
      for (const text of texts) {
        this.#inputs.get(text)!.classList.toggle('over', event.type === 'dragover' && text === name)
      }
      return name
    }
    addEventListener('dragover', fieldOf, { signal })
    addEventListener('dragleave', fieldOf, { signal })
    addEventListener(
      'drop',
      (event) => {
        const name = fieldOf(event)
        if (name) void this.#read(name, event.dataTransfer!.files)
      },
      { signal },
    )
  }

  async #read(name: string, files: FileList | null): Promise<void> {
    const file = files?.[0]
    if (!file) return
    try {
      this.#inputs.get(name)!.value = await (this.#tool.textOf ?? textIn)(file)
      this.#changed(name)
    } catch (error) {
      this.#fail(error instanceof InputError ? new InputError(error.message, name) : error)
    }
  }

  async #compute(): Promise<void> {
    clearTimeout(this.#timer)
    this.#running.abort()
    this.#running = new AbortController()
    const { signal } = this.#running
    this.#output.setAttribute('aria-busy', 'true')
    try {
      const draw = await this.#tool.answer({ ...this.#values }, signal)
      if (signal.aborted) return
      this.#fail(undefined)
      this.#draw = draw
      this.#redraw()
      this.#said.textContent = this.#output.querySelector('.answer')?.textContent ?? ''
    } catch (error) {
      if (signal.aborted) return
      this.#fail(error)
    }
    this.#output.removeAttribute('aria-busy')
    await this.#showInAddress()
  }

  #redraw(): void {
    const nodes = this.#draw?.(Math.max(this.#output.clientWidth, 240))
    if (nodes) this.#output.replaceChildren(...nodes.filter((node) => node instanceof Node))
  }

  /** Shows an error at the wrong field or in place of the result; undefined clears the message. */
  #fail(error: unknown): void {
    for (const input of this.#inputs.values()) {
      input.removeAttribute('aria-invalid')
      input.removeAttribute('aria-errormessage')
    }
    this.#wrong.remove()
    if (error === undefined) return
    this.#draw = undefined
    this.#said.textContent = ''
    this.#output.replaceChildren()
    this.#wrong.textContent = (error as Error).message
    if (error instanceof InputError) {
      const input = this.#inputs.get(error.field ?? this.#tool.fields[0]!.name)!
      input.setAttribute('aria-invalid', 'true')
      input.setAttribute('aria-errormessage', this.#wrong.id)
      input.after(this.#wrong)
    } else {
      this.#output.append(this.#wrong)
    }
  }

  /**
   * Stores the fields in the address. If the fields contain the example, the address has only the tool's
   * name.
   */
  async #showInAddress(): Promise<void> {
    const { id, example } = this.#tool
    const isExample = Object.entries(this.#values).every(([name, value]) => example[name] === value)
    const letters = isExample ? '' : await toLetters(this.#values)
    if (this.#over.signal.aborted) return
    this.#link.disabled = letters === null
    if (letters === null) {
      this.#copied.textContent = 'This is too much for a link.'
      return
    }
    const hash = `#${id}${letters && `=${letters}`}`
    history.replaceState(null, '', hash)
    // The tool's link keeps the fields for users who return from another tool.
    links.get(this.#tool)!.href = hash
  }

  async #copyLink(): Promise<void> {
    await this.#showInAddress()
    try {
      await navigator.clipboard.writeText(location.href)
      this.#copied.textContent = 'Copied.'
    } catch {
      this.#copied.textContent = 'The browser doesn’t allow it: copy the address of this page.'
    }
  }
}

let shown: Shown | undefined

/** Shows the tool and the fields of the address. */
async function route(): Promise<void> {
  const [, id, letters] = /^#?(\w*)=?(.*)$/.exec(location.hash)!
  const tool = tools.find((one) => one.id === id) ?? tools[0]!
  let values: Values = {}
  let note = ''
  try {
    if (letters) values = await fromLetters(letters)
  } catch {
    note = 'The link is damaged: this is the example.'
  }
  shown?.leave()
  for (const [one, link] of links) {
    if (one === tool) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  shown = new Shown(tool, values, note)
}

found('nav', 'nav').replaceChildren(...links.values())
found('.skip', 'a').addEventListener('click', (event) => {
  event.preventDefault()
  shown?.focus()
})
addEventListener('hashchange', () => void route())
const { version, cpu } = info()
found('#engine', 'p').textContent =
  `mpmml ${version} as WebAssembly, ${cpu.threads} ${cpu.threads === 1 ? 'thread' : 'threads'}`
await route()
