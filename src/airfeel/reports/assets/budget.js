// The "same budget" slider: a step is a point of the grid that all curves over resource blocks share.

let grid, costs; // of the present data
const slider = byId("budget-slider");

const at = (g, i) => Math.min(i, costs[g].mean.length - 1);
const ended = (g, i) => !data.groups[g].free && i > costs[g].mean.length - 1;

// The first point at which a group's mean is as high as `goal`; undefined if it never is.
const needs = (g, goal) => grid[costs[g].mean.findIndex((mean) => mean >= goal)];

function saving(g, goal, blocks) {
  const need = needs(g, goal);
  if (need === undefined) return element("span", {}, "not reached");
  const share = blocks ? Math.round(100 * (1 - need / blocks)) : 0;
  const words = share > 0 ? `${share} % fewer` : share < 0 ? `${-share} % more` : "the same";
  return element("span", {}, element("span", { class: share > 0 ? "good" : share < 0 ? "bad" : "" }, words),
    element("br"), element("small", {}, `${whole(need)} blocks`));
}

function showBudget() {
  const i = Number(slider.value);
  const blocks = grid[i];
  const text = `${whole(blocks)} resource blocks`;
  byId("budget-value").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  const order = data.groups.map((group, g) => ({ group, g, k: at(g, i) }))
    .sort((a, b) => a.group.free - b.group.free || costs[b.g].mean[b.k] - costs[a.g].mean[a.k]);
  const best = order[0];
  fillTable(byId("budget-table"), ["scheme", "accuracy %", "points from the best", "remark"], order.map(({ group, g, k }) => {
    const gap = 100 * (costs[g].mean[k] - costs[best.g].mean[best.k]);
    const sign = gap > 0.05 ? "+" : gap < -0.05 ? "−" : "";
    const remark = group.free ? "free: its final accuracy" : ended(g, i) ? `ended at ${whole(grid[k])} blocks` : "";
    return [group.label, percent(costs[g].mean[k], costs[g].spread[k]), sign + Math.abs(gap).toFixed(1), remark];
  }));
  const paid = order.filter(({ group }) => !group.free);
  fillTable(byId("savings-table"), ["", ...paid.map(({ group }) => `against ${group.label}`)], paid.map((mine) =>
    [mine.group.label, ...paid.map((other) => (other === mine ? "–" : saving(mine.g, costs[other.g].mean[other.k], blocks)))]));
}

// The line that marks the budget among the curves.
function budgetLine() {
  if (data.blocks == null) return {};
  const x = grid[Number(slider.value)];
  return { shapes: [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colours().accent, width: 1.5, dash: "dot" } }] };
}

function placeBudget() {
  ({ x: grid, curves: costs } = data.accuracy.blocks);
  byId("budget").hidden = data.blocks == null; // nothing was paid for
  if (data.blocks == null) return;
  slider.max = grid.length - 1;
  slider.value = grid.indexOf(data.blocks);
  slider.oninput = () => { showBudget(); draw("blocks"); };
  showBudget();
}
