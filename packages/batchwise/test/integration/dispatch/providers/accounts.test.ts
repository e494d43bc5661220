import {
  anthropicCase,
  geminiFileCase,
  geminiInlineCase,
  mistralCase,
  openaiCase,
} from "../../../dispatch/providers/account-cases.ts";
import { accountSuite } from "../../../dispatch/providers/account-suite.ts";

accountSuite(openaiCase, "over real sockets");
accountSuite(anthropicCase, "over real sockets");
accountSuite(geminiInlineCase, "over real sockets");
accountSuite(geminiFileCase, "over real sockets");
accountSuite(mistralCase, "over real sockets");
