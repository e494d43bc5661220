// The account of a server with OpenAI's API that the command calls itself, line by line: vLLM,
// llama.cpp, `batchwise serve`.

import { localAccount } from "batchwise/dispatch/local";
import type { AccountFlags } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { commonOptions, keyIn } from "./account-flags.ts";
import type { OpenAccount } from "./opened.ts";

/** Not OPENAI_API_KEY: that key must not be sent to a server other than OpenAI's. */
const KEY = "BATCHWISE_API_KEY";

export function openLocal(flags: AccountFlags): OpenAccount {
  const { baseUrl, concurrency } = flags;
  if (baseUrl === undefined) {
    const example = "--base-url http://127.0.0.1:8000/v1";
    throw new CommandError(`--account local needs the address of a server of OpenAI's shape: ${example}`);
  }
  const apiKey = keyIn(KEY);
  const account = localAccount({
    ...commonOptions(flags),
    ...{ baseURL: baseUrl, ...(concurrency === undefined ? {} : { concurrency }) },
    ...(apiKey === null ? {} : { apiKey }),
  });
  return {
    ...{ account, url: baseUrl, address: "--base-url" },
    credentials: apiKey === null ? "calls without a key" : `the key in ${KEY}`,
    advice: `Export ${KEY} with the server's key.`,
    buckets: [],
  };
}
