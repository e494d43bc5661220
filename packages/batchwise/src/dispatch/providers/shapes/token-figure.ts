// The figure of enqueued tokens in the words of a refusal, such as "Limit: 90,000 enqueued tokens".
// Pure. What is not surely a number of tokens counts as none: a wrong figure would hold all
// requests of a model back.

/** Thousands apart by a comma, a dot, an underscore, an apostrophe or a space of any width. */
const GROUPED = "\\d{1,3}(?:[,._'’\\u0020\\u00a0\\u2009\\u202f]\\d{3})+";
const UNIT = "(?:\\s*(k|m|b|thousand|million|billion)\\b)?";
const LIMIT = new RegExp(
  `\\blimit(?:ed)?(?:\\s+(?:is|of|to))?[:=]?\\s*(${GROUPED}|\\d+(?:[.,]\\d+)?)${UNIT}` +
    "\\s+(?:enqueued\\s+|queued\\s+|input\\s+|prompt\\s+|batch\\s+)*tokens?\\b",
  "i",
);

const UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  b: 1e9,
  billion: 1e9,
};

/** null where the words name no figure, or one that is not surely of tokens. */
export function tokenFigureIn(message: string): number | null {
  const [, digits = "", unit] = LIMIT.exec(message) ?? [];
  // "1.500 million" is one and a half; "1.500" alone is fifteen hundred.
  const isDecimal = unit !== undefined && /^\d+[.,]\d+$/.test(digits);
  const number = Number(isDecimal ? digits.replace(",", ".") : digits.replace(/\D/g, ""));
  const figure = Math.round(number * (unit === undefined ? 1 : (UNITS[unit.toLowerCase()] as number)));
  const isPart = unit === undefined && /^\d+[.,]\d+$/.test(digits) && !new RegExp(`^${GROUPED}$`).test(digits);
  return !isPart && Number.isSafeInteger(figure) && figure > 0 ? figure : null;
}
