// Draws the formulas of a page; pymdownx.arithmatex has marked them.
for (const formula of document.querySelectorAll(".arithmatex")) {
  const text = formula.textContent.trim(); // \( ... \) or \[ ... \]
  const displayMode = text.startsWith("\\[");
  katex.render(text.slice(2, -2), formula, { displayMode, throwOnError: false });
  if (displayMode) formula.tabIndex = 0; // wide ones scroll
}

// What the theme leaves out, or takes away, for those who use a keyboard or listen to a page.
const labelled = () => {
  for (const code of document.querySelectorAll("pre > code:not([tabindex])")) code.tabIndex = 0;
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) table.tabIndex = 0;
  for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])"))
    nav.ariaLabel = `Copy ${nav.closest("[id]").id.replace("__code_", "code block ")}`;
};
document.querySelector(".md-search").ariaLabel = "Search";
new MutationObserver(labelled).observe(document.querySelector(".md-content"), {
  attributeFilter: ["tabindex"],
  childList: true,
  subtree: true,
});
labelled();
