// Predict rows of a table with the numbers of a model. No dependencies.

const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const AROUND = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
const BLANKS = new RegExp(`${BLANK}+`);
const SEVERAL = new RegExp(`${BLANK}{2,}`, "g");
const PLAIN = /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/;
const WHOLE = /^[-+]?(0|[1-9][0-9]*)$/;
const NUMBER = /^[-+]?(?!0[0-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/;
const TRUTH = new Map([["True", 1], ["TRUE", 1], ["true", 1], ["False", 0], ["FALSE", 0], ["false", 0]]);
const EXACT = /^\+?(-?[1-9][0-9]*)(\.[0-9]*)$/;
const NARROW = [1.2e-38, 3.4e38]; // about the range of float32 with full precision
const ENDLESS = /^[-+]?(inf(inity)?|nan)$/i;
const MOMENT =
  /^(?:(\d{4}-\d\d-\d\d)(?:[T ](?=\d)|$))?(?:(\d\d:\d\d)(?::(\d\d)(\.\d+)?)?(Z|[-+]\d\d:?\d\d)?)?$/;
const YEAR = /^(?!0000)\d{4}-/; // the years of Python's dates
const FAR = 2 ** -600; // scales values whose scores overflow; nats are scaled by its square

/**
 * Make the function that predicts rows.
 *
 * @param {object} model the numbers of a model, as `naively export --js` writes them.
 * @returns {(row: object) => {label, probabilities, contributions}} see `predict` below.
 */
export function predictor(model) {
  const missing = new Set(model.missing);
  const absent = new Set(model.missing.filter((spelling) => NUMBER.test(spelling)).map(Number));
  const cuts = model.cuts.map((cut) => cut.levels ? levelCut(cut) : numberCut(cut));
  const classes = model.classes.length;
  const texts = model.texts.map(evidence);
  const evaluator = (term) => ({ table, trees, line, parabola, density, text, mixed })[term.type](term);
  const terms = model.terms.map(scaled);
  const others = model.gaps ? model.gaps.terms.map(scaled) : [];

  // ---- cells ----------------------------------------------------------------------------------

  function cell(row, name) {
    const value = Object.hasOwn(row, name) ? row[name] : null;
    if (value === undefined || value === null || Number.isNaN(value)) return null;
    if (!["string", "number", "boolean", "bigint"].includes(typeof value)) {
      throw new TypeError(`${JSON.stringify(name)}: a value is a number, a string, true, false or null`);
    }
    return typeof value === "string" ? value.replace(AROUND, "") : value;
  }

  /** Read a cell as a number; NaN if it is missing or no number. With `truths`, booleans are 1 and 0. */
  function number(row, name, truths) {
    let value = cell(row, name);
    if (typeof value === "string") value = missing.has(value) ? NaN : TRUTH.has(value) ? TRUTH.get(value) > 0 : PLAIN.test(value) ? Number(value) : NaN;
    if (typeof value === "boolean") value = truths ? Number(value) : NaN;
    value = value === null ? NaN : Number(value);
    return Number.isFinite(value) && !absent.has(value) ? value : NaN;
  }

  /** Read a cell as the text of a category, with numbers in one spelling; null if it is missing. */
  function level(row, name) {
    const value = cell(row, name);
    if (value === null || missing.has(value)) return null;
    const category = typeof value === "string" ? canonical(value) : typeof value === "number" ? numberText(value) : String(value);
    return missing.has(category) ? null : category;
  }

  function levelCut(cut) {
    const bins = new Map(cut.levels.map((category, k) => [category, cut.bins[k]]));
    const rounded = new Map(cut.levels.map((category, k) => [narrow(category), cut.bins[k]]));
    rounded.delete(null);
    return (row) => {
      const category = level(row, cut.column);
      if (category === null || (!cut.endless && isEndless(category))) return cut.missing;
      return bins.get(category) ?? rounded.get(narrow(category)) ?? cut.other;
    };
  }

  /** Round a fraction in text to float32, to match categories that were rounded; null for other text. */
  function narrow(text) {
    const value = NUMBER.test(text) ? Number(text) : NaN;
    const fits = Math.abs(value) >= NARROW[0] && Math.abs(value) <= NARROW[1];
    return fits && !Number.isInteger(value) ? Math.fround(value) : null;
  }

  function numberCut(cut) {
    const truths = cut.starts.every((start) => start === 0 || start === 1);
    return (row) => {
      const x = number(row, cut.column, truths);
      if (Number.isNaN(x) || cut.starts.length === 0) return cut.missing;
      let low = 0, high = cut.starts.length; // starts[low] <= x < starts[high], with -Infinity and Infinity at the ends
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (cut.starts[middle] <= x) low = middle; else high = middle;
      }
      return cut.bins[low];
    };
  }

  // ---- terms: each returns a list of [columns, term of a text or null, nats of each class] ----------

  /** The contributions of a term, times a factor (for texts, before they are mixed with the prior) and
   * the square of a scale; lines and parabolas apply the scale themselves, before they overflow. */
  function scaled(term) {
    const added = evaluator(term);
    if (term.type === "line" || term.type === "parabola") return added;
    return (row, bins, scale, factor) => {
      const by = (term.type === "mixed" ? 1 : factor) * scale * scale;
      return added(row, bins, factor).map(([columns, part, nats]) => [columns, part, nats.map((value) => value * by)]);
    };
  }

  function table(term) {
    const columns = term.cuts.map((k) => model.cuts[k].column);
    return (row, bins) => {
      const place = term.cuts.reduce((at, k, j) => at * term.sizes[j] + bins[k], 0);
      return [[columns, null, term.added.slice(place * classes, (place + 1) * classes)]];
    };
  }

  function trees(term) {
    const columns = term.cuts.map((k) => model.cuts[k].column);
    return (row, bins) => {
      const leaves = term.roots.map((place) => {
        while (term.nodes[place][0] >= 0) {
          const [column, first, last, child] = term.nodes[place], bin = bins[term.cuts[column]];
          place = first <= bin && bin <= last ? child : child + 1;
        }
        return term.added[place];
      });
      return [[columns, null, leaves[0].map((_, c) => sum(leaves.map((added) => added[c])))]];
    };
  }

  function line(term) {
    return (row, bins, scale) => {
      let x = number(row, term.column, true);
      if (!inside(term, x)) return [];
      if (term.threshold !== null) x = Number(x > term.threshold);
      return [[[term.column], null, term.zero.map((zero, c) => zero * scale * scale + term.slope[c] * (x * scale * scale))]];
    };
  }

  function parabola(term) {
    return (row, bins, scale) => {
      const x = number(row, term.column, true);
      if (!inside(term, x)) return [];
      const off = (c) => term.scale[c] > 0 ? (x * scale - term.mean[c] * scale) * term.scale[c] : 0;
      return [[[term.column], null, term.norm.map((norm, c) => norm * scale * scale - off(c) ** 2)]];
    };
  }

  function density(term) {
    return (row) => {
      const there = term.columns.filter((name) => !Number.isNaN(number(row, name, false)));
      if (there.length < term.fewest) return [];
      const z = term.columns.map((name, j) => {
        const x = (number(row, name, false) - term.centre[j]) / term.spread[j];
        return Number.isNaN(x) ? 0 : Math.min(Math.max(x, -term.farthest), term.farthest);
      });
      const f = term.base.map((base, c) => {
        const mean = term.mean[c];
        if (term.whitening === null) return base + sum(z.map((x, j) => x * mean[j]));
        const off = z.map((x, j) => x - mean[j]);
        return base - sum(term.whitening[c].map((weights) => sum(weights.map((a, j) => a * off[j])) ** 2)) / 2;
      });
      const best = Math.max(...f);
      return [[term.columns, null, f.map((logDensity) => term.weight * Math.max(logDensity - best, term.least))]];
    };
  }

  function text(term, numbers) {
    const places = new Map(term.terms.map((ngram, k) => [ngram, k]));
    const stop = new Set(term.stop_words);
    const here = [term.column];
    const merged = term.once || term.log || term.idf || term.length_norm;
    const whole = new Array(classes).fill(0);
    term.zero?.forEach((zero, k) => { whole[k % classes] += zero; });
    return (row) => {
      const raw = Object.hasOwn(row, term.column) ? row[term.column] : null;
      const value = term.as_level ? level(row, term.column) : cell(row, term.column);
      if (value === null || missing.has(value) || (term.as_level && isEndless(value))) return [[here, null, term.missing]];
      const document = term.as_level ? value.replaceAll("\0", "\u2400") : typeof raw === "string" ? raw : typeof value === "number" ? numberText(value) : String(value);
      const counts = new Map();
      for (const ngram of grams(document, term, stop)) {
        const k = places.get(ngram);
        if (k !== undefined) counts.set(k, (counts.get(k) ?? 0) + 1);
      }
      const indices = [...counts.keys()];
      const key = numbers ? sum(indices.map((k) => (merged ? 1 : counts.get(k)) * numbers[k])) : 0;
      let values = indices.map((k) => term.once ? 1 : counts.get(k));
      if (term.log) values = values.map((n) => Math.log(1 + n));
      if (term.idf) values = values.map((n, i) => n * term.idf[indices[i]]);
      if (term.length_norm) {
        const squared = term.length_norm === "l2";
        const size = sum(values.map((n) => squared ? n * n : n));
        if (size > 0) values = values.map((n) => n / (squared ? Math.sqrt(size) : size));
      }
      const length = sum(values);
      const root = Math.sqrt(Math.sqrt(length > 0 ? length : 1));
      const factor = 1 / root ** term.quarters;
      const added = indices.map((k, i) => [here, (term.quoted ? `'${term.terms[k]}'` : term.terms[k]),
        range(classes).map((c) => factor * values[i] * term.slope[k * classes + c])]);
      if (term.zero === null) return Object.assign(added, { key });
      indices.forEach((k, i) => added[i][2].forEach((_, c) => { added[i][2][c] += term.zero[k * classes + c]; }));
      const rest = range(classes).map((c) => whole[c] - sum(indices.map((k) => term.zero[k * classes + c])));
      return [...added, [here, null, rest]];
    };
  }

  /** The evidence of a text: [the contributions of its terms, its nats, which differ from their sum if
   * the text recurs, whether the bags that decide have known terms, or null if it is missing]. */
  function evidence(term) {
    const inner = term.terms.map((bag, k) => text(bag, k === 0 ? term.numbers : null));
    const recurring = new Map(term.keys.map((key, k) => [key, term.recurring[k]]));
    return (row) => {
      const bags = inner.map((bag) => bag(row));
      const present = bags.some((bag) => bag.key !== undefined);
      const hasTerms = present && bags.some((bag) => bag.length > 0);
      const parts = hasTerms ? [[[], null, term.base], ...bags.flat()] : [];
      const sums = range(classes).map((c) => sum(parts.map((part) => part[2][c])));
      const recurs = hasTerms ? recurring.get(bags[0].key) : undefined;
      if (recurs !== undefined) parts.push([[term.terms[0].column], null, recurs.map((value, c) => value - sums[c])]);
      const decided = present ? term.deciding.some((k) => bags[k].length > 0) : null;
      return [parts, recurs ?? sums, decided];
    };
  }

  /** The sum s of a base and some texts, mixed with p(x): s_c + log ((1 - e) + e Σ_k π_k exp(s_k - s_c)).
   * Texts without known terms have a different e. */
  function mixed(term) {
    return (row, bins, factor) => {
      const weights = term.weights.map((weight) => weight * factor);
      const results = term.texts.map((k) => texts[k](row));
      const weighted = ([each], k) => each.map(([columns, part, nats]) => [columns, part, nats.map((value) => weights[k] * value)]);
      const parts = [[[], null, term.base], ...results.flatMap((result, k) => weights[k] !== 0 ? weighted(result, k) : [])];
      const sums = range(classes).map((c) => sum(parts.map((part) => part[2][c])));
      const totals = range(classes).map((c) => term.base[c] + sum(results.map(([, nats], k) => weights[k] * nats[c])));
      const whole = logSum(totals.map((value, c) => (term.log_prior[c] ?? -Infinity) + value));
      const decided = term.first.map((k) => results[k][2]);
      const share = decided.includes(false) && !decided.includes(true) ? term.unseen_share : term.share;
      const most = Math.log1p(-share), least = Math.log(share);
      const rest = totals.map((value, c) => value - sums[c] + logSum([most, least + whole - value]));
      return [...parts, [[], "(prior mixing)", rest]];
    };
  }

  // ---- rows -------------------------------------------------------------------------------------

  const named = (values) => Object.fromEntries(values.map((value, c) => [String(model.classes[c]), value]));

  /** The factor of the terms of a row with unfamiliar missing cells; null for other rows. */
  function factor(bins) {
    if (!model.gaps) return null;
    const { cuts: counted, unusual, most, together, factors } = model.gaps;
    const gone = counted.map((k) => bins[k] === model.cuts[k].missing);
    const count = gone.filter(Boolean).length;
    const odd = count > most || gone.some((isMissing, k) => isMissing && unusual[k]) || together.some(([j, k]) => gone[j] && !gone[k]);
    return odd ? factors[count] : null;
  }

  function scores(row, scale) {
    const bins = cuts.map((cut) => cut(row));
    const by = factor(bins);
    const base = (by === null ? model.base : model.gaps.base).map((value) => value * scale * scale);
    const parts = [[[], null, base], ...(by === null ? terms : others).flatMap((term) => term(row, bins, scale, by ?? 1))];
    return [parts, range(classes).map((c) => sum(parts.map((part) => part[2][c])))];
  }

  /**
   * Predict a row.
   *
   * @param {object} row values by column name: numbers, strings, booleans or null. Absent columns
   *   are missing; unknown columns are ignored.
   * @returns {object}
   *   label: the most probable class, the first of equals;
   *   probabilities: P(class | row) by class name;
   *   contributions: their sum is log P(class | row), up to a constant of the row: a list of
   *     {columns, term, nats}, where nats has a number a class. The prior and biases have no
   *     columns, nor has the correction that mixes the evidence of texts with the prior, whose
   *     `term` is "(prior mixing)". Else `term` is a term of a text, or null.
   * @throws {TypeError} if a value is an object, a function or a symbol.
   */
  return function predict(row) {
    const [parts, totals] = scores(row, 1);
    const representable = totals.some((value) => value > -Infinity) && totals.every((value) => value < Infinity);
    const ranked = representable ? totals : scores(row, FAR)[1];
    const best = Math.max(...ranked);
    const first = ranked.indexOf(best);
    const powers = representable ? totals.map((value) => Math.exp(value - best)) : ranked.map((value) => Number(value === best));
    const whole = sum(powers);
    return {
      label: model.classes[first],
      probabilities: named(powers.map((value) => value / whole)),
      contributions: parts.map(([columns, term, nats]) => ({ columns, term, nats: named(nats) })),
    };
  };
}

const inside = (term, x) => x >= (term.low ?? -Infinity) && x <= (term.high ?? Infinity);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const logSum = (values) => {
  const most = Math.max(...values);
  return most + Math.log(sum(values.map((value) => Math.exp(value - most))));
};
const range = (count) => Array.from({ length: count }, (_, k) => k);

/** Whether text spells infinity or NaN, or a number that overflows. */
const isEndless = (text) => ENDLESS.test(text) || (NUMBER.test(text) && !Number.isFinite(Number(text)));

/** Write a number as a category: 3.0 as 3, integers below 1e21 with all digits. */
function numberText(x) {
  if (Number.isInteger(x) && Math.abs(x) < 1e21) return BigInt(x).toString();
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (Math.abs(x) >= 1e-4) return String(x);
  return x.toExponential().replace(/e-(\d)$/, "e-0$1");
}

/** Normalize a text category: 1.50 to 1.5, True to true, 12:30:00 to 12:30. */
function canonical(text) {
  if (WHOLE.test(text)) return text === "-0" ? "0" : text.replace(/^\+/, "");
  if (NUMBER.test(text) && Number.isFinite(Number(text))) {
    const exact = Math.abs(Number(text)) >= 2 ** 53 && EXACT.exec(text); // keep all digits
    return exact ? exact[1] + exact[2].replace(/0+$/, "").replace(/\.$/, "") : numberText(Number(text));
  }
  if (TRUTH.has(text)) return text.toLowerCase();
  const match = text && MOMENT.exec(text);
  if (!match) return text;
  let [, date, clock, seconds, fraction, zone] = match;
  fraction = (fraction ?? "").replace(/0+$/, "").replace(/\.$/, "");
  if (seconds && (seconds !== "00" || fraction)) clock = `${clock}:${seconds}${fraction}`;
  const utc = zone && date && clock && inUtc(date, clock, zone);
  if (utc) [date, clock, zone] = [...utc, "+00:00"];
  else if (zone) zone = zone === "Z" ? "+00:00" : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  else if (date && clock === "00:00") clock = undefined;
  return [date, clock].filter(Boolean).join(" ") + (zone ?? "");
}

/** Convert a date and a time to UTC; null if there is no such date. */
function inUtc(date, clock, zone) {
  const local = `${date}T${clock.slice(0, 5)}`;
  const moment = new Date(`${local}Z`);
  if (!YEAR.test(local) || Number.isNaN(+moment) || !moment.toISOString().startsWith(local)) return null;
  const minutes = zone === "Z" ? 0 : 60 * zone.slice(1, 3) + Number(zone.slice(-2));
  const utc = new Date(moment - (zone[0] === "-" ? -minutes : minutes) * 60000).toISOString();
  return YEAR.test(utc) ? [utc.slice(0, 10), utc.slice(11, 16) + clock.slice(5)] : null;
}

/** The n-grams of a document, with repetitions. */
function grams(document, term, stop) {
  const text = term.lowercase ? document.toLowerCase() : document;
  const ngrams = [];
  const cut = (units, glue, whole) => {
    const before = ngrams.length;
    for (let size = term.low; size <= Math.min(term.high, units.length); size++) {
      for (let k = 0; k + size <= units.length; k++) ngrams.push(units.slice(k, k + size).join(glue));
    }
    if (whole && ngrams.length === before) ngrams.push(units.join(glue));
  };
  if (term.analyzer === "word") {
    const word = term.letters ? /[\p{L}\p{N}_]+/gu : /[\p{L}\p{N}_]{2,}/gu;
    cut((text.match(word) ?? []).filter((token) => !stop.has(token)), " ", false);
  } else if (term.analyzer === "char") {
    cut([...text.replace(SEVERAL, " ")], "", false);
  } else {
    for (const word of text.split(BLANKS)) if (word) cut([` `, ...word, ` `], "", true);
  }
  return ngrams;
}
