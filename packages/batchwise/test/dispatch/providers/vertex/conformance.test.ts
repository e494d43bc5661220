// The published account suite for each model family, over the official Vertex AI and Cloud Storage
// clients.

import { accountConformance, fakeFaults } from "batchwise/dispatch/testing";
import { describe, test } from "vitest";
import { openVertex } from "./vertex-case.ts";

describe.each([
  ["Gemini", { modelPath: (model: string) => `publishers/google/models/${model}` }],
  ["Claude", { modelPath: (model: string) => `publishers/anthropic/models/${model}` }],
  ["Llama", { modelPath: (model: string) => `publishers/meta/models/${model}` }],
  ["text embeddings", { modelPath: () => "publishers/google/models/text-embedding-005", family: "embedding" as const }],
])("the Vertex account with %s", (_name, own) => {
  for (const { name, run } of accountConformance) {
    test(name, () =>
      run(async (options) => {
        const limits = { claudeJobs: 100, ...options.limits };
        const rig = await openVertex({ ...options, limits }, own);
        return {
          ...rig,
          create: "vertex.create",
          noMoney: fakeFaults.billingDisabled,
          surface: "vertex",
          omitsUnrun: true,
        };
      }),
    );
  }
});
