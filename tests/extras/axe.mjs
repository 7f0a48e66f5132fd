// What axe-core finds on pages in Chromium, wide and narrow, light and dark.
// node axe.mjs FOLDER CHROMIUM '[{"name", "url", "typed"}, ...]': FOLDER has the packages in its node_modules.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, executablePath, pages] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function check(browser, { name, url, typed }, width, scheme) {
  const page = await browser.newPage();
  await page.setBypassCSP(true); // axe is a script of another than the page
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme },
    { name: "prefers-reduced-motion", value: "reduce" }, // no colour on its way to another
  ]);
  await page.goto(url, { waitUntil: "networkidle0", timeout: 60_000 });
  if (typed) {
    await page.type("textarea", typed);
    await page.waitForSelector("mark");
    await page.waitForNetworkIdle();
  }
  await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
  // contrast is not told over a picture, and where a table would have to be scrolled
  await page.addStyleTag({ content: "* { background-image: none !important; max-height: none !important }" });
  await page.evaluate(axe);
  const told = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations", "incomplete"] }));
  await page.close();
  return {
    page: name, mode: `${width} px, ${scheme}`, passed: told.passes.map((rule) => rule.id),
    violations: [...told.violations, ...told.incomplete].flatMap((rule) => rule.nodes.map((node) => ({
      rule: rule.id, element: node.target.join(" "),
      said: [...node.any, ...node.all, ...node.none].map((one) => one.message),
    }))),
  };
}

// root has no sandbox; a browser at the end of a pipe ends with this process
const args = ["--no-sandbox", "--disable-gpu"];
const browser = await puppeteer.launch({ executablePath, args, pipe: true });
try {
  const found = [];
  for (const page of JSON.parse(pages))
    for (const width of [1280, 380])
      for (const scheme of ["light", "dark"]) found.push(await check(browser, page, width, scheme));
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
