// Why a release may not be made, as a pure function of what the repository says.

export interface Repository {
  /** Lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  /** The branch that is checked out; "" where none is. */
  readonly branch: string;
  readonly tags: readonly string[];
  /** The version of the packages now. */
  readonly current: string;
  /** The text of each package's CHANGELOG.md, by its path. */
  readonly changelogs: Readonly<Record<string, string>>;
}

function partsOf(version: string): number[] | undefined {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(version)?.slice(1).map(Number);
}

function isHigher(parts: readonly number[], than: readonly number[]): boolean {
  const at = parts.findIndex((part, index) => part !== than[index]);
  return at >= 0 && (parts[at] ?? 0) > (than[at] ?? 0);
}

/** Everything that stands against releasing `version`, one sentence each; none where it may be released. */
export function refusalsOf(version: string, { changes, branch, tags, current, changelogs }: Repository): string[] {
  const refusals: string[] = [];
  const parts = partsOf(version);
  if (parts === undefined) refusals.push(`Expected a version such as 1.2.3, got "${version}".`);
  else if (!isHigher(parts, partsOf(current) ?? []))
    refusals.push(`Expected a version above ${current}, got ${version}.`);
  if (changes.length > 0) refusals.push(`The tree has changes that are not committed: ${changes.join(", ")}.`);
  if (branch === "") refusals.push("No branch is checked out.");
  if (tags.includes(`v${version}`)) refusals.push(`The tag v${version} exists.`);
  for (const [path, text] of Object.entries(changelogs)) {
    if (!text.split("\n").includes(`## ${version}`)) refusals.push(`${path} has no section "## ${version}".`);
  }
  return refusals;
}
