
// ---- the form of the page ---------------------------------------------------------------------

const MOST = 14, CLASSES = 8, MIXED = "(prior mixing)";
const data = (id) => JSON.parse(document.getElementById(id).textContent);
const $ = (id) => document.getElementById(id);
const { form, labels, names, prior } = data("data-form");
const predict = predictor(data("data-model"));
const percent = (p) => p > 0.9995 ? "> 99.9%" : p < 0.0005 ? "< 0.1%" : `${(100 * p).toFixed(1)}%`;
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A line of the form; the column gets functions to read and write its value. */
function field(column, k) {
  const id = `field-${k}`, line = make("div", { className: "field" }, make("label", { htmlFor: id, textContent: column.name }));
  if (column.kind === "text") {
    line.classList.add("long");
    const box = make("textarea", { id });
    column.get = () => box.value.trim() ? box.value : null;
    column.set = (value) => { box.value = value ?? ""; };
    line.append(box);
  } else if (column.kind === "categorical") {
    const box = make("select", { id }, make("option", { value: "", textContent: "(missing)" }));
    for (const category of column.categories) box.append(make("option", { value: category, textContent: category }));
    column.get = () => box.selectedIndex > 0 ? column.categories[box.selectedIndex - 1] : null;
    column.set = (value) => { box.selectedIndex = 1 + column.categories.indexOf(String(value)); };
    line.append(box);
  } else {
    const box = make("input", { id, type: "number", step: "any", placeholder: "missing" });
    column.get = () => box.value === "" || !box.validity.valid ? null : Number(box.value);
    column.set = (value) => { box.value = value ?? ""; };
    if (column.low < column.high) {
      const whole = column.whole;
      const slide = make("input", { type: "range", min: column.low, max: column.high, step: whole ? 1 : "any" });
      slide.setAttribute("aria-label", `${column.name}, by sliding`);
      const shown = (x) => whole ? Math.round(x) : Number(x.toPrecision(3));
      slide.addEventListener("input", () => { box.value = shown(Number(slide.value)); });
      box.addEventListener("input", () => { if (box.value !== "") slide.value = box.value; });
      const set = column.set;
      column.set = (value) => { set(value); slide.value = value ?? (column.low + column.high) / 2; };
      line.append(make("div", { className: "pair" }, slide, box));
    } else line.append(box);
  }
  return line;
}

const value = (row, name) => row[name] === null || row[name] === undefined ? "missing" : String(row[name]);

/** [name, value, log-odds] of each part of the score, the same columns together. */
function parts(prediction, row, label, other) {
  const sums = new Map();
  for (const { columns, term, nats } of prediction.contributions) {
    const key = JSON.stringify([columns, term]);
    const part = sums.get(key) ?? { columns, term, odds: 0 };
    part.odds += nats[label] - nats[other];
    sums.set(key, part);
  }
  return [...sums.values()].map(({ columns, term, odds }) => {
    if (columns.length === 0) return [term ?? prior, "", odds];
    if (term !== null) return [term, form.length > 1 ? columns[0] : "", odds];
    if (form.find((column) => column.name === columns[0])?.kind === "text") return ["(text as a whole)", columns[0], odds];
    if (columns.length > 3) return [`${columns.length} numeric features`, "", odds];
    return [columns.join(" × "), columns.map((name) => value(row, name)).join(" × "), odds];
  }).filter(([, , odds]) => odds !== 0).sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
}

function show() {
  const row = Object.fromEntries(form.map((column) => [column.name, column.get()]));
  const prediction = predict(row);
  const p = labels.map((name, c) => [prediction.probabilities[name], c]);
  const order = [...p].sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const first = labels.indexOf(String(prediction.label)), two = labels.length === 2;
  const next = order.find(([, c]) => c !== first)?.[1] ?? first;
  const side = (c) => two ? "ab"[c] : c === first ? "a" : "";
  $("predicted").replaceChildren(`${names[first]} `, make("small", { textContent: percent(p[first][0]) }));
  const listed = two ? p : order.slice(0, CLASSES);
  $("classes").replaceChildren(...listed.map(([chance, c]) => {
    const bar = make("i", { className: side(c) });
    bar.style.width = `${100 * chance}%`;
    return make("li", {}, make("span", { textContent: names[c], title: names[c] }), make("div", { className: "track" }, bar),
      make("span", { textContent: percent(chance) }));
  }));
  $("pair").textContent = first === next ? "" : `Log-odds of ${names[first]} against ${names[next]}, in nats; they add up to ${signed(Math.log(p[first][0] / p[next][0]))}:`;
  const every = parts(prediction, row, labels[first], labels[next]);
  const mixed = every.filter(([name]) => name === MIXED), priors = every.filter(([name]) => name === prior);
  const evidence = every.filter(([name]) => name !== MIXED && name !== prior);
  const lines = [...evidence.slice(0, MOST), ...priors], rest = evidence.slice(MOST);
  const widest = Math.max(...lines.map(([, , odds]) => Math.abs(odds)).filter(Number.isFinite), 1e-9);
  $("why").replaceChildren(...lines.map(([name, what, odds]) => {
    const colour = odds > 0 ? (two ? "ab"[first] : "a") : two ? "ab"[next] : "b";
    const bar = make("i", { className: `${colour} ${odds > 0 ? "up" : "down"}` });
    bar.style.width = `${50 * Math.min(Math.abs(odds) / widest, 1)}%`;
    const head = make("th", {}, make("b", { textContent: name }), ` ${what}`);
    head.scope = "row";
    return make("tr", {}, head, make("td", {}, make("div", { className: "odds" }, make("span", {}, bar), signed(odds))));
  }));
  const total = (some) => signed(some.reduce((sum, [, , odds]) => sum + odds, 0));
  const more = rest.length ? [`and ${rest.length} more, ${total(rest)} together`] : [];
  if (mixed.length) more.push(`${total(mixed)} by prior mixing, towards the class frequencies`); // a bar would hide the others
  $("more").textContent = more.join("; ");
}

$("fields").replaceChildren(...form.map(field));
const start = () => { for (const column of form) column.set(column.value); show(); };
$("form").addEventListener("input", show);
$("form").addEventListener("submit", (event) => event.preventDefault());
$("again").addEventListener("click", start);
$("clear").addEventListener("click", () => { for (const column of form) column.set(null); show(); });
$("no-script").hidden = true;
$("sides").hidden = false;
start();
