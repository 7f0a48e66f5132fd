// Draws the formulas of a page; pymdownx.arithmatex has marked them.
for (const formula of document.querySelectorAll(".arithmatex")) {
  const text = formula.textContent.trim(); // \( ... \) or \[ ... \]
  katex.render(text.slice(2, -2), formula, {
    displayMode: text.startsWith("\\["),
    throwOnError: false,
  });
}
