// A NestJS application as `nest build` makes it: TypeScript with `experimentalDecorators`, compiled
// to CommonJS. Both of NestJS's latest majors; the later one is ES modules, which the application
// requires.

import { cpSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../../packages/batchwise/test/house/repository.ts";
import { Project } from "../../../packages/batchwise/test/tools/project.ts";
import { oldestRuntime } from "../../runtimes/runtimes.ts";
import { home, writeRecipe } from "../recipes.ts";

const tsc = `${root}compat/versions/node_modules/typescript-5/bin/tsc`;

const service = `
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

/** Uses the recipe of docs/recipes.md: a queue of 500 places, and more callers at once. */
const shop = `
  import "reflect-metadata";
  import { NestFactory } from "@nestjs/core";
  import { Checkout, Prices, ShopModule } from "./recipe";

  async function main(): Promise<void> {
    const app = await NestFactory.createApplicationContext(ShopModule, { logger: ["error"] });
    const checkout = app.get(Checkout);
    const totals = await Promise.all([["a", "bb"], ["ccc"]].map((ids) => checkout.total(ids)));
    const ids = Array.from({ length: 1_100 }, () => "a");
    const refused = await checkout.total(ids).catch((error) => [error.getStatus(), error.cause.code]);
    await app.close();
    const closed = await app.get(Prices).find(["a"]).catch(({ code }) => code);
    console.log(JSON.stringify({ totals, refused, closed }));
  }
  void main();
`;

test.each([11, 12])(
  "in NestJS %i a decorated service merges its calls, and the recipe's provider answers 503 when it is full, and closes",
  (major) => {
    // One program for both applications: the compiler takes most of the time.
    const files = { "service.ts": service, "shop.ts": shop };
    const settings = { compilerOptions, files: Object.keys(files) };
    const project = new Project("nest", { ...files, "tsconfig.json": settings }, home);
    writeRecipe("NestJS", project.folder);
    for (const part of major === 11 ? ["common", "core"] : []) {
      cpSync(`${home}node_modules/nest-11-${part}`, `${project.folder}node_modules/@nestjs/${part}`, {
        recursive: true,
      });
    }
    expect(project.run(tsc, ["-p", "."])).toEqual({ status: 0, output: "" });
    const ofService = project.run(oldestRuntime(), ["dist/service.js"]);
    expect({ status: ofService.status, ...JSON.parse(ofService.output) }).toEqual({
      status: 0,
      found: [["price of 1"], ["price of 2", "price of 3"], ["price of 4"]],
      sizes: [3, 1],
      lengths: [1, 2],
      closed: true,
      completed: 4,
      hasDispatcher: true,
    });
    const { status, output } = project.run(oldestRuntime(), ["dist/shop.js"]);
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^{.*}\n$/) });
    expect(JSON.parse(output)).toEqual({ totals: [3, 3], refused: [503, "QUEUE_FULL"], closed: "CLOSED" });
  },
);
