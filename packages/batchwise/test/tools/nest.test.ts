// A NestJS application as `nest build` makes it: TypeScript with `experimentalDecorators`, compiled to CommonJS.

import { expect, test } from "vitest";
import { oldestRuntime } from "../house/runtimes.ts";
import { Project } from "./project.ts";

const source = `
  import "reflect-metadata";
  import { Injectable, Module, type OnModuleDestroy } from "@nestjs/common";
  import { NestFactory } from "@nestjs/core";
  import { batched, batcherOf, createBatcher, type BatchedCall, type Batcher } from "batchwise";
  import { createDispatcher, memoryStore } from "batchwise/dispatch";

  @Injectable()
  class Prices {
    readonly sizes: number[] = [];

    @batched({ maxBatchSize: 3 })
    async find(ids: number[], call?: BatchedCall): Promise<string[]> {
      this.sizes.push(ids.length);
      return ids.map((id) => \`price of \${id}\`);
    }
  }

  @Injectable()
  class Embedder implements OnModuleDestroy {
    readonly batcher: Batcher<string, number> = createBatcher((texts: string[]) => texts.map((text) => text.length));
    constructor(readonly prices: Prices) {}
    onModuleDestroy(): Promise<void> { return this.batcher.close(); }
  }

  @Module({ providers: [Prices, Embedder] })
  class AppModule {}

  async function main(): Promise<void> {
    const app = await NestFactory.createApplicationContext(AppModule, { logger: ["error"] });
    const embedder = app.get(Embedder);
    const { prices, batcher } = embedder;
    const found = await Promise.all([[1], [2, 3], [4]].map((ids) => prices.find(ids)));
    const lengths = await Promise.all(["a", "bb"].map((text) => batcher.submit(text)));
    await app.close();
    const { completed } = batcherOf(prices, "find").stats();
    const hasDispatcher = typeof createDispatcher === "function" && memoryStore() !== undefined;
    console.log(JSON.stringify({ found, sizes: prices.sizes, lengths, closed: batcher.closed, completed, hasDispatcher }));
  }
  void main();
`;

const compilerOptions = {
  module: "commonjs",
  moduleResolution: "node10",
  target: "es2022",
  outDir: "dist",
  strict: true,
  skipLibCheck: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  types: ["node"],
};

test("a NestJS application merges the calls of a decorated service", () => {
  const project = new Project("nest", { "main.ts": source, "tsconfig.json": { compilerOptions, files: ["main.ts"] } });
  expect(project.run("typescript-5/bin/tsc", ["-p", "."])).toEqual({ status: 0, output: "" });
  const { status, output } = project.run(oldestRuntime(), ["dist/main.js"]);
  expect({ status, ...JSON.parse(output) }).toEqual({
    status: 0,
    found: [["price of 1"], ["price of 2", "price of 3"], ["price of 4"]],
    sizes: [3, 1],
    lengths: [1, 2],
    closed: true,
    completed: 4,
    hasDispatcher: true,
  });
});
