// Data, theme, legend, and the charts that show whole runs. A chart is an object of
//   title, about: what it is called, and one line about it
//   traces(), layout(): what Plotly draws      table(): {head, rows} behind it
// `define` makes them all from the data; a page that is kept up to date calls it again.

const data = JSON.parse(document.getElementById("data").textContent);
const hidden = new Set(); // indices of groups that the legend switched off
const charts = {};
let scale = "fit"; // of the axes: fit, zero or log
let pointed = null; // the group whose button is pointed at

// Plotly reads a little HTML in names and titles; a label is only ever text.
const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const whole = (value) => Math.round(value).toLocaleString("en");
const percent = (value, spread) =>
  value == null ? "–" : `${(100 * value).toFixed(1)}${spread == null ? "" : ` ± ${(100 * spread).toFixed(1)}`}`;
const shown = (each) => data.groups.map((group, g) => (hidden.has(g) ? [] : each(group, g))).flat();
const many = () => data.groups.length - hidden.size > 6; // bands would cover each other
const fade = (colour, alpha) => colour + Math.round(255 * alpha).toString(16).padStart(2, "0");

function colours() {
  const css = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    ["ink", "soft", "line", "grid", "card", "accent"].map((name) => [name, css.getPropertyValue(`--${name}`).trim()]),
  );
}

function frame(x, y, more = {}) {
  const { ink, soft, line, grid, card } = colours();
  const axis = { gridcolor: grid, linecolor: line, zeroline: false, automargin: true, tickfont: { color: soft }, ticks: "" };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, family: "system-ui, Liberation Sans, sans-serif", size: 12 },
    margin: { l: 48, r: 12, t: 28, b: 44 }, showlegend: false, hovermode: many() ? "closest" : "x unified",
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink }, namelength: 40 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    ...more,
    xaxis: { ...axis, title: { text: x, standoff: 8 }, ...more.xaxis },
    yaxis: { ...axis, title: { text: y, standoff: 10 }, ...more.yaxis },
  };
}

function lineOf(group, shape = "linear") {
  const aside = pointed != null && data.groups[pointed] !== group;
  const width = pointed == null ? 2 : aside ? 1 : 3.5;
  return { color: aside ? fade(group.colour, 0.35) : group.colour, dash: group.dash, width, shape };
}

// The y axis as the reader wants it; what is a share stays one.
function vertical(share = false, usual = "fit") {
  if (scale === "log") return { type: "log", exponentformat: "power", ...(share ? { tickformat: ".1~%" } : {}) };
  const zero = scale === "zero" || usual === "zero" ? { rangemode: "tozero" } : {};
  return { ...zero, ...(share ? { tickformat: ".0%" } : {}) };
}

// A mean over seeds with its band. `step` holds a value until the next one.
function curve(group, x, { mean, spread }, { step = false, format = ".1%" } = {}) {
  const shape = step ? "hv" : "linear";
  const top = format.endsWith("%") ? 1 : Infinity;
  const least = Math.min(...mean.filter((m) => m > 0)) / 10;
  const bottom = mean.some((m) => m < 0) ? -Infinity : scale === "log" ? least : 0;
  const edge = (sign) => ({
    x, y: mean.map((m, i) => (m == null ? null : Math.min(top, Math.max(bottom, m + sign * (spread[i] ?? 0))))), mode: "lines",
    line: { width: 0, shape }, hoverinfo: "skip", name: plain(group.label), meta: "band",
  });
  const band = [edge(-1), { ...edge(1), fill: "tonexty", fillcolor: fade(group.colour, 0.16) }];
  const middle = {
    x, y: mean, customdata: spread.map((s) => s ?? 0), mode: "lines", name: plain(group.label),
    line: lineOf(group, shape),
    hovertemplate: `%{y:${format}}` + (group.seeds > 1 ? ` ± %{customdata:${format}}` : ""),
  };
  return spread.some((s) => s) && !many() ? [...band, middle] : [middle];
}

function curveRows(xs, curves) {
  return curves.flatMap(({ mean, spread, x = xs }, g) =>
    mean.flatMap((m, i) => (m == null ? [] : [[data.groups[g].label, x[i], m, spread[i]]])));
}

function accuracy(key, xTitle) {
  const { x, curves: stored } = data.accuracy[key];
  const error = ({ mean, spread }) => ({ mean: mean.map((m) => (m == null ? null : 1 - m)), spread });
  const curves = scale === "log" ? stored.map(error) : stored;
  const free = (group, g) => ({ // a free reference has no place on an axis of costs
    x: [0, x[x.length - 1]], y: Array(2).fill(curves[g].mean[curves[g].mean.length - 1]), mode: "lines",
    name: plain(group.label) + " (free, final)", line: lineOf(group),
    hovertemplate: "%{y:.1%}",
  });
  return {
    title: `Test ${scale === "log" ? "error" : "accuracy"} against ${xTitle}`,
    about: key === "blocks" ? "The model after the last round that was paid for; free references as a line." : "",
    traces: () => shown((group, g) => key === "blocks" && group.free ? [free(group, g)]
      : curve(group, x.slice(0, curves[g].mean.length), curves[g], { step: key === "blocks" })),
    layout: () => frame(xTitle, scale === "log" ? "1 − test accuracy" : "test accuracy",
      { yaxis: vertical(true), ...(key === "blocks" ? budgetLine() : {}) }),
    table: () => ({ head: ["group", xTitle, "mean accuracy", "standard deviation"], rows: curveRows(x, stored) }),
  };
}

function byRound(key, title, yTitle, about, format) {
  const width = Math.max(...data[key].map((c) => c.width));
  const known = (g) => data[key][g].mean.some((m) => m != null) && !(key === "overlap" && data.groups[g].free);
  const windows = width > 1 ? ` Each point is the mean of up to ${width} rounds.` : "";
  return {
    title, about: about + windows,
    traces: () => shown((group, g) => (known(g) ? curve(group, data[key][g].x, data[key][g], { format }) : [])),
    layout: () => frame("round", yTitle, { yaxis: yAxes[key]?.() ?? { rangemode: "tozero" } }),
    table: () => ({ head: ["group", "round", "mean", "standard deviation"], rows: curveRows([], data[key]) }),
  };
}

const yAxes = {
  overlap: () => ({ range: [0, 1.02], tickformat: ".0%" }),
  train_loss: () => vertical(), test_loss: () => vertical(), joules: () => vertical(false, "zero"),
};

function defineCurves() {
  charts.rounds = accuracy("rounds", "rounds");
  charts.blocks = accuracy("blocks", "resource blocks");
  charts.train_loss = byRound("train_loss", "Training loss", "loss", "Mean mini-batch loss of the devices that trained.", ".4~g");
  charts.test_loss = byRound("test_loss", "Test loss", "loss", "", ".4~g");
  charts.joules = byRound("joules", "Energy over time", "energy of all devices [J]", "Spent from the start to each round.", ".4~s");
  charts.scheduled = byRound("scheduled", "Devices scheduled per round", "devices",
    `Of ${[...new Set(data.scheduled.map((s) => s.of))].join(" or ")} devices.`, ".1f");
  charts.overlap = byRound("overlap", "Overlap of the global mask with the round before", "share of the mask",
    "The temporal correlation that time-correlated sparsification lives on.", ".1%");
}

// Columns that are none of ours; a figure for each is put into the page.
let more = [];
function defineMore() {
  more = data.more.map(({ name, curves }, i) => {
    const key = `more-${i}`;
    data[key] = curves;
    charts[key] = byRound(key, name, plain(name), "", ".4~g");
    if (!byId(`plot-${key}`)) place(byId("more-charts").appendChild(element("figure", { "data-chart": key })));
    return key;
  });
  byId("more").hidden = !more.length;
}

// Stacked bars, a row for each group; `parts` are {name, colour, values by group}.
function stacked(title, about, parts, xTitle, format, wanted = () => true) {
  const rows = (each) => shown((group, g) => (wanted(group) ? [each(group, g)] : []));
  const cut = (text, most) => plain(text.length > most ? `${text.slice(0, 6)}…${text.slice(7 - most)}` : text);
  const labels = () => rows((group) => cut(group.label, document.body.clientWidth < 640 ? 16 : 40));
  return {
    title, about, rows: () => rows(() => 0).length,
    traces: () => parts.map(({ name, colour, values }) => ({
      type: "bar", orientation: "h", name, y: rows(() => 0).map((_, i) => i), x: rows((_, g) => values[g]),
      customdata: rows((group) => plain(group.label)), marker: { color: colour },
      hovertemplate: `%{customdata}<br>${name}: %{x:${format}}<extra></extra>`,
    })),
    layout: () => frame(xTitle, "", {
      barmode: "stack", bargap: 0.35, hovermode: "closest", showlegend: true, legend: topLegend,
      yaxis: { autorange: "reversed", showgrid: false, tickvals: labels().map((_, i) => i), ticktext: labels() },
      xaxis: { tickformat: format, nticks: 6 },
    }),
    table: () => ({
      head: ["group", ...parts.map((part) => part.name)],
      rows: data.groups.map((group, g) => [group.label, ...parts.map((part) => part.values[g])]),
    }),
  };
}

const topLegend = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" };
function defineBars() {
  charts.slots = stacked("Slots per round, by air and digital", "Mean over rounds and seeds.",
    [["air", "#E69F00"], ["digital", "#56B4E9"]].map(([name, colour], i) => ({ name, colour, values: data.slots.map((s) => s[i]) })),
    "slots per round", ",.0f", (group) => !group.free);
  charts.reasons = stacked("Who was heard, and why not", "Share of all devices in all rounds.",
    data.reasons.map((name, i) => ({ name, colour: reasonColours[i % 8], values: data.devices.map((d) => d.reasons[i]) }))
      .filter((part) => part.values.some((value) => value > 0)),
    "share of devices", ".0%");
}
const reasonColours = ["#009E73", "#B8BEC6", "#CC79A7", "#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#808080"];

charts.energy = {
  title: "Energy against budget, by device",
  about: "Energy spent until the end, as a share of what the average power limit allows.",
  traces: () => shown((group, g) => {
    const { spent, allowed } = data.devices[g];
    if (group.free) return [];
    return [{
      x: spent.map((_, n) => n), y: spent.map((s, n) => (allowed[n] ? s / allowed[n] : null)),
      customdata: spent, mode: "markers", name: plain(group.label),
      marker: { color: group.colour, symbol: group.symbol, size: 8 }, hovertemplate: "%{y:.1%} (%{customdata:.3s}J)",
    }];
  }),
  layout: () => frame("device", "energy spent / allowed", {
    xaxis: { range: [-0.6, Math.max(...data.devices.map((d) => d.spent.length)) - 0.4], showgrid: false },
    yaxis: { tickformat: ".0%", rangemode: "tozero" },
    shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: colours().soft, dash: "dash", width: 1.5 } }],
    annotations: [{ xref: "paper", x: 1, y: 1, xanchor: "right", yanchor: "bottom", text: "budget", showarrow: false, font: { color: colours().soft } }],
  }),
  table: () => ({
    head: ["group", "device", "spent [J]", "allowed [J]", "share of rounds heard"],
    rows: data.devices.flatMap((d, g) => d.spent.map((s, n) => [data.groups[g].label, n, s, d.allowed[n], d.heard[n]])),
  }),
};

// --- drawing ---------------------------------------------------------------------------------

const config = {
  responsive: true, displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]],
  toImageButtonOptions: { format: "svg" },
};

function draw(key) {
  const chart = charts[key];
  if (chart.rows) byId(`plot-${key}`).style.minHeight = `${120 + 20 * chart.rows()}px`;
  const box = byId(`plot-${key}`);
  const paper = document.documentElement.classList.contains("printed"); // Plotly resizes too late for it
  const size = paper ? { width: box.clientWidth, height: box.clientHeight } : {};
  Plotly.react(box, chart.traces(), { ...chart.layout(), ...size }, config);
  byId(`title-${key}`).textContent = chart.title;
  byId(`note-${key}`).textContent = chart.about;
  const details = byId(`table-${key}`);
  if (details.open) fillDetails(key, details);
}

// The table behind a chart is made when it is opened; long ones are whole in the CSV only.
function fillDetails(key, details, most = 300) {
  const { head, rows } = charts[key].table();
  const [link, note, table] = ["a", ".note", "table"].map((what) => details.querySelector(what));
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([csv({ head, rows })], { type: "text/csv;charset=utf-8" }));
  note.textContent = rows.length > most ? `The first ${most} of ${whole(rows.length)} rows; the CSV has all.` : "";
  fillTable(table, head, rows.slice(0, most));
}

function place(figure) {
  const key = figure.dataset.chart;
  const chart = charts[key];
  const details = element("details", { id: `table-${key}` }, element("summary", {}, "Table"),
    element("a", { download: `${key}.csv` }, "Download as CSV"), element("p", { class: "note" }),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${chart.title}, as a table` }, element("table")));
  details.addEventListener("toggle", () => details.open && fillDetails(key, details));
  figure.append(element("figcaption", { id: `title-${key}` }, chart.title), element("p", { class: "note", id: `note-${key}` }),
    element("div", { class: "plot", id: `plot-${key}`, role: "img", "aria-label": `${chart.title}. The same numbers are in the table below.` }),
    details);
}

function placeLegend() {
  byId("legend").replaceChildren();
  const dashes = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3" };
  data.groups.forEach((group, g) => {
    const swatch = element("span");
    swatch.innerHTML = `<svg width="26" height="10" aria-hidden="true"><line x1="0" x2="26" y1="5" y2="5" stroke="${group.colour}" stroke-width="3" stroke-dasharray="${dashes[group.dash]}"/></svg>`;
    const button = element("button", { type: "button", "aria-pressed": "true", title: "Show or hide in all charts" },
      swatch, group.label + (group.free ? " (free)" : ""));
    button.addEventListener("click", () => {
      hidden.has(g) ? hidden.delete(g) : hidden.add(g);
      button.setAttribute("aria-pressed", String(!hidden.has(g)));
      drawRuns();
    });
    for (const [event, who] of [["mouseenter", g], ["focus", g], ["mouseleave", null], ["blur", null]]) {
      button.addEventListener(event, () => { if (pointed !== who && many()) point(who); });
    }
    byId("legend").append(button);
  });
}

function point(g) {
  pointed = g;
  ["rounds", "blocks"].forEach(draw);
}

function define() {
  defineCurves();
  defineBars();
  defineMore();
}

const drawRuns = () => ["rounds", "blocks", "train_loss", "test_loss", "joules", "scheduled", "slots", "overlap", "reasons",
  "energy", ...more].forEach(draw);
