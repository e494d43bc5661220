// The fields that every account has, beside its calls. An account extends this class with these.

import type { Account, CallOptions, CleanupInput } from "../../contract/account.ts";
import type { AccountSettings } from "./account-options.ts";

export class AccountFields {
  readonly name: string;
  readonly capabilities: Account["capabilities"];
  readonly models: readonly string[] | null;
  readonly weight: number;
  readonly pollMs: number;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  readonly checkBodies: boolean;
  readonly classify: Account["classify"];
  readonly cleanup?: NonNullable<Account["cleanup"]>;
  readonly #secrets: () => readonly string[];

  constructor(settings: AccountSettings, classify: Account["classify"]) {
    this.name = settings.name;
    this.capabilities = settings.capabilities;
    this.models = settings.models;
    this.weight = settings.weight;
    this.pollMs = settings.pollMs;
    this.requestTimeoutMs = settings.requestTimeoutMs;
    this.reconcileGraceMs = settings.reconcileGraceMs;
    this.checkBodies = settings.checkBodies;
    this.classify = classify;
    this.#secrets = settings.secrets;
    if (settings.cleanup && this.deleteAll !== undefined) this.cleanup = this.deleteAll.bind(this);
  }

  /** Deletes the batch's input and output at the provider, for the option `cleanup`. */
  protected deleteAll?(batch: CleanupInput, call: CallOptions): Promise<void>;

  secrets(): readonly string[] {
    return this.#secrets();
  }
}
