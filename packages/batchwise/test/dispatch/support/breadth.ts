/** `npm run prove` sets it. */
export const runsAllCases: boolean = process.env.BATCHWISE_ALL_CASES === "1";

/**
 * The first of several cases, or all under `npm run prove`, for tests whose subject is the
 * dispatcher, and which differ between providers only by their adapter.
 */
export function some<Case>(count: number, cases: readonly Case[]): readonly Case[] {
  return runsAllCases ? cases : cases.slice(0, count);
}
