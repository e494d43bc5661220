import { anthropicCase, openaiCase } from "../../dispatch/account-cases.ts";
import { accountSuite } from "../../dispatch/account-suite.ts";

accountSuite(openaiCase, "over real sockets");
accountSuite(anthropicCase, "over real sockets");
