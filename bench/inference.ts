/**
 * Embeddings over HTTP with batching, without it, and with every fixed setting of a grid: texts per
 * second and latencies with 1 to 64 clients, for short, mixed and long texts, on an encoder of
 * MiniLM's dimensions and a tiny one. Compares with FastAPI and onnxruntime, and with the model
 * alone in the best batches; measures the gain of each option. Writes the tables into
 * docs/inference.md.
 *
 *   npm run bench:inference                           everything; `--plan` says how long
 *   npm run bench:inference -- --resume               only missing cells, then the tables
 *   node bench/inference.ts --cells minilm/64/mixed   these cells again (comma-separated)
 *   node bench/inference.ts --report                  writes the tables again from the results
 *   node bench/inference.ts --quick                   short, one round: only prints
 *   node bench/inference.ts --quick --report          the same, and writes the tables
 *   node bench/inference.ts --ablation                the gain of each option
 *   node bench/inference.ts --model FOLDER --texts FILE   your own model and texts, one a line
 *
 * It measures the built package: run `npm run build` first. The services of a cell take turns in
 * rounds; a ratio is the median over the rounds. Results are saved in .cache/inference after each
 * cell.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { resolveModel } from "../packages/server/src/models/model-source.ts";
import { describeMachine } from "./harness/machine.ts";
import { readTicks, stolenSince } from "./harness/steal.ts";
import { measureAblation } from "./inference/ablation.ts";
import { verdictText } from "./inference/bound-report.ts";
import { measureCell } from "./inference/measure-cell.ts";
import { boundMs, type Cell, cellsOf, estimateMs, isWithPython, modelOptions, type Wish } from "./inference/plan.ts";
import { whyNoPython } from "./inference/python-peer.ts";
import { renderResults, sectionsOf, withReport } from "./inference/report.ts";
import { Results, type Stamp } from "./inference/results.ts";
import { minutes, TimeLeft } from "./inference/time-left.ts";
import { verdictOf } from "./report/section.ts";

const PAGE = fileURLToPath(new URL("../docs/inference.md", import.meta.url));

const { values: flags } = parseArgs({
  options: {
    cells: { type: "string" },
    resume: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    plan: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    ablation: { type: "boolean", default: false },
    "no-grid": { type: "boolean", default: false },
    "no-python": { type: "boolean", default: false },
    model: { type: "string" },
    tokenizer: { type: "string" },
    texts: { type: "string" },
  },
});

const wish: Wish = {
  quick: flags.quick,
  ownModel: flags.model === undefined ? undefined : { model: flags.model, tokenizer: flags.tokenizer, truncate: true },
  ownTexts: flags.texts,
};
const isOwn = flags.model !== undefined || flags.texts !== undefined;

function wantedCells(): Cell[] {
  const all = cellsOf(wish);
  if (flags.ablation) return all.filter(({ kind }) => kind === "ablation");
  const names = flags.cells?.split(",");
  if (names === undefined) return all;
  return names.map((name) => {
    const cell = all.find((other) => other.name === name);
    if (cell !== undefined) return cell;
    throw new RangeError(
      `Expected \`--cells\` to name some of ${all.map((other) => other.name).join(", ")}, got ${name}`,
    );
  });
}

async function hasPython(): Promise<boolean> {
  if (flags["no-python"] || isOwn) return false;
  const reason = await whyNoPython();
  if (reason !== undefined) process.stderr.write(`FastAPI is left out: ${reason}\n`);
  return reason === undefined;
}

/** Measures one cell and saves its result. */
async function measureInto(
  results: Results,
  cell: Cell,
  withPython: boolean,
  say: (line: string) => void,
): Promise<void> {
  const { commit, date, loadAverage } = describeMachine();
  const ticks = readTicks();
  const stamp = (): Stamp => ({ commit, date, loadAverage, stolen: stolenSince(ticks) });
  const model = modelOptions(cell.model, wish);
  if (cell.kind === "ablation") {
    const rounds = await measureAblation(cell, model, say);
    results.kept.ablations[cell.name] = { rounds, ...stamp() };
  } else {
    const python = isWithPython(cell, withPython) ? await modelFile(model) : undefined;
    const result = await measureCell(cell, { model, hasGrid: !flags["no-grid"], python, progress: say });
    results.kept.cells[cell.name] = { ...result, ...stamp() };
  }
  results.save();
}

async function modelFile(options: object): Promise<{ readonly path: string; readonly vocabulary: number }> {
  const { model } = await resolveModel(options);
  if (typeof model === "string") throw new Error("Expected the built-in model, whose tokenizer FastAPI has too");
  return { path: model.path, vocabulary: model.tokenizer.vocabularySize };
}

async function measureAll(results: Results, cells: readonly Cell[], withPython: boolean): Promise<void> {
  const time = new TimeLeft(cells.map((cell) => estimateMs(cell, !flags["no-grid"], withPython)));
  for (const cell of cells) {
    const say = (what: string): void => void process.stderr.write(`[${time.toString()}] ${cell.name}: ${what}\n`);
    await measureInto(results, cell, withPython, say);
    time.finishOne();
  }
}

/** A cell measured before bounds existed has none. */
function isMeasured(results: Results, cell: Cell): boolean {
  const needsBound = boundMs(cell) > 0 && results.kept.cells[cell.name]?.bound === undefined;
  return results.has(cell.name) && !needsBound;
}

async function main(): Promise<void> {
  const name = isOwn ? "own" : flags.quick ? "quick" : "full";
  const isSelection = flags.cells !== undefined || flags.ablation;
  const goesOn = flags.resume || flags.report || flags.plan || (isSelection && !isOwn);
  const results = new Results(name, !goesOn);
  const cells = wantedCells().filter((cell) => !(flags.resume && isMeasured(results, cell)));
  const withPython = !flags.report && (await hasPython());
  if (flags.plan) {
    const estimates = cells.map((cell) => estimateMs(cell, !flags["no-grid"], withPython));
    for (const [at, cell] of cells.entries()) process.stdout.write(`${cell.name}: ${minutes(estimates[at] ?? 0)}\n`);
    process.stdout.write(`all: about ${minutes(estimates.reduce((sum, ms) => sum + ms, 0))}\n`);
    return;
  }
  if (!flags.report) await measureAll(results, cells, withPython);
  const report = renderResults(results.kept, describeMachine(), flags.quick);
  process.stdout.write(`${report}\n`);
  const claims = sectionsOf(results.kept).flatMap((section) => section.claims);
  for (const claim of claims) {
    if (verdictOf(claim) === "missed") process.stdout.write(`target missed: ${claim.text}: ${verdictText(claim)}\n`);
  }
  const isComplete = cellsOf(wish).every((cell) => results.has(cell.name));
  if (isOwn || isSelection || !(flags.report || (isComplete && !flags.quick))) return;
  writeFileSync(PAGE, withReport(readFileSync(PAGE, "utf8"), report));
  process.stdout.write("wrote docs/inference.md\n");
}

await main();
