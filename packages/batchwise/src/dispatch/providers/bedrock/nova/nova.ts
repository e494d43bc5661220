// Nova's text models, in the format of `messages-v1`. Pure.

import type { Family } from "../family.ts";
import { toNovaAnswer } from "./completion.ts";
import { toNovaRequest } from "./request.ts";

export const nova: Family = {
  endpoint: "/v1/chat/completions",
  toInput: toNovaRequest,
  toAnswer: toNovaAnswer,
};
