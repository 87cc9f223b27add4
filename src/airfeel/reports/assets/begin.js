// The page begins.

defineCurves();
defineBars();
document.querySelectorAll("[data-chart]").forEach(place);
defineMore();
placeSorting();
placeChoices();
placeLegend();
placeBudget();
drawRuns();
placeInspector();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawRuns();
  if (data.inspector.length) showRound();
});
