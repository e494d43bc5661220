// `batchwise serve` with the options that say which vectors a model gives, as a process of its own.

import { describe, expect, test } from "vitest";
import { startCommand } from "../support/command.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { jsonPost } from "../support/json-post.ts";

const CLS = {
  "1_Pooling/config.json": { pooling_mode_cls_token: true },
  "config.json": { max_position_embeddings: 4 },
};

describe("batchwise serve", () => {
  test("says its warnings once, on standard error, and in /stats", async () => {
    const command = startCommand("serve", "--port", "0", "--workers", "1", "--model", await exportFolder(tableGraph()));
    const [, url] = await command.prints(/ at (http:\S+)/);
    expect(command.output().match(/Warning: Nothing beside the model says/g)).toHaveLength(1);
    expect(command.stdout()).not.toContain("Warning");
    const stats = (await (await fetch(`${url}/stats`)).json()) as { warnings: string[] };
    expect(stats.warnings).toEqual([expect.stringContaining("--pooling says it")]);
  });

  test("takes --pooling, --truncate, --no-token-input and --batch-anyway", async () => {
    const graph = tableGraph({ width: 2, words: { 2: [1, 0], 3: [0, 1] }, quantised: true });
    const options = ["--pooling", "last-token", "--truncate", "--no-token-input", "--batch-anyway"];
    const command = startCommand(
      "serve",
      "--port",
      "0",
      "--workers",
      "1",
      "--model",
      await exportFolder(graph, CLS),
      ...options,
    );
    const [, url] = await command.prints(/ at (http:\S+)/);
    const ask = (input: unknown): Promise<Response> =>
      fetch(`${url}/v1/embeddings`, jsonPost({ model: "export", input }));
    const cut = (await (await ask("piano rain piano rain piano")).json()) as { usage: unknown };
    expect(cut.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    expect((await ask([2, 3])).status).toBe(400);
    const { options: used } = (await (await fetch(`${url}/stats`)).json()) as { options: { maxBatchSize: number } };
    expect(used.maxBatchSize).toBe(1024);
  });

  test("refuses a way of pooling that it does not know, and names those that it does", async () => {
    const command = startCommand("serve", "--pooling", "splade", "--model", await exportFolder(tableGraph()));
    expect(await command.ended).not.toBe(0);
    expect(command.output()).toContain("cls, max, mean, mean-sqrt-len, weighted-mean, last-token");
  });

  test("says in one line why it does not serve a model", async () => {
    const command = startCommand(
      "serve",
      "--port",
      "0",
      "--model",
      await exportFolder(tableGraph({ output: "logits" })),
    );
    expect(await command.ended).not.toBe(0);
    expect(command.output()).toContain("`logits`: the scores of a classifier");
    expect(command.output()).not.toMatch(/\n +at /);
  });
});
