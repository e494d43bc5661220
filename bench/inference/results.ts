/**
 * The results, saved in a file under .cache after each cell, so that an interrupted run can
 * continue, and single cells can be measured again.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CellResult } from "./measure-cell.ts";
import type { Rounds } from "./turns.ts";

/** Time and conditions of a cell's measurement. */
export interface Stamp {
  readonly commit: string;
  readonly date: string;
  readonly loadAverage: number;
  /** The share of processor time that the hypervisor took meanwhile: 0 to 1. */
  readonly stolen: number;
}

export interface Kept {
  readonly cells: Record<string, CellResult & Stamp>;
  readonly ablations: Record<string, { readonly rounds: Rounds } & Stamp>;
}

export class Results {
  readonly #path: string;
  readonly kept: Kept;

  /** `name`: of the file; runs that are not full have their own. */
  constructor(name: string, isNew: boolean) {
    this.#path = fileURLToPath(new URL(`../../.cache/inference/${name}.json`, import.meta.url));
    if (isNew) rmSync(this.#path, { force: true });
    this.kept = read(this.#path) ?? { cells: {}, ablations: {} };
  }

  has(name: string): boolean {
    return name in this.kept.cells || name in this.kept.ablations;
  }

  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    // NaN becomes null in JSON, and is read back as NaN.
    writeFileSync(`${this.#path}.new`, JSON.stringify(this.kept, null, 1));
    renameSync(`${this.#path}.new`, this.#path);
  }
}

function read(path: string): Kept | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  return JSON.parse(text, (_, value: unknown) => (value === null ? Number.NaN : value)) as Kept;
}
