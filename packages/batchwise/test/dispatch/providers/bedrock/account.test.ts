// The published account suite for each model family, over the official Bedrock and S3 clients.

import { type AccountRig, accountConformance } from "batchwise/dispatch/testing";
import { afterEach, describe, test } from "vitest";
import { type BedrockRig, bedrockRig } from "./rig.ts";

const open: BedrockRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

const noMoney: NonNullable<AccountRig["noMoney"]> = {
  on: "invocationJobs.create",
  accept: false,
  reply: { status: 403, body: { message: "Your account is not authorized." } },
};

describe.each(["claude", "nova", "llama", "titan", "openai"] as const)("the Bedrock account, calling %s", (family) => {
  for (const { name, run } of accountConformance) {
    test(name, () =>
      run(async (options) => {
        const rig = await bedrockRig(options, { family });
        open.push(rig);
        const { fake } = rig;
        return {
          ...rig,
          fake: {
            inject: (fault) => fake.inject(fault),
            planNext: (plan) => fake.planNext(plan),
            addForeign: (batch) => fake.addForeign({ ...batch, surface: "bedrock" }),
            calls: (operation) => fake.calls(operation),
            runs: () => fake.runs(),
            batches: () => fake.batches(),
          },
          create: "invocationJobs.create",
          noMoney,
        };
      }),
    );
  }
});
