// Claude at Bedrock: Anthropic's params without the model, which the job names, and with a version
// field in place of the header. Pure.

import type { JsonObject } from "../../contract/types.ts";
import { chatAnswer } from "../shapes/anthropic/answer.ts";
import { toParamsElsewhere } from "../shapes/anthropic/elsewhere.ts";
import type { Family } from "./family.ts";

/**
 * "anthropic_version … the value must be bedrock-2023-05-31" (Bedrock user guide, Anthropic Claude
 * Messages API).
 */
const VERSION = "bedrock-2023-05-31";

export const claude: Family = {
  endpoint: "/v1/chat/completions",
  /** `anthropic_beta`, a list of betas, is the only field of Bedrock's own. */
  toInput({ anthropic_beta: betas = null, ...body }, defaultMaxTokens) {
    const params = toParamsElsewhere(body, defaultMaxTokens, "Bedrock");
    return toNativeInput(betas === null ? params : { ...params, anthropic_beta: betas });
  },
  toAnswer(output, { createdAt, model }) {
    const answer = chatAnswer(output, createdAt);
    const { response } = answer;
    if (response === null || answer.error !== null) return answer;
    return { ...answer, response: { ...response, body: { ...response.body, model } } };
  },
};

/** The input for a body in Claude's own format. */
export function toNativeInput({
  model: _model,
  anthropic_version: version = VERSION,
  ...params
}: JsonObject): JsonObject {
  return { anthropic_version: version, ...params };
}
