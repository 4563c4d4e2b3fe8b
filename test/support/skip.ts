/** Tests that need something which may be missing, and say so in their title. */
import { describe } from 'vitest'

/** Title of tests, with the reason if they are skipped. */
export const named = (what: string, reason: string | false | undefined) =>
  reason ? `${what} (skipped: ${reason})` : what

/** Describes tests that are skipped if there is a reason, which is part of their title. */
export function describeUnless(reason: string | false | undefined, what: string, tests: () => void): void {
  describe.skipIf(reason)(named(what, reason), tests)
}
