// What a reader chooses for all charts: axes, colours by a setting, a filter; and the page on paper.

const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#808080"];

function chooseScale(chosen) {
  scale = chosen;
  for (const button of byId("scales").children) button.setAttribute("aria-pressed", String(button.value === chosen));
  define();
  drawRuns();
}

// Groups that agree in a setting get one colour; they are never averaged.
function colourBy(setting) {
  const values = [...new Set(data.groups.map((group) => group.settings[setting]))];
  for (const group of data.groups) {
    group.own ??= group.colour;
    group.colour = setting < 0 ? group.own : palette[values.indexOf(group.settings[setting]) % palette.length];
  }
  placeLegend();
  drawRuns();
}

function keep(word) {
  const wanted = word.trim().toLowerCase();
  data.groups.forEach((group, g) => {
    const told = [group.label, ...group.settings.map((text, i) => `${data.settings[i]}=${text}`)].join(" ").toLowerCase();
    told.includes(wanted) ? hidden.delete(g) : hidden.add(g);
  });
  document.querySelectorAll("#runs table").forEach((table) => filterRows(table, wanted));
  placeLegend();
  drawRuns();
}

function placeChoices() {
  for (const [chosen, text] of [["fit", "fitted"], ["zero", "from zero"], ["log", "log (error)"]]) {
    const button = element("button", { type: "button", value: chosen, "aria-pressed": String(chosen === scale) }, text);
    button.addEventListener("click", () => chooseScale(chosen));
    byId("scales").append(button);
  }
  fillSettings();
  byId("colour-by").addEventListener("change", (event) => colourBy(Number(event.target.value)));
  byId("filter").addEventListener("input", (event) => keep(event.target.value));
}

function fillSettings() {
  const select = byId("colour-by"), chosen = select.value;
  select.replaceChildren(element("option", { value: -1 }, "scheme and settings"),
    ...data.settings.map((name, i) => element("option", { value: i }, name)));
  select.value = chosen && Number(chosen) < data.settings.length ? chosen : -1;
}

// On paper: light colours, and charts as wide as the sheet; Plotly's own resizing comes too late.
function onPaper(on) {
  document.documentElement.classList.toggle("printed", on);
  define();
  drawRuns();
  if (data.inspector.length) showRound();
}

addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));
