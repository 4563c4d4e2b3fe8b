/** Tests that need something which may be missing, and say so in their title, and tests that apply to some cases only. */
import { existsSync } from 'node:fs'
import { describe, it, type TestContext } from 'vitest'

type Reason = string | false | undefined
type Test = (context: TestContext) => void | Promise<void>

/** Reason to skip tests that read built files: one that doesn't exist; undefined if all exist. */
export function missingFile(...files: string[]): string | undefined {
  const missing = files.find((file) => !existsSync(file))
  return missing && `there is no ${missing}`
}

/** Title of tests, with the reason if they are skipped. */
export const named = (what: string, reason: Reason) => (reason ? `${what} (skipped: ${reason})` : what)

/** Describes tests that are skipped if there is a reason, which is part of their title. */
export function describeUnless(reason: Reason, what: string, tests: () => void): void {
  describe.skipIf(reason)(named(what, reason), tests)
}

/** Defines a test that is skipped if there is a reason, which is part of its title. */
export function itUnless(reason: Reason, what: string, test: Test): void {
  it.skipIf(reason)(named(what, reason), test)
}

/** Defines a test if it applies: another case than one that is missing. */
export function itIf(applies: boolean, what: string, test: Test): void {
  if (applies) it(what, test)
}
