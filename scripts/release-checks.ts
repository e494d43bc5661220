// Reasons that forbid a release or its publication, as pure functions of the repository's state.

/**
 * Fields that npm shows of a package. Only the owner knows these addresses, so none has a default.
 */
export interface Addresses {
  readonly repository?: { readonly url?: string };
  readonly homepage?: string;
  readonly bugs?: { readonly url?: string; readonly email?: string };
}

/** The published manifests, by their paths. */
type Manifests = Readonly<Record<string, Addresses>>;

export interface Repository {
  readonly manifests: Manifests;
  /** Lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  /** The branch that is checked out; "" if none. */
  readonly branch: string;
  readonly tags: readonly string[];
  /** The current version of the packages. */
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

function missingIn({ repository, homepage, bugs }: Addresses): string[] {
  const fields = {
    "repository.url": repository?.url,
    homepage,
    "bugs.url": bugs?.url,
    "bugs.email": bugs?.email,
  };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === "" ? [`\`${name}\``] : [],
  );
}

function addressRefusalsOf(manifests: Manifests): string[] {
  return Object.entries(manifests).flatMap(([path, manifest]) => {
    const missing = missingIn(manifest);
    return missing.length === 0 ? [] : [`Set ${missing.join(", ")} in ${path}: see "Releasing" in CONTRIBUTING.md.`];
  });
}

/**
 * Everything that forbids a release of `version`, one sentence each; empty if it may be released.
 */
export function refusalsOf(version: string, repository: Repository): string[] {
  const { changes, branch, tags, current, changelogs, manifests } = repository;
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
  return [...refusals, ...addressRefusalsOf(manifests)];
}

export interface Checkout {
  readonly manifests: Manifests;
  /** Lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  /** The tags of the checked-out commit. */
  readonly tagsHere: readonly string[];
}

/**
 * Everything that forbids publishing `version` from this checkout, before its build is compared.
 */
export function publishRefusalsOf(version: string, { changes, tagsHere, manifests }: Checkout): string[] {
  const refusals: string[] = [];
  if (changes.length > 0) refusals.push(`The tree has changes that are not committed: ${changes.join(", ")}.`);
  if (!tagsHere.includes(`v${version}`)) {
    refusals.push(
      `The commit that is checked out is not v${version}: make it with \`npm run release\`, or check it out.`,
    );
  }
  return [...refusals, ...addressRefusalsOf(manifests)];
}
