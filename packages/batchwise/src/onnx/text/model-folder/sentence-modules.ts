/**
 * Reads the files in which a sentence-transformers export describes how tokens become a vector:
 * `modules.json`, `1_Pooling/config.json`, `2_Dense` and `3_Normalize`.
 *
 * Guarantees: everything in the files is either in the readout or named in its `problem`. The
 * option `pooling` replaces only the pooling module.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type Activation,
  type DenseStep,
  MEAN_READOUT,
  POOLINGS,
  type Pooling,
  type Readout,
  type ReadoutStep,
} from "../readout.ts";
import { isRecord, readJson, readJsonIfPresent } from "./json-file.ts";
import { type NamedTensor, readSafetensors } from "./safetensors.ts";

interface Module {
  /** The class, for example `sentence_transformers.models.Pooling`. */
  readonly type: string;
  /** Its folder inside the model's folder. */
  readonly path: string;
}

interface PoolingConfig {
  readonly poolings: readonly Pooling[];
  readonly tokenWidth?: number;
  readonly problem?: string;
}

const PACKAGE = "sentence_transformers.";

/** The files' names for the ways of pooling, without the prefix `pooling_mode_`. */
const POOLING_NAMES: Readonly<Record<string, Pooling>> = {
  cls: "cls",
  cls_token: "cls",
  max: "max",
  max_tokens: "max",
  mean: "mean",
  mean_tokens: "mean",
  mean_sqrt_len_tokens: "mean-sqrt-len",
  weightedmean: "weighted-mean",
  weightedmean_tokens: "weighted-mean",
  lasttoken: "last-token",
};

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  Identity: "identity",
  Tanh: "tanh",
  ReLU: "relu",
  Sigmoid: "sigmoid",
};

/** The readout from the first folder that has any of these files. */
export async function readReadout(folders: readonly string[], asked: Pooling | undefined): Promise<Readout> {
  for (const folder of folders) {
    const listed = await listedModules(folder);
    const modules = listed ?? (await modulesByFolders(folder));
    if (modules === undefined) continue;
    const readout = await readModules(folder, modules, asked);
    // Unknown if only the folders' names are there: a Normalize has no files, so its folder is
    // often lost.
    const isUnscaled = listed?.every((module) => kindOf(module) !== "Normalize") ?? false;
    return { ...readout, isUnscaled };
  }
  return asked === undefined ? MEAN_READOUT : { source: "option", poolings: [asked], steps: [] };
}

/** The modules in `modules.json`. */
async function listedModules(folder: string): Promise<Module[] | undefined> {
  const listed = await readJson(join(folder, "modules.json"));
  if (listed === undefined) return undefined;
  if (!Array.isArray(listed)) throw new Error(`Expected ${join(folder, "modules.json")} to hold a JSON array`);
  return listed.map((entry: unknown) => {
    const { type, path } = isRecord(entry) ? entry : {};
    return { type: String(type), path: typeof path === "string" ? path : "" };
  });
}

/** The modules by the names of the folders, for an export without `modules.json`. */
async function modulesByFolders(folder: string): Promise<Module[] | undefined> {
  const numbered = (await readdir(folder).catch(() => [])).filter((name) => /^\d+_[A-Z]/.test(name));
  if (!numbered.some((name) => name.endsWith("_Pooling"))) return undefined;
  numbered.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const others = numbered.map((path) => ({ type: `${PACKAGE}models.${path.replace(/^\d+_/, "")}`, path }));
  return [{ type: `${PACKAGE}models.Transformer`, path: "" }, ...others];
}

/** The readout so far. */
interface Found {
  poolings: readonly Pooling[] | undefined;
  tokenWidth: number | undefined;
  readonly steps: ReadoutStep[];
  readonly problems: string[];
}

async function readModules(folder: string, modules: readonly Module[], asked: Pooling | undefined): Promise<Readout> {
  const found: Found = {
    poolings: asked === undefined ? undefined : [asked],
    tokenWidth: undefined,
    steps: [],
    problems: [],
  };
  for (const [index, module] of modules.entries()) {
    const kind = kindOf(module);
    const passes = kind === "Dropout" || (kind === "Transformer" && index === 0);
    if (!passes) await readModule(found, folder, module, asked);
  }
  const { poolings, tokenWidth, steps, problems } = found;
  if (poolings === undefined) problems.push("no module pools the tokens; name a way with `pooling`");
  return {
    source: asked === undefined ? "files" : "option",
    poolings: poolings ?? [],
    steps,
    ...(tokenWidth === undefined ? {} : { tokenWidth }),
    ...(problems.length === 0
      ? {}
      : { problem: `The model's files ask for what cannot be done: ${problems.join("; ")}` }),
  };
}

/** The class without its package; "" for a class of another package. */
function kindOf({ type }: Module): string {
  return type.startsWith(PACKAGE) ? type.slice(type.lastIndexOf(".") + 1) : "";
}

async function readModule(found: Found, folder: string, module: Module, asked: Pooling | undefined): Promise<void> {
  const { type, path } = module;
  const kind = kindOf(module);
  if (kind === "Pooling") {
    const config = await readPooling(join(folder, path));
    found.tokenWidth = config.tokenWidth;
    if (asked !== undefined) return;
    found.poolings = config.poolings;
    if (config.problem !== undefined) found.problems.push(config.problem);
  } else if (kind === "Normalize" && found.poolings !== undefined) {
    found.steps.push({ kind: "normalize" });
  } else if (kind === "Dense" && found.poolings !== undefined) {
    const step = await readDense(join(folder, path), path);
    if (typeof step === "string") found.problems.push(step);
    else found.steps.push(step);
  } else {
    found.problems.push(`the module \`${type}\`${path === "" ? "" : ` of ${path}`} is not known here`);
  }
}

async function readPooling(folder: string): Promise<PoolingConfig> {
  const config = await readJsonIfPresent(join(folder, "config.json"));
  if (config === undefined) return { poolings: [], problem: `there is no ${join(folder, "config.json")}` };
  const names = modeNames(config);
  const width = config.word_embedding_dimension ?? config.embedding_dimension;
  const unknown = names.find((name) => !Object.hasOwn(POOLING_NAMES, name));
  const asked = new Set(names.map((name) => POOLING_NAMES[name]));
  const problem =
    unknown === undefined
      ? `${join(folder, "config.json")} names no way of pooling`
      : `the pooling \`${unknown}\` is not known here; name another with \`pooling\``;
  return {
    poolings: POOLINGS.filter((pooling) => asked.has(pooling)),
    ...(typeof width === "number" ? { tokenWidth: width } : {}),
    ...(unknown === undefined && names.length > 0 ? {} : { problem }),
  };
}

/** Reads one `pooling_mode`, or a flag for each mode. */
function modeNames(config: Record<string, unknown>): string[] {
  const mode = config.pooling_mode;
  if (typeof mode === "string") return mode.toLowerCase().split("+");
  if (Array.isArray(mode)) return mode.map(String);
  const flag = "pooling_mode_";
  const set = Object.keys(config).filter((key) => key.startsWith(flag) && config[key] === true);
  return set.map((key) => key.slice(flag.length));
}

/** The step, or the reason why it is not supported. */
async function readDense(folder: string, name: string): Promise<DenseStep | string> {
  const config = (await readJsonIfPresent(join(folder, "config.json"))) ?? {};
  const function_ = String(config.activation_function ?? "torch.nn.modules.activation.Tanh");
  const short = function_.slice(function_.lastIndexOf(".") + 1);
  const activation = Object.hasOwn(ACTIVATIONS, short) ? ACTIVATIONS[short] : undefined;
  if (activation === undefined) return `${name} has the activation ${function_}, which is not known here`;
  const input = config.module_input_name ?? "sentence_embedding";
  if (input !== "sentence_embedding") return `${name} works on \`${String(input)}\`; expected sentence_embedding`;
  let tensors: Map<string, NamedTensor>;
  try {
    tensors = await readSafetensors(join(folder, "model.safetensors"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${name} has no model.safetensors that can be read (${reason}); save the model anew with sentence-transformers, which writes one`;
  }
  const weight = tensors.get("linear.weight");
  const bias = tensors.get("linear.bias");
  const [outputs, inputs] = weight?.shape ?? [];
  if (weight === undefined || outputs === undefined || inputs === undefined) return `${name} has no linear.weight`;
  if (bias === undefined && config.bias !== false) return `${name} has no linear.bias`;
  return { kind: "dense", name, inputs, outputs, weights: weight.data, bias: bias?.data ?? null, activation };
}
