// Writes the folder of a small model, as @huggingface/transformers loads it: every word has a
// weight for each of two labels, and a sentence's logits are the sums. Enough to show batching
// where no model can be downloaded.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OnnxGraph } from "../../../../packages/server/src/models/onnx-graph.ts";

const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
export const PRAISE: readonly string[] = ["lovely", "quick", "fresh", "friendly", "perfect"];
export const BLAME: readonly string[] = ["slow", "cold", "rude", "broken", "awful"];
export const THINGS: readonly string[] = ["soup", "service", "room", "view", "concert", "train", "answer", "garden"];
const OTHERS = ["the", "was", "and", "but", "."];
const WORDS = [...SPECIAL, ...PRAISE, ...BLAME, ...THINGS, ...OTHERS];

export async function writeModelFolder(folder: string): Promise<void> {
  await mkdir(join(folder, "onnx"), { recursive: true });
  const write = (name: string, content: unknown): Promise<void> =>
    writeFile(join(folder, name), JSON.stringify(content));
  await write("config.json", { model_type: "bert", id2label: { 0: "NEGATIVE", 1: "POSITIVE" }, pad_token_id: 0 });
  await write("tokenizer_config.json", {
    tokenizer_class: "BertTokenizer",
    model_max_length: 512,
    ...{ pad_token: "[PAD]", unk_token: "[UNK]", cls_token: "[CLS]", sep_token: "[SEP]" },
  });
  await write("tokenizer.json", tokenizer());
  await writeFile(join(folder, "onnx/model.onnx"), graphOfSums());
}

function graphOfSums(): Uint8Array {
  const graph = new OnnxGraph();
  const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
  const mask = graph.node("Cast", [graph.input("attention_mask", "int64", ["batch", "sequence"])], {
    to: { integer: 1 },
  });
  const table = new Float32Array(WORDS.length * 2);
  for (const [id, word] of WORDS.entries()) {
    if (BLAME.includes(word)) table[2 * id] = 2;
    if (PRAISE.includes(word)) table[2 * id + 1] = 2;
  }
  const words = graph.node("Gather", [graph.weights(table, [WORDS.length, 2]), ids]);
  const kept = graph.node("Mul", [words, graph.node("Unsqueeze", [mask, graph.integers([2])])]);
  graph.node("ReduceSum", [kept, graph.integers([1])], { keepdims: { integer: 0 } }, "logits");
  graph.output("logits", "float32", ["batch", 2]);
  return graph.finish("sums", "Sums of the weights of words");
}

function tokenizer(): unknown {
  const marks = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const special = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, id) => ({ id, content, ...marks })),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [special("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, special("[SEP]")],
      pair: [special("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, special("[SEP]")],
      special_tokens: {
        "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
        "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
      },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  };
}
