// The published account suite for each family of models, over the official clients of Vertex AI and Cloud Storage.

import { accountConformance, fakeFaults } from "batchwise/dispatch/testing";
import { describe, test } from "vitest";
import { openVertex } from "./vertex-case.ts";

describe.each([
  ["Gemini", "google"],
  ["Claude", "anthropic"],
  ["Llama", "meta"],
])("the Vertex account with %s", (_name, publisher) => {
  for (const { name, run } of accountConformance) {
    test(name, () =>
      run(async (options) => {
        const modelPath = (model: string) => `publishers/${publisher}/models/${model}`;
        const limits = { claudeJobs: 100, ...options.limits };
        const rig = await openVertex({ ...options, limits }, { modelPath });
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
