// Request lines and result lines of the simulated provider.

import type { ResultLine } from "../../../../src/dispatch/contract/account.ts";

export function parseLine(text: string): { customId: string; identity: string; tokens: number } {
  const { custom_id, body } = JSON.parse(text) as {
    custom_id: string;
    body: { messages: { content: string }[] };
  };
  const identity = body.messages[0]?.content ?? "";
  return { customId: custom_id, identity, tokens: 4 + Math.ceil(identity.length / 4) };
}

export function resultOf(customId: string, identity: string, status: number): ResultLine {
  if (status === 0) return { customId, response: null, error: null, usage: null };
  const usage =
    status === 200 ? { inputTokens: 5, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, totalTokens: 7 } : null;
  const body = status === 200 ? { answer: identity } : { error: { code: `status_${status}`, message: "No." } };
  return { customId, response: { statusCode: status, body }, error: null, usage };
}

export async function gather(lines: AsyncIterable<string>): Promise<string[]> {
  const gathered: string[] = [];
  for await (const line of lines) gathered.push(line);
  return gathered;
}
