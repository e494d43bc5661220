import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

/** A program in which every name that ends in an underscore is an option that does not exist. */
const program = `
import { batch, batched, batchStream, createBatcher, createTokenBatcher, DONE } from "batchwise";
import { type OnnxSession, onnxHandler, onnxModel, openEmbedder, pipelineHandler } from "batchwise/onnx";
import type { Pipeline, TensorPipeline } from "batchwise/onnx";
import { batchTensors, type Tensor } from "batchwise/tensor";
import { threadHandler } from "batchwise/threads";

batch((items: number[]) => items, { maxBatchSize_: 4 });
batch(async (items: number[]) => items, { maxBatchSize: 4, maxWaitMs_: 4 });
batch((items: number[]) => Float32Array.from(items), { maxBatchSize_: 4 });
batch((items: number[], context) => items.map(() => context.id), { maxBatchSize_: 4 });
batch<number, number>((items) => items, { maxBatchSize_: 4 });
batch((items) => items, { maxBatchSize_: 4 });
batch({ run: (items: number[]) => items }, { maxBatchSize_: 4 });
batch({ run: (items: number[], context) => items.map(() => context.id) }, { maxBatchSize_: 4 });
batch({ prepareItem: (text: string) => text.length, run: (items: number[]) => items }, { maxBatchSize_: 4 });
batch({ run: (items: number[]) => items, finish: (items: number[]) => items.map(String) }, { maxBatchSize_: 4 });
createBatcher((items: number[]) => items, { maxBatchCost_: "learn" });
createTokenBatcher((texts: string[]) => texts, { maxBatchTokens_: 4 });
createTokenBatcher((texts: string[], context) => texts.map(() => context.id), { maxBatchTokens_: 4 });

const rounds = async function* (items: number[]) { yield items.map(() => DONE); };
batchStream(rounds, { maxBufferedChunks_: 4 });

class Encoder {
  @batched({ maxBatchSize_: 4 })
  async encode(items: number[]): Promise<number[]> { return items; }
}
export const encoder = new Encoder();

const double = batch((items: number[]) => items);
double(1, { priority_: 1 });
double.submit(1, { timeoutMs_: 1 });
double.submitMany([1], { priority_: 1 });
double.submitSettled([1], { timeoutMs_: 1 });
double.configure({ maxBatchSize_: 1 });
createTokenBatcher((texts: string[]) => texts).submit("a", { tokens_: 1 });

batch(threadHandler<number, number>("/handler.js"), { maxBatchSize_: 2 });
threadHandler("/handler.js", { workers_: 2 });

type Features = { input: Tensor<"float32"> };
declare const session: OnnxSession;
declare const pipeline: Pipeline;
declare const extractor: TensorPipeline<string>;
batchTensors(({ input }: Features) => input, { paddingSide_: "left" });
batchTensors(({ input }: Features, context) => (context.cost > 1 ? input : input), { paddingSide_: "left" });
batchTensors({ run: ({ input }: Features) => input }, { paddingSide_: "left" });
const handler = onnxHandler(session);
batchTensors(handler, { paddingSide_: "left" });
batchTensors(onnxModel({ path: "model.onnx" }), { paddingSide_: "left" });
onnxHandler(session, { outputs_: ["a"] });
onnxModel({ path: "model.onnx", workers_: 2 });
openEmbedder({ model: "folder", maxBatchTokens_: 2 });
pipelineHandler(pipeline, { callOptions_: {} });
pipelineHandler<string>(pipeline, { callOptions_: {} });
pipelineHandler(extractor, { callOptions_: {} });
batch(pipelineHandler<string>(pipeline), { maxBatchSize_: 4 });
`;

/** Handlers that TypeScript 5 has not inferred yet when it reports the call: it names them. */
const inferredLate = `
batchStream(async function* (items: number[]) { yield items.map(() => DONE); }, { maxBufferedChunks_: 4 });
batchTensors(onnxHandler(session), { paddingSide_: "left" });
`;

interface Reported {
  readonly place: string;
  readonly name: string;
}

function misspelt(source: string): Reported[] {
  return source.split("\n").flatMap((line, index) => {
    const found = /\b(\w+)_:/.exec(line);
    return found === null ? [] : [{ place: `(${index + 1},${found.index + 1})`, name: found[1] ?? "" }];
  });
}

/** The errors of a compiler: the place of each, and the name that it suggests. */
function reported(compiler: string, source: string): Reported[] {
  built("index.d.ts");
  const folder = scratchFolder("misspelt");
  const options = { target: "es2022", module: "nodenext", types: ["node"], strict: true, noEmit: true };
  const config = { compilerOptions: { ...options, skipLibCheck: true }, files: ["main.mts"] };
  writeFileSync(`${folder}main.mts`, source);
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify(config));
  const home = compiler === "typescript" ? root : `${root}compat/versions/`;
  const tsc = `${home}node_modules/${compiler}/bin/tsc`;
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", "."], { cwd: folder, encoding: "utf8" });
  rmSync(folder, { recursive: true });
  return stdout.split(/^(?=main\.mts)/m).map((text) => ({
    place: /\([\d,]+\)/.exec(text)?.[0] ?? "",
    name: /'(\w+)_' does not exist in type .* Did you mean to write '\1'\?/.exec(text)?.[1] ?? text,
  }));
}

test.each([
  ["typescript-5", program],
  ["typescript", program + inferredLate],
])("%s names the option that is misspelt, and nothing else", (compiler, source) => {
  expect(reported(compiler, source)).toEqual(misspelt(source));
});
