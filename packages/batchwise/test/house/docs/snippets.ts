// Finds the TypeScript blocks of a Markdown page. A block is complete: it imports or declares
// everything that it uses. A block with `ts` or `tsx` is type-checked; one with `ts run` is also
// executed.

export interface Snippet {
  /** File name of the block when written to disk: the page's name and the line of its fence. */
  readonly name: string;
  readonly code: string;
  readonly runs: boolean;
}

export function snippetsIn(page: string, markdown: string): Snippet[] {
  const snippets: Snippet[] = [];
  const stem = page.replace(/\.md$/, "").replaceAll("/", "-").toLowerCase();
  for (const match of markdown.matchAll(/^```(?<kind>tsx?|typescript)(?<words>[^\n]*)\n(?<code>[\s\S]*?)^```$/gm)) {
    const { kind, words = "", code = "" } = match.groups ?? {};
    const line = markdown.slice(0, match.index).split("\n").length;
    const extension = kind === "tsx" ? "tsx" : "ts";
    snippets.push({ name: `${stem}-${line}.${extension}`, code, runs: words.trim().split(/\s+/).includes("run") });
  }
  return snippets;
}

/** The packages that a block imports. */
export function packagesIn(code: string): string[] {
  const specifiers = [...code.matchAll(/(?:from|import|import\() ?"([^".][^"]*)"/g)].map(
    ([, specifier = ""]) => specifier,
  );
  return specifiers.map((specifier) =>
    specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/"),
  );
}

/**
 * The examples in the docstrings of a source file, which are type-checked like the blocks of a
 * page.
 */
export function docstringSnippetsIn(file: string, source: string): Snippet[] {
  return snippetsIn(file.replace(/\.ts$/, ""), source.replaceAll(/^ *\* ?/gm, ""));
}
