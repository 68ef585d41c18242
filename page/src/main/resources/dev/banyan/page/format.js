// Numbers with their units.

/** At most so many significant digits, without trailing zeros. */
export function digits(value, most = 4) {
  if (value === null || value === undefined) {
    return "";
  }
  return value >= 10 ** most ? String(Math.round(value)) : String(Number(value.toPrecision(most)));
}

export function gbs(value) {
  return `${digits(value, 5)} GB/s`;
}

/** Bytes in powers of 1024. */
export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${digits(value)} ${units[unit]}`;
}

export function micros(us) {
  return us < 1000 ? `${digits(us)} µs` : us < 1e6 ? `${digits(us / 1e3)} ms` : `${digits(us / 1e6)} s`;
}

export function percent(fraction) {
  const value = 100 * fraction;
  return `${value > 99.95 || value === 0 ? Math.round(value) : value.toFixed(1)}%`;
}

/** Spells out the length of chunks in a choice of algorithm: ChoiceText in Java writes ring@16M. */
export function choiceText(choice) {
  return choice.replace(/@(\d+)([KMGT]?)$/, (_, number, unit) => ` in chunks of ${number} ${unit ? `${unit}iB` : "B"}`);
}

/** Plural by number: count(2, "tree") is "2 trees". */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
}

/** Text with a capital first letter. */
export function sentence(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** A fraction of {@link Fraction} in Java: "600 / 7" without spaces. */
export function fraction(text) {
  const [numerator, denominator] = text.split("/").map(Number);
  return denominator ? numerator / denominator : numerator;
}
